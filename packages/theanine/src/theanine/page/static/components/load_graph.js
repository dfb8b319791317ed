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
export const graphKey = (who) => `graph:${who.user}:${who.agent}`;

/** Says that nothing is remembered of somebody, and what is waiting to be. */
function Nothing({ who }) {
  const { isFile, pending } = source.get();
  const waiting = useResource(isFile ? null : `work:${who.user}:${who.agent}`, () => pending(who));
  const [mayWrite, mayAdminister] = [useRight("write"), useRight("administer")];
  const n = waiting.value?.length ?? 0;
  return html`<${Empty} title=${t("empty.user", { user: who.user })}>
    ${n > 0 && html`<p>${t("empty.waiting", { n })} <a href=${linkTo({}, "operate")}>${t("empty.waiting.see")}</a></p>`}
    ${!n && html`<p class="row">${mayAdminister && html`<a href=${linkTo({}, "import")}>${t("nav.import")}</a>`}
      ${mayWrite && html`<a href=${linkTo({}, "talk")}>${t("nav.talk")}</a>`}</p>`}<//>`;
}

/**
 * Draws the graph of a user, of a method or the service's own, by the function inside, once it is
 * loaded and if it has memories. `title` is for screen readers, also while it is loading.
 */
export function WithGraph({ who, method, title, children }) {
  const graph = useResource(who && `${graphKey(who)}:${method ?? ""}`,
    async () => readGraph(await source.get().graph(who, method)));
  const heading = title && html`<h1 class="hidden">${title}</h1>`;
  if (!who) {
    return html`${heading}<${Empty} title=${t("empty.nobody")}><p>${t("empty.nobody.how")}</p>
      <pre><code>theanine add "I live in Lisbon." --user ana${"\n"}theanine import conversations.json</code></pre><//>`;
  }
  return html`${heading}<${Loaded} from=${graph}>${(value) =>
    value.memories.size ? children(value) : html`<${Nothing} who=${who} />`}<//>`;
}
