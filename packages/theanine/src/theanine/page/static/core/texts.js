/** The texts of the page in the person's language, and dates and numbers as it writes them. */
import { settings } from "./settings.js";
import { useStore } from "./store.js";
import ar from "../texts/ar.js";
import de from "../texts/de.js";
import en from "../texts/en.js";
import es from "../texts/es.js";
import fr from "../texts/fr.js";

export const LANGUAGES = { en, de, es, fr, ar };
const FROM_THE_RIGHT = ["ar"];
const OTHER_WAY = { ltr: /[\u0590-\u08ff]/, rtl: /\p{Script=Latin}/u };

/** The direction in which a language is written: ltr or rtl. */
export const directionOf = (code) => (FROM_THE_RIGHT.includes(code) ? "rtl" : "ltr");

function chooseLanguage() {
  const wanted = [settings.get().language, ...(navigator.languages ?? [])];
  return wanted.map((each) => String(each ?? "").slice(0, 2)).find((each) => each in LANGUAGES) ?? "en";
}

/** The code of the language that is shown. */
export const language = () => chooseLanguage();

/** Return the code of the language, and render again when it changes. */
export function useLanguage() {
  useStore(settings);
  return language();
}

/**
 * Return a text by its key. `{name}` in it becomes `values.name`; a text with forms, such as
 * `{ one: "{n} memory", other: "{n} memories" }`, is chosen by `values.n`.
 */
export function t(key, values = {}) {
  const code = language();
  let text = LANGUAGES[code][key] ?? en[key];
  if (text === undefined) throw new Error(`there is no text ${key}`);
  if (typeof text === "object") {
    text = text[pluralRules(code).select(Number(values.n))] ?? text.other;
  }
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    if (typeof value === "number") return formatNumber(value);
    const words = String(value ?? "");
    // What is written the other way must not take along the words around it.
    return OTHER_WAY[directionOf(code)].test(words) ? `\u2068${words}\u2069` : words;
  });
}

const cache = new Map();
function cached(kind, code, options, make) {
  const key = `${kind} ${code} ${JSON.stringify(options)}`;
  if (!cache.has(key)) cache.set(key, make());
  return cache.get(key);
}
const pluralRules = (code) => cached("plural", code, {}, () => new Intl.PluralRules(code));

/** Return a number as the language writes it. */
export const formatNumber = (value, options = {}) =>
  cached("number", language(), options, () => new Intl.NumberFormat(language(), options)).format(value);

/** Return US dollars; small amounts with the digits that tell. */
export const formatCost = (value) =>
  formatNumber(value, { style: "currency", currency: "USD", maximumFractionDigits: value < 1 ? 4 : 2 });

const dateFormat = (options) =>
  cached("date", language(), options, () =>
    new Intl.DateTimeFormat(language(), { timeZone: "UTC", ...options }));

/**
 * Return the moment whose UTC date and time are those on the clock where it was said: what the
 * server sends as `2024-03-09T18:30:00+01:00` is shown as half past six everywhere.
 */
export const wallTime = (iso) => Date.parse(`${String(iso).slice(0, 19)}Z`);

/** Return a date such as `9 Mar 2024`, of a wall time in milliseconds. */
export const formatDate = (ms) => dateFormat({ day: "numeric", month: "short", year: "numeric" }).format(ms);

/** Return the date on which a memory ended, if it is known. */
export const formatEnd = ({ time, isUndated }) => (isUndated ? t("date.unknown") : formatDate(time));

/**
 * Return what the own end of a turn or memory says, `{ expires, verify_by }`, or nothing; its days are those of where it
 * was said, `at`.
 */
export function describeOwnEnd(own, at) {
  const describe = (name, before, after) => {
    const end = Date.parse(own?.[name]);
    return Number.isNaN(end) ? [] : t(end > Date.now() ? before : after, { date: formatDate(end + wallTime(at) - Date.parse(at)) });
  };
  return [describe("expires", "own.expires", "own.expired"), describe("verify_by", "own.verify", "own.due")].flat().join(" · ");
}

/** Return a month such as `March 2024`. */
export const formatMonth = (ms) => dateFormat({ month: "long", year: "numeric" }).format(ms);

/** Return a date and time such as `9 Mar 2024, 18:30`. */
export const formatTime = (ms) =>
  dateFormat({ day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" }).format(ms);

/** Return a date by any of the options of `Intl.DateTimeFormat`. */
export const formatDatePart = (ms, options) => dateFormat(options).format(ms);
