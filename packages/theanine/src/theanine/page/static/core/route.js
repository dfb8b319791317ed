/**
 * What the page shows, in the hash of its address, so that every state is a link:
 * `#/timelines?user=ana&memory=12`. The first part is the view, the rest its parameters.
 */
import { createStore, useStore } from "./store.js";

/** Return the route of a hash: `{ view, params }`, all parameters as strings; without a view, it is the first one. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  return { view: path, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the hash of a route; parameters that are null, undefined or empty are left out. */
export function formatRoute({ view, params }) {
  const given = Object.entries(params).filter(([, value]) => value != null && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

const store = createStore(parseRoute(location.hash));
addEventListener("hashchange", () => store.set(parseRoute(location.hash)));

/** Return the present route, and render again when it changes. */
export const useRoute = () => useStore(store);

/** Return the present route. */
export const currentRoute = () => store.get();

/**
 * Return the hash of another state of the page: `linkTo({ memory: 3 })` in this view,
 * `linkTo({ memory: 3 }, "find")` in another one, which keeps only who it is about.
 */
export function linkTo(params, view) {
  const now = store.get();
  const { user, agent } = now.params;
  const kept = view === undefined || view === now.view ? now.params : { user, agent };
  return formatRoute({ view: view ?? now.view, params: { ...kept, ...params } });
}

/**
 * Go to another state of the page; the browser's back button returns. With `replace`, what is
 * shown now is not kept in the history, such as while something is dragged.
 */
export function navigate(params, { view, replace = false } = {}) {
  const hash = linkTo(params, view);
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    store.set(parseRoute(hash));
  } else {
    location.hash = hash;
  }
}
