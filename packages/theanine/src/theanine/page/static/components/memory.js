/** One memory: its words, what was said, its versions and links, and who made it. */
import { Icon, IconButton, Loaded, SidePanel, usePanelKeys } from "./basics.js";
import { MemoryActs } from "./acts.js";
import { linkToTurn } from "./conversation.js";
import { html } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo } from "../core/route.js";
import { source } from "../core/source.js";
import { describeOwnEnd, formatCost, formatDate, formatEnd, formatTime, t, wallTime } from "../core/texts.js";

const QUOTED = new Set(["local", "given", "caller"]);

/** Return what became of a memory in words, until when it was in effect; and when it ends by itself. */
export function describeState({ end, ownEnd, at }) {
  return [end && t(`state.${end.kind}`, { date: formatEnd(end) }), describeOwnEnd(ownEnd, at)].filter(Boolean).join(" · ");
}

/** Who and when, of a memory of the graph: `Ana · 9 Mar 2024`. */
export const describeOrigin = (memory) =>
  [memory.speakers.join(", "), memory.dated && formatDate(memory.time)].filter(Boolean).join(" · ");

/** A memory in a list: its words first, and a link to open it. */
export const MemoryItem = ({ memory, relation, isOpen }) => html`
  <a class=${`memory-item${memory.end ? " ended" : ""}`} href=${linkTo({ memory: memory.id })} aria-current=${isOpen ? "true" : undefined}>
    ${relation !== undefined && html`<span class="relation" data-relation=${relation ?? "null"}>${t(`relation.${relation}`)}</span> `}
    <span class="words" dir="auto">${memory.words}</span>
    <span class="quiet">${[describeOrigin(memory), describeState(memory), memory.pinned && t("state.pinned")].filter(Boolean).join(" · ")}</span>
  </a>`;

/** The source turns of a memory, each with a link to its place in the conversation. */
function Sources({ who, memory }) {
  const ids = memory.source_turns;
  const own = useResource(`turns:${who.user}:${who.agent}:${ids}`, () => source.get().turns(who, ids));
  return html`
    <section>
      <h3>${t("memory.sources")}</h3>
      ${!ids.length && html`<p class="quiet">${t("memory.no_sources")}</p>`}
      <${Loaded} from=${own}>${(turns) => html`
        <ol class="turns">${turns.map((turn) => html`
          <li key=${turn.id} class=${`turn ${turn.role}`}>
            <span class="quiet"><bdi>${turn.speaker}</bdi>${[turn.dated && formatTime(wallTime(turn.at)), describeOwnEnd(turn.metadata, turn.at)].filter(Boolean).map((each) => ` · ${each}`)}${turn.notes?.corrects && html` · ${t("turn.corrects", { id: turn.notes.corrects })}`}</span>
            <p dir="auto">${turn.text}${turn.attachment && html` <span class="quiet">[${turn.attachment}]</span>`}</p>
            <a href=${linkToTurn({ session: turn.session, turn: turn.id })}>${t("memory.conversation")}</a>
          </li>`)}</ol>`}<//>
    </section>`;
}

function Links({ graph, detail }) {
  const { id } = detail.memory;
  const memory = graph.memories.get(id);
  const explained = new Map(detail.links.map((link) => [`${link.older}-${link.newer}`, link]));
  const rows = [
    ...memory.older.map((link) => ({ ...link, side: "before", why: explained.get(`${link.memory.id}-${id}`) })),
    ...memory.newer.map((link) => ({ ...link, side: "after", why: explained.get(`${id}-${link.memory.id}`) })),
  ].sort((a, b) => (a.relation === "SameTopic") - (b.relation === "SameTopic") || a.memory.time - b.memory.time);
  if (!rows.length) return null;
  return html`
    <section>
      <h3>${t("memory.links")}</h3>
      <ul class="plain">
        ${rows.map(({ side, relation, memory: other, why }) => html`
          <li key=${other.id} class="link" data-relation=${relation ?? "null"}>
            <span class="relation" data-relation=${relation ?? "null"}>${t(`${side}.${relation}`)}</span>
            <${MemoryItem} memory=${other} />
            ${why?.explanation && html`<p class="quiet">${why.explanation}${!QUOTED.has(why.made_by) && ` (${why.made_by})`}</p>`}
          </li>`)}
      </ul>
    </section>`;
}

