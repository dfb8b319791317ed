/** Forgetting: what will go, shown first; hidden at once; erased after a pause; then the receipt. */
import { Dialog, Loaded, notify } from "./basics.js";
import { get, post, userPath } from "../core/api.js";
import { html, useEffect, useState } from "../core/html.js";
import { reload, useResource } from "../core/resource.js";
import { navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { createStore, useStore } from "../core/store.js";
import { formatNumber, t } from "../core/texts.js";

const MOST_SHOWN = 8;
const COUNTED = ["memories", "turns", "sessions", "links", "vectors", "journal"];

/** Load the lists again in which something may have come or gone. */
export function reloadLists() {
  for (const part of ["users", "graph:", "forgetting:", "review:", "sessions:"]) reload(part);
}

/** Say what failed, of an act. */
export const notifyProblem = (problem) => notify(problem.detail || problem.message, { seconds: 12 });

/** What is forgotten, as the service takes it, and its text. */
const WHAT = {
  memory: ({ memory }) => ({ memory: memory.id }),
  session: ({ memory, session }) => ({ session: session ?? memory.session }),
  everything: () => ({ everything: true }),
};

const ShortList = ({ title, items }) => items.length > 0 && html`
  <h3>${title}</h3>
  <ul class="goes">${items.slice(0, MOST_SHOWN).map((text) => html`<li>${text}</li>`)}
    ${items.length > MOST_SHOWN && html`<li class="quiet">${t("forget.more", { n: items.length - MOST_SHOWN })}</li>`}</ul>`;

/** What a preview or a receipt counts. */
const Counts = ({ report, timelines }) => html`
  <ul class="counts">
    ${COUNTED.filter((name) => report[name]).map((name) => html`
      <li><strong>${formatNumber(report[name])}</strong> ${t(`forget.count.${name}`, { n: report[name] })}</li>`)}
    ${timelines > 0 && html`<li><strong>${formatNumber(timelines)}</strong> ${t("forget.count.timelines", { n: timelines })}</li>`}
  </ul>`;

function Preview({ who, graph, preview }) {
  const memories = preview.memories.map((id) => graph?.memories.get(id)?.words).filter(Boolean);
  const topics = new Set(preview.memories.map((id) => graph?.memories.get(id)?.topic).filter(Boolean));
  const shown = preview.turns.slice(0, MOST_SHOWN);
  const turns = useResource(`turns:${who.user}:${who.agent}:${shown}`, () => source.get().turns(who, shown));
  const said = [...(turns.value ?? []).map((turn) => `${turn.speaker}: ${turn.text}`),
    ...preview.turns.slice(MOST_SHOWN)];
  return html`
    <${Counts} report=${preview.report} timelines=${topics.size} />
    <${ShortList} title=${t("forget.memories")} items=${memories} />
    <${ShortList} title=${t("forget.turns")} items=${said} />
    <${ShortList} title=${t("forget.kept")} items=${preview.report.kept} />
    ${preview.report.pending_again > 0 && html`<p class="quiet">${t("forget.again", { n: preview.report.pending_again })}</p>`}
    <p class="quiet">${t("forget.indexes")}</p>`;
}

/**
 * Asks what to forget of `target`: `{ memory }` of the graph, `{ session }` a number, or `{}` for
 * the person; what will go is shown before.
 */
export function ForgetDialog({ who, graph, target, onClose }) {
  const choices = [target.memory && "memory", (target.memory || target.session) && "session", "everything"].filter(Boolean);
  const [choice, setChoice] = useState(choices[0]);
  const [busy, setBusy] = useState(false);
  const what = WHAT[choice](target);
  const query = choice === "everything" ? {} : what;
  const preview = useResource(`preview:${who.user}:${who.agent}:${JSON.stringify(what)}`, () =>
    get(userPath(who, "forgetting/preview"), query));
  const forget = async () => {
    setBusy(true);
    try {
      await post(userPath(who, "forgetting"), what);
      onClose();
      navigate({ user: who.user, agent: who.agent === "default" ? null : who.agent, memory: null });
      reloadLists();
    } catch (problem) {
      notifyProblem(problem);
      setBusy(false);
    }
  };
  return html`
    <${Dialog} title=${t("forget.title")} onClose=${onClose}>
      ${choices.length > 1 && html`<fieldset class="choices"><legend class="hidden">${t("forget.title")}</legend>
        ${choices.map((each) => html`
          <label><input type="radio" name="what" checked=${each === choice} onChange=${() => setChoice(each)} />
            ${t(`forget.what.${each}`, { user: who.user })}</label>`)}
      </fieldset>`}
      <div class="preview" aria-live="polite"><${Loaded} from=${preview}>${(value) => html`
        <${Preview} who=${who} graph=${graph} preview=${value} />`}<//></div>
      <div class="row">
        <button type="button" class="danger" disabled=${busy || !preview.value} onClick=${forget}>
          ${t(`forget.do.${choice}`, { user: who.user })}</button>
        <button type="button" onClick=${onClose}>${t("cancel")}</button>
      </div>
    <//>`;
}

const receipts = createStore([]);
const followed = new Set();

async function addReceipt(operation) {
  followed.delete(operation.id);
  const { state, result } = await get(`/v1/operations/${operation.id}`);
  if (state === "succeeded") receipts.set([...receipts.get(), { id: operation.id, receipt: result.receipts[0] }]);
}

const kindOf = ({ options }) => (options.memory ? "memory" : options.session ? "session" : "everything");

function Waiting({ who, operation, now }) {
  const left = Math.max(0, Math.ceil((Date.parse(operation.not_before ?? operation.created_at) - now) / 1000));
  const act = (name) => post(userPath(who, `forgetting/${operation.id}/${name}`)).then(() => {
    if (name === "undo") {
      followed.delete(operation.id);
      notify(t("forget.undone"));
    }
    reloadLists();
  }, notifyProblem);
  const failed = operation.state === "failed";
  return html`
    <p><span>${t(`forget.hidden.${kindOf(operation)}`, { user: who.user })}${" "}
      ${failed ? html`<strong>${t("forget.failed", { error: operation.error })}</strong>`
        : operation.not_before && left > 0 && html`<span aria-hidden="true">${t("forget.left", { n: left })}</span>`}</span>
      ${(failed || left > 0) && html`<button type="button" onClick=${() => act("undo")}>${t("forget.undo")}</button>`}
      ${!failed && operation.not_before && left > 0 && html`
        <button type="button" onClick=${() => act("confirm")}>${t("forget.now")}</button>`}
      ${!failed && !(operation.not_before && left > 0) && html`<span>${t("forget.erasing")}</span>`}</p>`;
}

function Receipt({ id, receipt }) {
  const close = () => receipts.set(receipts.get().filter((each) => each.id !== id));
  return html`
    <${Dialog} title=${t("receipt.title")} onClose=${close}>
      ${receipt ? html`
        <${Counts} report=${receipt} />
        <p>${t(receipt.files_verified ? "receipt.verified" : "receipt.unverified")}
          ${receipt.remaining && ` ${receipt.remaining}`}</p>
        <${ShortList} title=${t("receipt.kept")} items=${receipt.kept} />` : html`<p>${t("receipt.gone")}</p>`}
      <div class="row"><button type="button" class="primary" onClick=${close}>${t("close")}</button></div>
    <//>`;
}

/** What is hidden of somebody until it is erased, with undo; then its receipt. */
export function Forgotten({ who }) {
  const list = useResource(who && !source.get().isFile ? `forgetting:${who.user}:${who.agent}` : null,
    () => get(userPath(who, "forgetting")));
  const operations = list.value ?? [];
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    for (const id of [...followed]) {
      if (list.value && !operations.some((each) => each.id === id)) addReceipt({ id }).then(reloadLists, notifyProblem);
    }
    setNow(Date.now());
    for (const { id, state } of operations) if (state !== "failed") followed.add(id);
  }, [list.value]);
  const runs = operations.some(({ state }) => state !== "failed");
  useEffect(() => {
    if (!runs) return undefined;
    const tick = setInterval(() => {
      setNow(Date.now());
      if (operations.some(({ not_before: begin }) => !begin || Date.parse(begin) <= Date.now())) list.reload();
    }, 1000);
    return () => clearInterval(tick);
  }, [runs, list.value]);
  return html`
    ${operations.length > 0 && html`<section class="forgotten" aria-label=${t("forget.pending")}>
      ${operations.map((operation) => html`<${Waiting} key=${operation.id} who=${who} operation=${operation} now=${now} />`)}
    </section>`}
    ${useStore(receipts).slice(0, 1).map((each) => html`<${Receipt} key=${each.id} ...${each} />`)}`;
}
