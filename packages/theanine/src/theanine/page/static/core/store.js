/** A value that components follow: the route, the settings, what was loaded. */
import { useLayoutEffect, useState } from "./html.js";

/**
 * Return a store of a value.
 * @template T
 * @param {T} value
 */
export function createStore(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Return the value of a store, and render again when it changes. */
export function useStore(store) {
  const [, update] = useState(0);
  const value = store.get();
  useLayoutEffect(() => {
    if (!Object.is(store.get(), value)) update((count) => count + 1);
    return store.subscribe(() => update((count) => count + 1));
  }, [store]);
  return value;
}
