/** A person, place or thing: who or what it is, what is known with it, and every turn in which it comes up. */
import { Loaded } from "../components/basics.js";
import { dayOf, EntityLink, kindOf, Line, Quote, useProfile } from "../components/known.js";
import { NobodyYet } from "../components/load_graph.js";
import { html, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo } from "../core/route.js";
import { source } from "../core/source.js";
import { formatMonth, t, wallTime } from "../core/texts.js";

/** Turns that are loaded at once. */
const MOST = 50;
const BESIDE = 12;

/** Who else comes up in the same turns, the most often first. */
function findOthers(entity, profile) {
  const own = new Set(entity.turns);
  return profile.entities.filter((other) => other !== entity)
    .map((other) => ({ other, n: other.turns.filter((turn) => own.has(turn)).length }))
    .filter(({ n }) => n).sort((a, b) => b.n - a.n).slice(0, BESIDE);
}

const monthOf = (turn) => (turn.dated ? formatMonth(wallTime(turn.at)) : t("date.none"));

/** Some turns by their ids, newest first, under their months. */
function Turns({ who, ids, before }) {
  const turns = useResource(`turns:${who.user}:${who.agent}:${ids}`, async () =>
    (await source.get().turns(who, ids)).sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)));
  return html`<${Loaded} from=${turns}>${(found) => html`<ul class="plain mentions">${found.map((turn, at) => html`
    <li key=${turn.id}>${monthOf(turn) !== (at ? monthOf(found[at - 1]) : before) && html`<h3 class="month-title">${monthOf(turn)}</h3>`}
      <${Quote} quote=${{ ...turn, turn: turn.id }} /></li>`)}</ul>`}<//>`;
}

function Content({ who, entity, profile }) {
  const [shown, setShown] = useState(MOST);
  const own = new Set(entity.turns);
  const lines = profile.lines.filter((line) => own.has(line.turn));
  const others = findOthers(entity, profile);
  const parts = Array.from({ length: Math.ceil(Math.min(shown, entity.turns.length) / MOST) }, (_, n) => entity.turns.slice(n * MOST, (n + 1) * MOST));
  const last = dayOf({ ...entity.introduced, at: entity.last_at });
  return html`
    <p>${[kindOf(entity), entity.aliases.length && t("entity.aliases", { names: entity.aliases.join(", ") }),
      t("entity.last", { date: last })].filter(Boolean).map((each, at) => html`${at > 0 && " · "}<bdi>${each}</bdi>`)}</p>
    <section><h2>${t("entity.introduced")}</h2><${Quote} quote=${entity.introduced} /></section>
    ${lines.length > 0 && html`<section><h2>${t("entity.known")}</h2>
      <ul class="plain">${lines.map((line) => html`<${Line} key=${line.turn + line.text} line=${line} />`)}</ul></section>`}
    ${others.length > 0 && html`<section><h2>${t("entity.with")}</h2>
      <ul class="plain entities">${others.map(({ other, n }) => html`<li key=${other.name}><${EntityLink} entity=${other}> · ${n}<//></li>`)}</ul></section>`}
    <section><h2>${t("entity.mentions", { n: entity.mentions })}</h2>
      ${parts.map((ids) => html`<${Turns} key=${ids[0]} who=${who} ids=${ids} />`)}
      <p class="row">${entity.turns.length > shown && html`<button type="button" onClick=${() => setShown(shown + MOST)}>${t("show_more")}</button>`}
        <a class="button" href=${linkTo({ q: entity.name }, "find")}>${t("entity.find", { name: entity.name })}</a></p></section>`;
}

export default function Entity({ who, params }) {
  const profile = useProfile(who);
  if (!who) return html`<h1 class="hidden">${t("nav.entity")}</h1><${NobodyYet} />`;
  const name = params.entity ?? "";
  return html`
    <div class="main-column entity">
      <p><a class="button" href=${linkTo({}, "home")}><span class="back" aria-hidden="true">←</span> <bdi>${profile.value?.user ?? who.user}</bdi></a></p>
      <h1><bdi>${name || t("nav.entity")}</bdi></h1>
      <${Loaded} from=${profile}>${(value) => {
        const entity = value.entities.find((each) => each.name === name || each.aliases.includes(name));
        return entity ? html`<${Content} key=${entity.name} who=${who} entity=${entity} profile=${value} />` : html`<p>${t("entity.gone", { name })}</p>`;
      }}<//>
    </div>`;
}
