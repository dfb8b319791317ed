/** Memories as text, in order of time: a topic as a story, and what differs between two dates. */
import { SidePanel } from "./basics.js";
import { MemoryItem } from "./memory.js";
import { html, useState } from "../core/html.js";
import { linkTo } from "../core/route.js";
import { splitWords } from "../core/words.js";
import { formatDate, formatMonth, t } from "../core/texts.js";
import { findReason, titleOf } from "../timeline/draw.js";

const DAY = 86_400_000;

/** Return the time between two memories in words, where it is worth a word. */
export function describePause(ms) {
  const days = Math.round(ms / DAY);
  if (days < 2) return "";
  if (days < 14) return t("pause.days", { n: days });
  if (days < 60) return t("pause.weeks", { n: Math.round(days / 7) });
  if (days < 700) return t("pause.months", { n: Math.round(days / 30.4) });
  return t("pause.years", { n: Math.round(days / 365.25) });
}

const plain = (words) => words.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.join(" ");

/** What was said again in the same words, folded. */
const Again = ({ memories }) => memories.length > 0 && html`
  <details class="again"><summary class="quiet">${t("story.again", { n: memories.length })}</summary>
    <ul class="plain">${memories.map((memory) => html`<li key=${memory.id}><${MemoryItem} memory=${memory} /></li>`)}</ul></details>`;

/**
 * The memories of a topic, oldest first, with the time between them and how each follows; with
 * `months`, under the month of each, and after them what has no date.
 */
export function Story({ memories, repeats = [], openId, months = false }) {
  const ordered = months ? [...memories.filter(({ dated }) => dated), ...memories.filter(({ dated }) => !dated)] : memories;
  const again = Map.groupBy(repeats.filter(({ kind }) => kind !== "state"), ({ words }) => plain(words));
  const monthOf = (memory) => (memory.dated ? formatMonth(memory.time) : t("date.none"));
  return html`
    <ol class="plain story">
      ${ordered.map((memory, i) => {
        const previous = ordered[i - 1];
        const isNewMonth = months && (!previous || monthOf(previous) !== monthOf(memory));
        const pause = i && !isNewMonth && memory.dated && previous.dated ? describePause(memory.time - previous.time) : "";
        const same = again.get(plain(memory.words)) ?? [];
        again.delete(plain(memory.words));
        return html`<li key=${memory.id}>
          ${isNewMonth && html`<h3 class="month-title">${monthOf(memory)}</h3>`}
          ${pause && html`<p class="pause quiet">${pause}</p>`}
          <${MemoryItem} memory=${memory} relation=${findReason(memory) ?? undefined} isOpen=${memory.id === openId} />
          <${Again} memories=${same} />
        </li>`;
      })}
    </ol>`;
}

/** How many memories a topic has, and of which time. */
export function describeTopic({ memories }) {
  const dates = memories.filter(({ dated }) => dated).map(({ time }) => formatDate(time));
  return [t("memories", { n: memories.length }), [...new Set([dates[0], dates.at(-1)])].filter(Boolean).join(" – ")].filter(Boolean).join(", ");
}

/** A topic as a story. */
export const TopicPanel = ({ topic, onClose }) => html`
  <${SidePanel} title=${titleOf(topic)} onClose=${onClose}>
    <p class="quiet">${describeTopic(topic)}</p>
    <p><a href=${linkTo({ as: "matter" })}>${t("matter.open")}</a></p>
    <${Story} memories=${topic.memories} repeats=${topic.repeats} />
  <//>`;

/** A topic in full width: where it stands now, then all of it by months, with a search within. */
export function Matter({ topic, openId }) {
  const [words, setWords] = useState("");
  const wanted = splitWords(words);
  const has = (memory) => wanted.every((word) => memory.words.toLowerCase().includes(word));
  const found = topic.memories.filter(has);
  const now = topic.memories.findLast(({ end, dated }) => !end && dated) ?? topic.memories.findLast(({ end }) => !end);
  return html`
    <header class="reading-head no-print">
      <a class="button" href=${linkTo({ as: null, topic: null, memory: null })}><span class="back" aria-hidden="true">←</span> ${t("matter.all")}</a>
      <input type="search" class="words-filter" aria-label=${t("matter.find")} placeholder=${t("matter.find")} value=${words}
        onInput=${(event) => setWords(event.currentTarget.value)} />
      <button type="button" onClick=${() => print()}>${t("print")}</button>
    </header>
    <h1 dir="auto">${titleOf(topic)}</h1>
    <p class="quiet" role="status">${wanted.length ? t("timelines.found", { n: found.length }) : describeTopic(topic)}</p>
    ${!wanted.length && now && topic.memories.length > 1 && html`<section class="card now"><h2>${t("matter.now")}</h2><${MemoryItem} memory=${now} /></section>`}
    <${Story} memories=${found} repeats=${topic.repeats} openId=${openId} months />`;
}

const MOST = 200;

const Listed = ({ title, memories }) => memories.length > 0 && html`
  <section>
    <h3>${title} (${memories.length})</h3>
    <ul class="plain">${memories.slice(0, MOST).map((memory) => html`
      <li key=${memory.id}><${MemoryItem} memory=${memory} /></li>`)}</ul>
    ${memories.length > MOST && html`<p class="quiet">${t("more", { n: memories.length - MOST })}</p>`}
  </section>`;

/** What differs between two dates: `difference` of `compare()`. */
export const DifferencePanel = ({ difference: { added, changed, gone }, earlier, later, onClose }) => html`
  <${SidePanel} title=${t("difference.title", { from: formatDate(earlier), to: formatDate(later) })} onClose=${onClose}>
    ${!added.length && !changed.length && !gone.length && html`<p>${t("difference.none")}</p>`}
    ${changed.length > 0 && html`
      <section>
        <h3>${t("difference.changed")} (${changed.length})</h3>
        <ul class="plain">${changed.slice(0, MOST).map(({ memory, now }) => html`
          <li key=${memory.id} class="change">
            <${MemoryItem} memory=${memory} />
            <${MemoryItem} memory=${now} relation="Changed" />
          </li>`)}</ul>
      </section>`}
    <${Listed} title=${t("difference.gone")} memories=${gone} />
    <${Listed} title=${t("difference.added")} memories=${added} />
  <//>`;
