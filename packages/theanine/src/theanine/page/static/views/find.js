/** Find: every turn that has the words, as they are typed; or what answers a question, by meaning. */
import { Loaded, Select } from "../components/basics.js";
import { linkToTurn } from "../components/conversation.js";
import { NobodyYet } from "../components/load_graph.js";
import { Marked } from "../components/markdown.js";
import { html, useEffect, useId, useRef, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo, navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { describeOwnEnd, formatDate, formatNumber, t, wallTime } from "../core/texts.js";

/** Results at first, and the most that are listed. */
const FIRST = 50;
const MOST = 1000;
/** Milliseconds without a key after which a search by meaning begins. */
const PAUSE = 350;
const FILTERS = ["speaker", "session", "since", "until"];

/** Return a value once it has stayed the same for some time. */
function useSettled(value, ms) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return ms ? settled : value;
}

/** Return what is searched for as the service has it; of a search by meaning, filters come after. */
function readWanted({ q, by, speaker, session, since, until, sort }, limit) {
  const times = { ...(since && { since }), ...(until && { until }) };
  if (by === "meaning") return { query: q, limit, ...times };
  return { query: q, exact: true, limit, oldest_first: sort === "oldest", ...times,
    ...(speaker && { speaker }), ...(session && { session: Number(session) }) };
}

const timeOf = ({ turn, memories }) => wallTime((turn ?? memories[0]).at);

/** Return the hits of a search by meaning that pass the filters, in the order that is wished. */
function refine(hits, { speaker, session, sort }) {
  const kept = hits.filter(({ turn, memories }) =>
    (!speaker || (turn ? turn.speaker === speaker : memories[0].speakers.includes(speaker))) &&
    (!session || String((turn ?? memories[0]).session) === session));
  if (sort) kept.sort((a, b) => (timeOf(a) - timeOf(b)) * (sort === "oldest" ? 1 : -1));
  return kept;
}

function Hit({ hit, params }) {
  const { turn, memories: [memory], text, relevance } = hit;
  const isMeaning = params.by === "meaning";
  const { speaker, dated, at, metadata } = turn ?? { ...memory, speaker: memory.speakers.join(", ") };
  const ends = describeOwnEnd(metadata, at);
  return html`
    <a class="memory-item" href=${turn ? linkToTurn({ session: turn.session, turn: turn.id }, params.q) : linkTo({ memory: memory.id }, "timelines")}>
      <span class="quiet"><bdi>${speaker}</bdi> · ${dated ? formatDate(wallTime(at)) : t("date.unknown")}${ends && ` · ${ends}`}${
        relevance !== null && html` · <span class="relevance">${t("find.relevance", { percent: formatNumber(relevance, { style: "percent" }) })}</span>`}</span>
      <span class="words" dir="auto"><${Marked} text=${text || turn?.attachment} query=${params.q} isStem=${isMeaning} /></span>
    </a>`;
}

function Filters({ params, speakers }) {
  const [sinceId, untilId] = [useId(), useId()];
  const isMeaning = params.by === "meaning";
  const change = (name) => (value) => navigate({ [name]: value || null }, { replace: true });
  const names = [...new Set([...speakers, params.speaker].filter(Boolean))].sort();
  const date = (id, name) => html`<span><label for=${id}>${t(`filter.${name}`)}</label>
    <input id=${id} type="date" value=${params[name] ?? ""} onChange=${(event) => change(name)(event.currentTarget.value)} /></span>`;
  return html`
    <div class="filters" role="group" aria-label=${t("filter")}>
      ${!source.get().isFile && html`<div class="switch" role="group" aria-label=${t("find.by")}>
        <button type="button" aria-pressed=${!isMeaning} onClick=${() => change("by")("")}>${t("find.exact")}</button>
        <button type="button" aria-pressed=${isMeaning} onClick=${() => change("by")("meaning")}>${t("find.meaning")}</button>
      </div>`}
      <span><${Select} label=${t("find.sort")} value=${params.sort ?? ""} onChange=${change("sort")}
        options=${[["", t(isMeaning ? "find.sort.best" : "find.sort.newest")], ...(isMeaning ? [["newest", t("find.sort.newest")]] : []), ["oldest", t("find.sort.oldest")]]} /></span>
      ${names.length > 0 && html`<span><${Select} label=${t("filter.person")} value=${params.speaker ?? ""} onChange=${change("speaker")}
        options=${[["", t("filter.all")], ...names.map((name) => [name, name])]} /></span>`}
      ${date(sinceId, "since")}${date(untilId, "until")}
      ${params.session && html`<button type="button" onClick=${() => change("session")("")}>${t("find.only_in", { session: params.session })} ×</button>`}
      ${FILTERS.some((name) => params[name]) && html`<button type="button"
        onClick=${() => navigate(Object.fromEntries(FILTERS.map((name) => [name, null])), { replace: true })}>${t("filter.clear")}</button>`}
    </div>`;
}