function Versions({ who, graph, id }) {
  const versions = useResource(`versions:${who.user}:${who.agent}:${id}`, () => source.get().versions(who, id));
  const known = (versions.value ?? []).map((version) => graph.memories.get(version.id)).filter(Boolean);
  if (known.length < 2) return null;
  return html`
    <section>
      <h3>${t("memory.versions")}</h3>
      <ol class="plain versions">${known.map((memory) => html`
        <li key=${memory.id}><${MemoryItem} memory=${memory} isOpen=${memory.id === id} /></li>`)}</ol>
    </section>`;
}

/** What the calls for a session cost: of the steps that a prompt such as `summarize@1` names. */
function sumCosts(lines, memory) {
  const step = memory.prompt.split("@")[0];
  const own = lines.filter((line) => line.session === memory.session && line.step === step && line.model === memory.made_by);
  if (!own.length) return null;
  const calls = own.reduce((sum, line) => sum + line.calls, 0);
  const cost = own.some((line) => line.cost === null) ? null : own.reduce((sum, line) => sum + line.cost, 0);
  return { calls, cost };
}

function MadeBy({ who, memory }) {
  const kind = QUOTED.has(memory.made_by) ? memory.made_by : "model";
  const costs = useResource(kind === "model" ? `costs:${who.user}:${who.agent}` : null, () => source.get().costs(who));
  const sum = costs.value && sumCosts(costs.value, memory);
  return html`
    <section>
      <h3>${t("memory.made")}</h3>
      <p>${t(`memory.made.${kind}`, { model: memory.made_by, prompt: memory.prompt, method: memory.method,
        date: formatDate(wallTime(memory.session_ended_at)) })}</p>
      ${sum && html`<p>${t("memory.cost", { calls: t("calls", { n: sum.calls }),
        cost: sum.cost === null ? t("cost.unknown") : formatCost(sum.cost) })}</p>`}
      <p class="quiet">${t("memory.number", { id: memory.id })} · ${t("memory.session", { session: memory.session })}</p>
    </section>`;
}

/**
 * The panel of an open memory, beside a view or, on a phone, over it. Other views may put their
 * acts into it as children.
 */
export function MemoryPanel({ who, graph, id, onClose, children }) {
  const memory = graph.memories.get(id);
  const detail = useResource(memory ? `memory:${who.user}:${who.agent}:${id}` : null, () => source.get().memory(who, id));
  const heading = usePanelKeys(onClose, id);
  if (!memory) {
    return html`<${SidePanel} title=${t("memory.title")} onClose=${onClose}><p>${t("memory.unknown", { id })}</p><//>`;
  }
  const state = describeState(memory);
  return html`
    <aside class="panel" aria-label=${t("memory.title")}>
      <header class="panel-head">
        <p class="quiet">${describeOrigin(memory)} ${memory.pinned && html`<${Icon} name="pin" />`}</p>
        <${IconButton} name="close" label=${t("close")} onClick=${onClose} />
      </header>
      <h2 ref=${heading} tabindex="-1" class="words" dir="auto">${memory.words}</h2>
      ${state && html`<p class="state">${state}</p>`}
      <${MemoryActs} key=${id} who=${who} graph=${graph} memory=${memory} />
      ${children}
      <${Loaded} from=${detail}>${(loaded) => html`
        <${Sources} key=${id} who=${who} memory=${loaded.memory} />
        <${Links} graph=${graph} detail=${loaded} />
        <${Versions} who=${who} graph=${graph} id=${id} />
        <${MadeBy} who=${who} memory=${loaded.memory} />`}<//>
    </aside>`;
}
