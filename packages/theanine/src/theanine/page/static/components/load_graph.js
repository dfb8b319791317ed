/** The graph of a user, and what is shown while there is none. */
import { useRight } from "./acts.js";
import { Empty, Loaded } from "./basics.js";
import { readGraph } from "../core/graph.js";
import { html } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo } from "../core/route.js";
import { source } from "../core/source.js";
import { t } from "../core/texts.js";

/** The key under which a user's graph is kept; `reload(graphKey(who))` after a change. */
export const graphKey = (who) => `graph:${who.user}:${who.agent}:`;

/** The graph of a user as `useResource` gives it, of a method or the service's own; null of nobody. */
export const useGraph = (who, method) => useResource(who && `${graphKey(who)}${method ?? ""}`, async (show) =>
  readGraph(await source.get().graph(who, method, (part) => show(readGraph(part, true)))));

/** Says that the store knows nobody, and how to begin. */
export function NobodyYet() {
  const mayAdminister = useRight("administer");
  return html`<${Empty} title=${t("empty.nobody")}>
    ${mayAdminister && html`<p class="row"><a class="button primary" href=${linkTo({}, "import")}>${t("empty.import")}</a>
      <a class="button" href=${linkTo({ user: "ana", demo: 1 }, "import")}>${t("empty.demo")}</a></p>`}
    <p>${t("empty.nobody.how")}</p>
    <pre><code>theanine add "I live in Lisbon." --user ana${"\n"}theanine import conversations.json${"\n"}theanine open --demo</code></pre><//>`;
}

/** Says that nothing was said by somebody, or nothing is remembered of it yet, and what to do. */
export function NothingYet({ who, isRemembering = false }) {
  const { isFile, pending } = source.get();
  const waiting = useResource(isFile ? null : `work:${who.user}:${who.agent}`, () => pending(who));
  const [mayWrite, mayAdminister] = [useRight("write"), useRight("administer")];
  const n = waiting.value?.length ?? 0;
  return html`<${Empty} title=${t(isRemembering ? "empty.user" : "empty.said", { user: who.user })}>
    ${n > 0 && html`<p>${t("empty.waiting", { n })} <a href=${linkTo({}, "operate")}>${t("empty.waiting.see")}</a></p>`}
    <p class="row">${isRemembering && html`<a href=${linkTo({}, "conversations")}>${t("empty.read")}</a>`}
      ${mayAdminister && html`<a href=${linkTo({}, "import")}>${t("nav.import")}</a>`}
      ${mayWrite && html`<a href=${linkTo({}, "talk")}>${t("nav.talk")}</a>`}</p><//>`;
}

/**
 * Draws the graph of a user, of a method or the service's own, by the function inside, once it is
 * loaded and if it has memories. `title` is for screen readers, also while it is loading.
 */
export function WithGraph({ who, method, title, children }) {
  const graph = useGraph(who, method);
  const heading = title && html`<h1 class="hidden">${title}</h1>`;
  if (!who) return html`${heading}<${NobodyYet} />`;
  return html`${heading}<${Loaded} from=${graph}>${(value) =>
    value.memories.size ? children(value) : html`<${NothingYet} who=${who} isRemembering />`}<//>`;
}
