/** What can be done with a memory: correct, pin and forget it; for keys that may write. */
import { notify } from "./basics.js";
import { ForgetDialog, notifyProblem, reloadLists } from "./forgetting.js";
import { post, put, remove, userPath } from "../core/api.js";
import { html, useId, useLayoutEffect, useRef, useState } from "../core/html.js";
import { reload, useResource } from "../core/resource.js";
import { navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { t } from "../core/texts.js";

/** Return whether the key of this page has a right; in a file, nothing can be changed. */
export function useRight(right) {
  const session = useResource("session", source.get().whoami);
  return !source.get().isFile && Boolean(session.value?.rights.includes(right));
}

/** A form with one text and a button; `onSave` promises. */
export function TextForm({ label, text = "", action, onSave, onCancel }) {
  const id = useId();
  const field = useRef(null);
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => onCancel && field.current.focus(), []);
  const submit = (event) => {
    event.preventDefault();
    setBusy(true);
    onSave(field.current.value.trim()).then(() => {
      if (field.current) field.current.value = "";
    }, notifyProblem).finally(() => setBusy(false));
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !onCancel) return;
    event.stopPropagation();
    onCancel();
  };
  return html`
    <form class="text-form" onSubmit=${submit} onKeyDown=${onKeyDown}>
      <label class="field-label" for=${id}>${label}</label>
      <textarea id=${id} ref=${field} required rows="2" defaultValue=${text}></textarea>
      <div class="row"><button class="primary" disabled=${busy}>${action}</button>
        ${onCancel && html`<button type="button" onClick=${onCancel}>${t("cancel")}</button>`}</div>
    </form>`;
}

/** The acts on a memory of the graph; `children` are further ones. */
export function MemoryActs({ who, graph, memory, stay = false, children }) {
  const [open, setOpen] = useState(null);
  const mayWrite = useRight("write");
  if (!mayWrite) return null;
  const done = (text) => {
    notify(text);
    reloadLists();
    reload("memory:");
    reload("versions:");
  };
  const correct = async (text) => {
    const made = await post(userPath(who, `memories/${memory.id}/corrections`), { text });
    setOpen(null);
    done(t("correct.done"));
    if (!stay) navigate({ memory: made.id });
  };
  const pin = () => (memory.pinned ? remove : put)(userPath(who, `memories/${memory.id}/pin`))
    .then(() => done(t(memory.pinned ? "unpin.done" : "pin.done")), notifyProblem);
  const canChange = memory.end?.kind !== "corrected";
  return html`
    <div class="acts row">
      ${children}
      ${canChange && html`
        <button type="button" aria-expanded=${open === "correct"} onClick=${() => setOpen(open === "correct" ? null : "correct")}>${t("correct")}</button>
        <button type="button" aria-pressed=${memory.pinned} onClick=${pin}>${t(memory.pinned ? "unpin" : "pin")}</button>`}
      <button type="button" class="danger" onClick=${() => setOpen("forget")}>${t("forget")}</button>
    </div>
    ${open === "correct" && html`<${TextForm} label=${t("correct.label")} text=${memory.words.replace(/^“(.*)”$/s, "$1")}
      action=${t("correct.do")} onSave=${correct} onCancel=${() => setOpen(null)} />`}
    ${open === "forget" && html`<${ForgetDialog} who=${who} graph=${graph} target=${{ memory }} onClose=${() => setOpen(null)} />`}`;
}
