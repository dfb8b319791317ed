/** Timelines: what is remembered, by matter, over time. */
import { IconButton } from "../components/basics.js";
import { FILTERS, Filters, filterTopics, readFilter } from "../components/filters.js";
import { WithGraph } from "../components/load_graph.js";
import { Panels, openMemory, openTopic } from "../components/panels.js";
import { MonthBars } from "../components/months.js";
import { Scrubber, readTimes } from "../components/scrubber.js";
import { Matter, Story } from "../components/story.js";
import { Timeline } from "../components/timeline.js";
import { html, useEffect, useMemo, useState } from "../core/html.js";
import { linkTo, navigate } from "../core/route.js";
import { fold, splitWords } from "../core/words.js";
import { formatMonth, t } from "../core/texts.js";
import { titleOf } from "../timeline/draw.js";

const FIRST = 60;

function Summary({ graph, topics, isFiltered }) {
  if (graph.isPart) return html`<p class="summary" role="status">${t("loading")}</p>`;
  const n = isFiltered ? topics.reduce((sum, topic) => sum + topic.memories.length, 0) : graph.counted.length;
  const values = {
    memories: t("memories", { n }),
    conversations: t("conversations", { n: graph.sessions }),
    span: [...new Set([formatMonth(graph.firstDate), formatMonth(graph.to)])].join(" – "),
  };
  if (isFiltered) return html`<p class="summary">${t("summary.filtered", { n, all: graph.counted.length })}</p>`;
  return html`<p class="summary">${t(graph.isDated ? "summary.span" : "summary.undated", values)}</p>`;
}

/** Whether the page is being printed: then all is drawn as text, which goes on over pages. */
function usePrinting() {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return isPrinting;
}

/** The months in which something was said, as bars; each shows only what was said in it. */
function Months({ graph, params }) {
  const counts = new Map();
  for (const { dated, time } of graph.counted) {
    if (!dated) continue;
    const month = new Date(time).toISOString().slice(0, 7);
    counts.set(month, (counts.get(month) ?? 0) + 1);
  }
  const months = [...counts].sort(([a], [b]) => a.localeCompare(b))
    .map(([month, count]) => ({ month, count, label: t("memories", { n: count }) }));
  const isChosen = (month) => params.since === `${month}-01` && params.until === lastDay(month);
  return months.length > 1 && html`
    <${MonthBars} months=${months} isChosen=${isChosen} label=${t("conversations.months")}
      link=${(month) => linkTo(isChosen(month) ? { since: null, until: null } : { since: `${month}-01`, until: lastDay(month) })} />`;
}

const lastDay = (month) => new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).toISOString().slice(0, 10);

/** All topics as text: the same as the canvas, for keyboards, screen readers and paper. */
function TopicList({ topics, openId, isPrinting }) {
  const [chosen, setMost] = useState(FIRST);
  const most = isPrinting ? topics.length : chosen;
  const several = topics.filter(({ memories }) => memories.length > 1);
  const single = topics.filter(({ memories }) => memories.length === 1).slice(0, Math.max(0, most - several.length));
  const once = single.flatMap(({ memories }) => memories).sort((a, b) => a.time - b.time || a.id - b.id);
  return html`
    <div class="topics">
      ${several.slice(0, most).map((topic) => html`
        <section class="topic" key=${topic.memories[0].id}>
          <h2><a href=${linkTo({ as: "matter", topic: topic.memories[0].id, memory: null })}>${titleOf(topic)}</a></h2>
          <${Story} memories=${topic.memories} repeats=${topic.repeats} openId=${openId} />
        </section>`)}
      ${once.length > 0 && html`<section class="topic"><h2>${t("topics.single")}</h2>
        <${Story} memories=${once} repeats=${single.flatMap(({ repeats }) => repeats)} openId=${openId} months /></section>`}
      ${topics.length > most && html`<button type="button" onClick=${() => setMost(most + FIRST)}>${t("more", { n: topics.length - most })}</button>`}
    </div>`;
}

/** Return the ids of the memories that have some words; null without words. */
function findWords(topics, words = "") {
  const wanted = splitWords(words);
  if (!wanted.length) return null;
  return new Set(topics.flatMap(({ memories }) => memories)
    .filter((memory) => wanted.every((word) => fold(memory.words).includes(word))).map(({ id }) => id));
}

function Content({ who, graph, params }) {
  const [isChosen, setFiltering] = useState(null);
  const isFiltering = isChosen ?? FILTERS.some((name) => params[name]);
  const filterKey = FILTERS.map((name) => params[name]).join("|");
  const topics = useMemo(() => filterTopics(graph.topics, readFilter(params)), [graph, filterKey]);
  const isPrinting = usePrinting();
  const isList = params.as === "list" || isPrinting;
  const matter = params.as === "matter" && graph.memories.get(Number(params.topic))?.topic;
  const isFiltered = topics !== graph.topics;
  const openId = Number(params.memory) || null;
  const found = useMemo(() => findWords(topics, params.words), [topics, params.words]);
  if (matter) {
    return html`
      <div class="split">
        <div class="main-column matter"><${Matter} key=${params.topic} topic=${matter} openId=${openId} /></div>
        ${openId && html`<${Panels} who=${who} graph=${graph} params=${{ memory: params.memory }} />`}
      </div>`;
  }
  return html`
    <div class="split">
      <div class="stack">
        <div class="tools">
          ${found ? html`<p class="summary" role="status">${t("timelines.found", { n: found.size })}</p>`
            : html`<${Summary} graph=${graph} topics=${topics} isFiltered=${isFiltered} />`}
          <input type="search" class="words-filter" aria-label=${t("timelines.words")} placeholder=${t("timelines.words")} value=${params.words ?? ""}
            onInput=${(event) => navigate({ words: event.currentTarget.value }, { replace: true })} />
          <${IconButton} name="filter" label=${t("filter")} aria-expanded=${isFiltering} onClick=${() => setFiltering(!isFiltering)} />
          <div class="switch" role="group" aria-label=${t("view.as")}>
            <a href=${linkTo({ as: null })} aria-current=${isList ? undefined : "true"}>${t("view.timeline")}</a>
            <a href=${linkTo({ as: "list" })} aria-current=${isList ? "true" : undefined}>${t("view.list")}</a>
          </div>
        </div>
        ${isFiltering && html`<${Filters} graph=${graph} params=${params} />`}
        ${isList
          ? html`<div class="main-column"><${Months} graph=${graph} params=${params} />
            <${TopicList} topics=${found ? filterTopics(topics, ({ id }) => found.has(id)) : topics} openId=${openId} isPrinting=${isPrinting} /></div>`
          : html`<${Timeline} shown=${{ graph, topics, openId, found: found?.size ? found : null, ...readTimes(graph, params) }}
              onOpen=${openMemory} onTopic=${openTopic} />
            <${Scrubber} graph=${graph} params=${params} />`}
      </div>
      <${Panels} who=${who} graph=${graph} params=${params} />
    </div>`;
}

export default function Timelines({ who, params }) {
  return html`<${WithGraph} who=${who} method=${params.method} title=${t("nav.timelines")}>${(graph) => html`<${Content} who=${who} graph=${graph} params=${params} />`}<//>`;
}
