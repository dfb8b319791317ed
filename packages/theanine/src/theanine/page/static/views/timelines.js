/** Timelines: what is remembered, by matter, over time. */
import { IconButton } from "../components/basics.js";
import { FILTERS, Filters, filterTopics, readFilter } from "../components/filters.js";
import { WithGraph } from "../components/load_graph.js";
import { Panels, openMemory, openTopic } from "../components/panels.js";
import { Scrubber, readTimes } from "../components/scrubber.js";
import { Story } from "../components/story.js";
import { Timeline } from "../components/timeline.js";
import { html, useMemo, useState } from "../core/html.js";
import { linkTo, navigate } from "../core/route.js";
import { splitWords } from "../core/words.js";
import { formatMonth, t } from "../core/texts.js";
import { titleOf } from "../timeline/draw.js";

const FIRST = 60;

function Summary({ graph, topics, isFiltered }) {
  const n = isFiltered ? topics.reduce((sum, topic) => sum + topic.memories.length, 0) : graph.counted.length;
  const values = {
    memories: t("memories", { n }),
    conversations: t("conversations", { n: graph.sessions }),
    span: [...new Set([formatMonth(graph.firstDate), formatMonth(graph.to)])].join(" – "),
  };
  if (isFiltered) return html`<p class="summary">${t("summary.filtered", { n, all: graph.counted.length })}</p>`;
  return html`<p class="summary">${t(graph.isDated ? "summary.span" : "summary.undated", values)}</p>`;
}

/** All topics as text: the same as the canvas, for keyboards and screen readers. */
function TopicList({ topics, openId }) {
  const [most, setMost] = useState(FIRST);
  const several = topics.filter(({ memories }) => memories.length > 1);
  const ordered = [...several, ...topics.filter(({ memories }) => memories.length === 1)];
  return html`
    <div class="topics">
      ${ordered.slice(0, most).map((topic, at) => html`
        <section class="topic" key=${topic.memories[0].id}>
          ${(at <= several.length) && html`<h2>${at < several.length ? titleOf(topic) : t("topics.single")}</h2>`}
          <${Story} memories=${topic.memories} openId=${openId} />
        </section>`)}
      ${topics.length > most && html`<button type="button" onClick=${() => setMost(most + FIRST)}>${t("more", { n: topics.length - most })}</button>`}
    </div>`;
}

/** Return the ids of the memories that have some words; null without words. */
function findWords(topics, words = "") {
  const wanted = splitWords(words);
  if (!wanted.length) return null;
  return new Set(topics.flatMap(({ memories }) => memories)
    .filter((memory) => wanted.every((word) => memory.words.toLowerCase().includes(word))).map(({ id }) => id));
}

function Content({ who, graph, params }) {
  const [isChosen, setFiltering] = useState(null);
  const isFiltering = isChosen ?? FILTERS.some((name) => params[name]);
  const filterKey = FILTERS.map((name) => params[name]).join("|");
  const topics = useMemo(() => filterTopics(graph.topics, readFilter(params)), [graph, filterKey]);
  const isList = params.as === "list";
  const isFiltered = topics !== graph.topics;
  const openId = Number(params.memory) || null;
  const found = useMemo(() => findWords(topics, params.words), [topics, params.words]);
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
          ? html`<div class="main-column"><${TopicList} topics=${found ? filterTopics(topics, ({ id }) => found.has(id)) : topics} openId=${openId} /></div>`
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
