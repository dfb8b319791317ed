/** What changes while the page is open is shown at once: by one stream of events, of whom it is about. */
import { reload } from "./resource.js";
import { source } from "./source.js";
import { createStore } from "./store.js";

/** What is loaded anew when something of a kind is new; the keys of `useResource` begin so. */
const SHOWN = {
  turns: ["months", "conversations", "conversation", "profile", "work"],
  memories: ["graph", "conversation", "conversations", "profile", "memory", "versions", "work"],
  marks: ["graph", "profile", "memory", "versions"],
  forgotten: ["graph", "months", "conversations", "conversation", "profile", "memory", "versions", "work", "turns"],
  other: ["conversations", "work"],
};
/** Seconds after which a stream that broke off is asked for again. */
const AGAIN = [1, 2, 5, 15, 30];

/** Counts the changes in which something was said: what goes on at its end looks for it. */
export const saidSince = createStore(0);

function show(who, change) {
  const kinds = Object.keys(SHOWN).filter((kind) => change[kind]);
  for (const name of new Set((kinds.length ? kinds : ["other"]).flatMap((kind) => SHOWN[kind]))) {
    reload(`${name}:${who.user}:${who.agent}`);
  }
  if (change.turns) saidSince.set(saidSince.get() + 1);
}

/** Follow the changes of a user; return how to stop. */
export function follow(who) {
  const stop = new AbortController();
  const { signal } = stop;
  const run = async () => {
    let lastId = null;
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        for await (const { id, event, data } of source.get().events(who, lastId, signal)) {
          lastId = id;
          tries = 0;
          if (event === "change") show(who, data);
        }
      } catch (error) {
        if (error.status >= 400 && error.status < 500 && error.status !== 429) return; // no longer allowed
      }
      await new Promise((done) => setTimeout(done, 1000 * AGAIN[Math.min(tries, AGAIN.length - 1)]));
    }
  };
  run();
  return () => stop.abort();
}
