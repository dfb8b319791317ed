/** Memories as text, in order of time: a topic as a story, and what differs between two dates. */
import { SidePanel } from "./basics.js";
import { MemoryItem } from "./memory.js";
import { html } from "../core/html.js";
import { formatDate, t } from "../core/texts.js";
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

/** The memories of a topic, oldest first, with the time between them and how each follows. */
export const Story = ({ memories, openId }) => html`
  <ol class="plain story">
    ${memories.map((memory, i) => {
      const pause = i && memory.dated && memories[i - 1].dated ? describePause(memory.time - memories[i - 1].time) : "";
      return html`<li key=${memory.id}>
        ${pause && html`<p class="pause quiet">${pause}</p>`}
        <${MemoryItem} memory=${memory} relation=${findReason(memory) ?? undefined} isOpen=${memory.id === openId} />
      </li>`;
    })}
  </ol>`;

/** A topic as a story. */
export const TopicPanel = ({ topic, onClose }) => html`
  <${SidePanel} title=${titleOf(topic)} onClose=${onClose}>
    <p class="quiet">${t("memories", { n: topic.memories.length })}</p>
    <${Story} memories=${topic.memories} />
  <//>`;

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
