/** What is loaded, kept by a key until it is reloaded: views ask for it as they are drawn. */
import { useLayoutEffect, useState } from "./html.js";

const entries = new Map();

/** Forget what was loaded under keys that begin so; views that show it load it again. */
export function reload(prefix = "") {
  for (const [key, entry] of [...entries]) {
    if (!key.startsWith(prefix)) continue;
    if (entry.listeners.size) start(entry);
    else entries.delete(key);
  }
}

function start(entry) {
  const number = ++entry.number;
  const settle = (changes) => {
    if (entry.number !== number) return; // a newer one is under way
    Object.assign(entry, changes);
    for (const listener of [...entry.listeners]) listener();
  };
  entry.loading = true;
  for (const listener of [...entry.listeners]) listener();
  // A part shows until all is there; what is loaded again stays until then.
  const show = (part) => entry.value === undefined && settle({ value: part, problem: null });
  entry.load(show).then(
    (value) => settle({ value, problem: null, loading: false }),
    (problem) => settle({ problem, loading: false }),
  );
}

/**
 * Return `{ value, problem, loading, reload }` of what `load()` promises. What was loaded is kept
 * while something shows it, also while it is loaded again.
 *
 * @param {string | null} key names what is loaded; null loads nothing
 * @param {(show: (part: any) => void) => Promise<any>} load may show a part of it before it has all
 */
export function useResource(key, load) {
  const [, update] = useState(0);
  let entry = key === null ? null : entries.get(key);
  if (key !== null && !entry) {
    entry = { key, load, value: undefined, problem: null, loading: true, number: 0, listeners: new Set() };
    entries.set(key, entry);
  }
  // With the drawing, not after it has been painted: what is loaded meanwhile would go unnoticed.
  useLayoutEffect(() => {
    if (!entry) return undefined;
    const listener = () => update((count) => count + 1);
    entry.listeners.add(listener);
    if (!entry.number) start(entry);
    return () => {
      entry.listeners.delete(listener);
      setTimeout(() => {
        if (!entry.listeners.size && entries.get(key) === entry) entries.delete(key);
      }, 30_000);
    };
  }, [key]);
  if (!entry) return { value: undefined, problem: null, loading: false, reload: () => {} };
  const { value, problem, loading } = entry;
  return { value, problem, loading, reload: () => start(entry) };
}
