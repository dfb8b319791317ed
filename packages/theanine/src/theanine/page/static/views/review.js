/** Review: add what is missing, and look at what is doubtful. */
import { MemoryActs, TextForm, useRight } from "../components/acts.js";
import { Loaded, notify } from "../components/basics.js";
import { ForgetDialog, notifyProblem, reloadLists } from "../components/forgetting.js";
import { WithGraph } from "../components/load_graph.js";
import { MemoryItem, MemoryPanel } from "../components/memory.js";
import { get, post, put, userPath } from "../core/api.js";
import { html, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { navigate } from "../core/route.js";
import { formatNumber, t } from "../core/texts.js";

const MOST_SHOWN = 50;

function Add({ who }) {
  const add = async (text) => {
    await post(userPath(who, "messages"), { messages: [{ role: "user", content: text }] });
    notify(t("add.done"));
    reloadLists();
  };
  return html`<${TextForm} label=${t("add.label", { user: who.user })} action=${t("add.do")} onSave=${add} />`;
}

/** Why a memory is doubtful, with the one that it is doubtful against. */
function Doubt({ graph, doubt }) {
  const other = graph.memories.get(doubt.other);
  return html`
    <p>${t(`doubt.${doubt.kind}`, { chance: formatNumber(doubt.chance ?? 0, { style: "percent" }) })}</p>
    ${other && html`<div class="against"><span class="relation" data-relation=${doubt.relation}>${t(`before.${doubt.relation}`)}</span>
      <${MemoryItem} memory=${other} /></div>`}
    ${doubt.explanation && html`<p class="quiet">${doubt.explanation}</p>`}`;
}

function Queue({ who, graph, openId }) {
  const review = useResource(`review:${who.user}:${who.agent}`, () => get(userPath(who, "review")));
  const accept = (id) => put(userPath(who, `memories/${id}/accepted`)).then(() => {
    notify(t("accept.done"));
    reloadLists();
  }, notifyProblem);
  return html`<${Loaded} from=${review}>${(found) => {
    const doubtful = found.filter(({ memory }) => graph.memories.has(memory));
    return html`
      <h2>${t("review.queue")}</h2>
      <p class="quiet" role="status">${doubtful.length ? t("review.count", { n: doubtful.length }) : t("review.none")}</p>
      <ol class="plain cards">${doubtful.slice(0, MOST_SHOWN).map(({ memory: id, doubts }) => html`
        <li key=${id} class="card">
          <${MemoryItem} memory=${graph.memories.get(id)} isOpen=${id === openId} />
          ${doubts.slice(0, 2).map((doubt) => html`<${Doubt} graph=${graph} doubt=${doubt} />`)}
          <${MemoryActs} who=${who} graph=${graph} memory=${graph.memories.get(id)} stay>
            <button type="button" class="primary" onClick=${() => accept(id)}>${t("accept")}</button><//>
        </li>`)}</ol>`;
  }}<//>`;
}

export default function Review({ who, params }) {
  const [forgetting, setForgetting] = useState(false);
  const mayWrite = useRight("write");
  const openId = Number(params.memory) || null;
  return html`
    <div class="split">
      <div class="main-column narrow">
        <h1>${t("nav.review")}</h1>
        ${mayWrite && who && html`<${Add} who=${who} />`}
        <${WithGraph} who=${who}>${(graph) => html`
          <${Queue} who=${who} graph=${graph} openId=${openId} />
          ${mayWrite && html`
            <h2>${t("review.all", { user: who.user })}</h2>
            <p class="row"><button type="button" class="danger" onClick=${() => setForgetting(true)}>${t("forget")}</button></p>`}
          ${forgetting && html`<${ForgetDialog} who=${who} graph=${graph} target=${{}} onClose=${() => setForgetting(false)} />`}`}<//>
      </div>
      ${openId && html`<${WithGraph} who=${who}>${(graph) => html`
        <${MemoryPanel} who=${who} graph=${graph} id=${openId} onClose=${() => navigate({ memory: null })} />`}<//>`}
    </div>`;
}
