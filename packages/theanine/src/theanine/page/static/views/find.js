/** Find: search what is remembered as a recall does; the results beside the timelines. */
import { IconButton, Loaded } from "../components/basics.js";
import { FILTERS, Filters, filterTopics, readFilter } from "../components/filters.js";
import { WithGraph } from "../components/load_graph.js";
import { MemoryItem } from "../components/memory.js";
import { Panels, openMemory, openTopic, openTurn } from "../components/panels.js";
import { readTimes } from "../components/scrubber.js";
import { Timeline } from "../components/timeline.js";
import { html, useEffect, useId, useMemo, useRef, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { navigate } from "../core/route.js";
import { readResults } from "../core/results.js";
import { source } from "../core/source.js";
import { formatDate, formatNumber, t, wallTime } from "../core/texts.js";

/** Tokens of what is searched for; the number of parts is the real bound. */
const BUDGET = 8_000;
const MOST = 50;

const TurnItem = ({ turn, isOpen }) => html`
  <button type="button" class="memory-item turn-item" aria-current=${isOpen ? "true" : undefined} onClick=${() => openTurn(turn)}>
    <span class="words">${turn.text}</span>
    <span class="quiet">${[turn.speaker, turn.dated && formatDate(wallTime(turn.at)), t("find.turn")].filter(Boolean).join(" · ")}</span>
  </button>`;

/** Buttons to the result before and after the open one; `items` are functions that open one. */
function Steps({ items, index }) {
  return html`
    <div class="steps" role="group" aria-label=${t("find.steps")}>
      <${IconButton} name="back" label=${t("previous")} disabled=${index <= 0} onClick=${() => items[index - 1].open()} />
      <span>${t("find.position", { i: index + 1, n: items.length })}</span>
      <${IconButton} name="next" label=${t("next")} disabled=${index < 0 || index + 1 >= items.length} onClick=${() => items[index + 1].open()} />
    </div>`;
}

function Results({ parts, items, params }) {
  const list = useRef(null);
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [params.memory, params.turn]);
  if (!items.length) return html`<p>${t("find.none")}</p>`;
  return html`
    <p class="quiet" role="status">${t("find.results", { n: items.length })}</p>
    <ol class="plain results" ref=${list}>
      ${parts.map((part, i) => html`
        <li key=${i}>
          ${part.relevance !== null && html`<p class="quiet relevance">${t("find.relevance", { percent: formatNumber(part.relevance, { style: "percent" }) })}</p>`}
          ${part.memories.map((memory) => html`<${MemoryItem} key=${memory.id} memory=${memory} isOpen=${memory.id === Number(params.memory)} />`)}
          ${part.turns.map((turn) => html`<${TurnItem} key=${turn.id} turn=${turn} isOpen=${turn.id === Number(params.turn)} />`)}
        </li>`)}
    </ol>`;
}

function Content({ who, graph, params }) {
  const [isChosen, setFiltering] = useState(null);
  const isFiltering = isChosen ?? FILTERS.some((name) => params[name]);
  const id = useId();
  const { q, since, until } = params;
  const found = useResource(q ? `recall:${who.user}:${who.agent}:${q}:${since}:${until}` : null,
    () => source.get().recall(who, q, { budget: BUDGET, limit: MOST, ...(since && { since }), ...(until && { until }) }));
  const filterKey = FILTERS.map((name) => params[name]).join("|");
  const test = useMemo(() => readFilter(params), [filterKey]);
  const topics = useMemo(() => filterTopics(graph.topics, test), [graph, test]);
  const parts = useMemo(() => (found.value ? readResults(found.value.recollection, graph.memories, test) : []), [found.value, graph, test]);
  const items = parts.flatMap((part) => [
    ...part.memories.map((memory) => ({ memory: memory.id, open: () => openMemory(memory.id) })),
    ...part.turns.map((turn) => ({ turn: turn.id, open: () => openTurn(turn) })),
  ]);
  const matches = useMemo(() => new Set(parts.flatMap((part) => part.memories.map((memory) => memory.id))), [parts]);
  const index = items.findIndex((item) =>
    (item.memory && item.memory === Number(params.memory)) || (item.turn && item.turn === Number(params.turn)));
  const submit = (event) => {
    event.preventDefault();
    navigate({ q: new FormData(event.currentTarget).get("q").trim(), memory: null, turn: null, session: null });
  };
  const steps = items.length > 0 && html`<${Steps} items=${items} index=${index} />`;
  return html`
    <div class="split">
      <div class="side">
        <form class="search" role="search" onSubmit=${submit}>
          <label class="hidden" for=${id}>${t("find.question")}</label>
          <input id=${id} name="q" type="search" key=${q} value=${q ?? ""} placeholder=${t("find.question")} />
          <button class="primary">${t("find.do")}</button>
          <${IconButton} name="filter" label=${t("filter")} aria-expanded=${isFiltering} onClick=${() => setFiltering(!isFiltering)} />
        </form>
        ${isFiltering && html`<${Filters} graph=${graph} params=${params} />`}
        ${q && html`<${Loaded} from=${found}>${() => html`<${Results} parts=${parts} items=${items} params=${params} />`}<//>`}
        ${!q && html`<p class="quiet">${t("find.about")}</p>`}
      </div>
      <div class="stack beside">
        <${Timeline} shown=${{ graph, topics, openId: Number(params.memory) || null, found: q && matches.size ? matches : null, ...readTimes(graph, params) }}
          onOpen=${openMemory} onTopic=${openTopic} />
      </div>
      <${Panels} who=${who} graph=${graph} params=${params}>${steps}<//>
    </div>`;
}

export default function Find({ who, params }) {
  return html`<${WithGraph} who=${who} method=${params.method} title=${t("nav.find")}>${(graph) => html`<${Content} who=${who} graph=${graph} params=${params} />`}<//>`;
}