function Content({ who, params }) {
  const isMeaning = params.by === "meaning" && !source.get().isFile;
  const [limit, setLimit] = useState(FIRST);
  const q = useSettled(params.q?.trim() ?? "", isMeaning ? PAUSE : 0);
  const wanted = readWanted({ ...params, q, by: isMeaning ? "meaning" : "" }, limit);
  const key = JSON.stringify([who.user, who.agent, wanted]);
  const running = useRef(null);
  const found = useResource(q ? `find:${key}` : null, () => {
    running.current?.abort(); // what was typed before interests nobody any more
    running.current = new AbortController();
    return source.get().search(who, wanted, { signal: running.current.signal });
  });
  // It was broken off for another one, and is asked for again.
  const isBrokenOff = found.problem?.name === "AbortError";
  useEffect(() => { if (isBrokenOff) found.reload(); }, [key, isBrokenOff]);
  // While the next results come, those of what was typed before stay.
  const [shown, setShown] = useState(null);
  useEffect(() => { if (found.value) setShown({ ...found.value, q }); }, [found.value]);
  useEffect(() => setLimit(FIRST), [q, params.by]);
  const current = q ? found.value ?? shown : null;
  const hits = current && (isMeaning ? refine(current.hits, params) : current.hits);
  const speakers = current?.hits.flatMap(({ turn, memories }) => (turn ? [turn.speaker] : memories[0].speakers)) ?? [];
  const n = current && (isMeaning ? hits.length : current.found);
  const problem = isBrokenOff ? null : found.problem;
  return html`
    <div class="main-column find">
      <h1>${t("nav.find")}</h1>
      <${Filters} params=${params} speakers=${speakers} />
      ${!q && html`<p class="quiet">${t("find.about")}</p>`}
      ${problem && html`<${Loaded} from=${{ ...found, problem }} />`}
      ${q && !problem && !hits && html`<p class="loading" role="status">${t("loading")}</p>`}
      ${hits && !problem && html`
        <p role="status" class="count">${n ? t(isMeaning ? "find.results" : "find.count", { n }) : t(isMeaning ? "find.none" : "find.none_exact", { q })}
          ${isMeaning && n > 0 && html` · <a href=${linkTo({ q }, "why")}>${t("find.why")}</a>`}
          ${!isMeaning && !n && !source.get().isFile && html` <button type="button" onClick=${() => navigate({ by: "meaning" }, { replace: true })}>${t("find.by_meaning")}</button>`}</p>
        <ol class="plain results" aria-busy=${found.loading}>${hits.map((hit) => html`
          <li key=${hit.turn ? `t${hit.turn.id}` : `m${hit.memories[0].id}`}><${Hit} hit=${hit} params=${{ ...params, q }} /></li>`)}</ol>
        ${current.found > limit && limit < MOST && html`<button type="button" onClick=${() => setLimit(limit === FIRST ? 200 : MOST)}>${t("show_more")}</button>`}`}
    </div>`;
}

export default function Find({ who, params }) {
  if (!who) return html`<h1 class="hidden">${t("nav.find")}</h1><${NobodyYet} />`;
  return html`<${Content} who=${who} params=${params} />`;
}
