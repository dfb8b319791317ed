/** Filters of memories: by person, kind, time, relation and method, kept in the address. */
import { Select } from "./basics.js";
import { html, useId } from "../core/html.js";
import { navigate } from "../core/route.js";
import { t, wallTime } from "../core/texts.js";

const DAY = 86_400_000;
export const FILTERS = ["person", "kind", "relation", "since", "until"];

/** Return a test of memories by the parameters of an address; null if they filter nothing. */
export function readFilter(params) {
  const given = FILTERS.filter((name) => params[name]);
  if (!given.length) return null;
  const since = params.since ? wallTime(`${params.since}T00:00:00`) : -Infinity;
  const until = params.until ? wallTime(`${params.until}T00:00:00`) + DAY : Infinity;
  const hasRelation = (memory) =>
    [...memory.older, ...memory.newer].some(({ relation }) => String(relation) === params.relation);
  return (memory) =>
    (!params.person || memory.speakers.includes(params.person)) &&
    (!params.kind || memory.kind === params.kind) &&
    (!params.relation || hasRelation(memory)) &&
    (memory.dated || !(params.since || params.until)) &&
    memory.time >= since && memory.time < until;
}

/** Return topics with the memories that pass a test; those without any are left out. */
export function filterTopics(topics, test) {
  if (!test) return topics;
  return topics
    .map((topic) => {
      const memories = topic.memories.filter(test);
      if (!memories.length) return null;
      return { ...topic, memories, from: memories[0].time, to: memories.at(-1).time };
    })
    .filter(Boolean);
}

const distinct = (values) => [...new Set(values)].sort();

/** The filters, each offered only where it can tell memories apart. */
export function Filters({ graph, params }) {
  const [sinceId, untilId] = [useId(), useId()];
  const memories = graph.counted;
  const relations = distinct(memories.flatMap((memory) => memory.older.map(({ relation }) => String(relation))));
  const choices = {
    person: distinct(memories.flatMap((memory) => memory.speakers)).map((name) => [name, name]),
    kind: distinct(memories.map((memory) => memory.kind)).map((kind) => [kind, kind]),
    relation: relations.map((relation) => [relation, t(`relation.${relation}`)]),
  };
  const method = params.method ?? memories[0]?.method;
  const change = (name) => (value) => navigate({ [name]: value || null }, { replace: true });
  const date = (id, name) => html`
    <label for=${id}>${t(`filter.${name}`)}</label>
    <input id=${id} type="date" value=${params[name] ?? ""} onChange=${(event) => change(name)(event.currentTarget.value)} />`;
  return html`
    <div class="filters" role="group" aria-label=${t("filter")}>
      ${Object.entries(choices).map(([name, options]) => (options.length > 1 || params[name]) && html`
        <${Select} key=${name} label=${t(`filter.${name}`)} value=${params[name] ?? ""} onChange=${change(name)}
          options=${[["", t("filter.all")], ...options]} />`)}
      ${graph.methods.length > 1 && html`
        <${Select} label=${t("filter.method")} value=${method} onChange=${(value) => navigate({ method: value, memory: null })}
          options=${graph.methods.map((name) => [name, name])} />`}
      ${graph.isDated && date(sinceId, "since")}
      ${graph.isDated && date(untilId, "until")}
      ${FILTERS.some((name) => params[name]) && html`
        <button type="button" onClick=${() => navigate(Object.fromEntries(FILTERS.map((name) => [name, null])), { replace: true })}>
          ${t("filter.clear")}</button>`}
    </div>`;
}
