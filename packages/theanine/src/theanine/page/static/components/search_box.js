/** The search in the frame of the page: `/` and Ctrl-K come here, and what is typed is found at once. */
import { html, useEffect, useId, useRef } from "../core/html.js";
import { navigate, useRoute } from "../core/route.js";
import { source } from "../core/source.js";
import { t } from "../core/texts.js";

const isTyping = ({ tagName, isContentEditable }) => isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(tagName);

export function SearchBox({ who }) {
  const { view, params } = useRoute();
  const id = useId();
  const input = useRef(null);
  const q = view === "find" ? params.q ?? "" : "";
  const isFind = view === "find";
  useEffect(() => {
    const onKeyDown = (event) => {
      const isSlash = event.key === "/" && !isTyping(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey;
      const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
      if ((!isSlash && !isK) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      input.current.focus();
      input.current.select();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  // Only where the address says something else: a browser's cursor stays where it is.
  useEffect(() => {
    if (input.current.value.trim() !== q) input.current.value = q;
  }, [q]);
  const search = () => {
    const text = input.current.value.trim();
    if (isFind) navigate({ q: text }, { replace: true });
    else if (text) navigate({ q: text }, { view: "find" });
  };
  // A service reads the words of a long history once; it may do so while the first ones are typed.
  const prepare = () => who && source.get().search(who, { query: "a", exact: true, limit: 1 }).catch(() => {});
  const submit = (event) => {
    event.preventDefault();
    if (!isFind) navigate({ q: input.current.value.trim() }, { view: "find" });
    document.getElementById("view").focus();
  };
  return html`
    <form class="search-box" role="search" onSubmit=${submit}>
      <label class="hidden" for=${id}>${t("find.label")}</label>
      <input id=${id} ref=${input} type="search" dir="auto" placeholder=${t("find.label")} aria-keyshortcuts="/ Control+K"
        title=${t("find.keys")} autocomplete="off" spellcheck=${false} onInput=${search} onFocus=${isFind ? undefined : prepare} />
    </form>`;
}
