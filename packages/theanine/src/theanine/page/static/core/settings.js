/** What a person has set for this browser: the language, and light or dark. */
import { createStore } from "./store.js";

const KEY = "theanine";

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") ?? {};
  } catch {
    return {}; // storage may be forbidden, and anything may be in it
  }
}

export const settings = createStore(read());

/** Change some settings; null goes back to the browser's own. */
export function changeSettings(changes) {
  settings.set({ ...settings.get(), ...changes });
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.get()));
  } catch {
    // they hold until the page is closed
  }
}
