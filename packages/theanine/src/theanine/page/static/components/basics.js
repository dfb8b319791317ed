/** Small parts that all views share. */
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../core/html.js";
import { createStore, useStore } from "../core/store.js";
import { t } from "../core/texts.js";

const ICONS = {
  close: "M6 6l12 12M18 6L6 18",
  conversations: "M4 5h16v11H9l-5 4z",
  filter: "M4 6h16M7 12h10M10 18h4",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  home: "M4 11l8-7 8 7v9h-6v-6h-4v6H4z",
  minus: "M5 12h14",
  more: "M4 7h16M4 12h16M4 17h16",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  plus: "M5 12h14M12 5v14",
  talk: "M12 4v10M8 7v4M16 7v4M4 9v1M20 9v1M12 18v2",
  timelines: "M4 6h9M4 12h16M9 18h11",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M14 7a2 2 0 1 0 4 0 2 2 0 0 0-4 0zM6 17a2 2 0 1 0 4 0 2 2 0 0 0-4 0z",
};

/** A drawing of lines, 20 pixels wide; what it means is said beside it. */
export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
    <path d=${ICONS[name]} fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />
  </svg>`;

/** The leaf of the name; as in `icon.svg`. */
export const Leaf = () => html`
  <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" focusable="false">
    <path d="M6 26C6 12 14 5 27 5c0 13-7 21-19 21" fill="#2f8f7b" />
    <path d="M6 27c3-8 8-13 14-16" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" />
  </svg>`;

/** A button that is only an icon, with its name for screen readers and as a hint. */
export const IconButton = ({ name, label, ...rest }) => html`
  <button type="button" class="icon-button" aria-label=${label} title=${label} ...${rest}><${Icon} name=${name} /></button>`;

/** Says that something is loading, after a moment in which it may come. */
export function Loading() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class="loading" role="status">${late ? t("loading") : ""}</p>`;
}

/** Says what went wrong, in the service's words, and offers to try again. */
export const ErrorBox = ({ problem, retry }) => html`
  <div class="error-box" role="alert">
    <p><strong>${t(problem.code === "unreachable" ? "error.unreachable" : "error.title")}</strong></p>
    <p>${problem.detail || problem.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>${t("error.retry")}</button>`}
  </div>`;

/**
 * Draws what `useResource` gives: its value by the function inside, or that it is loading or
 * failed. A value that is loaded again stays until the new one is there.
 */
export function Loaded({ from, children }) {
  const { value, problem, reload } = from;
  if (problem) return html`<${ErrorBox} problem=${problem} retry=${reload} />`;
  return value === undefined ? html`<${Loading} />` : children(value);
}

/** A place with nothing in it, and what to do about that. */
export const Empty = ({ title, children }) => html`
  <div class="empty"><h2>${title}</h2>${children}</div>`;

/** A labelled choice; `options` are `[value, text]`. */
export function Select({ label, value, options, onChange, hideLabel = false }) {
  const id = useId();
  return html`
    <label class=${hideLabel ? "hidden" : "field-label"} for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
      ${options.map(([each, text]) => html`<option value=${each} selected=${each === value}>${text}</option>`)}
    </select>`;
}

/** A dialog above the page; Escape and the close button call `onClose`. */
export function Dialog({ title, onClose, children }) {
  const ref = useRef(null);
  const id = useId();
  useLayoutEffect(() => {
    ref.current.showModal();
  }, []);
  return html`
    <dialog ref=${ref} aria-labelledby=${id} onClose=${onClose}>
      <header class="dialog-head">
        <h2 id=${id}>${title}</h2>
        <${IconButton} name="close" label=${t("close")} onClick=${() => ref.current.close()} />
      </header>
      ${children}
    </dialog>`;
}

/**
 * What a panel does with keys: its title gets the focus, Escape closes it, and the focus returns to
 * where it was. Return the reference for the title.
 */
export function usePanelKeys(onClose, shown) {
  const heading = useRef(null);
  const close = useRef(onClose);
  close.current = onClose;
  // Before the panel is painted: a key that is pressed as soon as it shows must not be lost.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const onKeyDown = (event) => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      if (before?.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), [shown]);
  return heading;
}

/** A panel beside the view, with a title. */
export function SidePanel({ title, onClose, children }) {
  const heading = usePanelKeys(onClose, title);
  return html`
    <aside class="panel" aria-label=${title}>
      <header class="panel-head">
        <h2 ref=${heading} tabindex="-1">${title}</h2>
        <${IconButton} name="close" label=${t("close")} onClick=${onClose} />
      </header>
      ${children}
    </aside>`;
}

const notices = createStore([]);

/** Show a notice for some seconds, with `action` a button: `{ label, run }`. */
export function notify(text, { action, seconds = 6 } = {}) {
  const notice = { text, action };
  notices.set([...notices.get(), notice]);
  const dismiss = () => notices.set(notices.get().filter((each) => each !== notice));
  setTimeout(dismiss, seconds * 1000);
  return dismiss;
}

/** Where notices are shown; screen readers say them. */
export const Notices = () => html`
  <div class="notices" role="status" aria-live="polite">
    ${useStore(notices).map(({ text, action }) => html`
      <p class="notice">${text} ${action && html`<button type="button" onClick=${action.run}>${action.label}</button>`}</p>`)}
  </div>`;
