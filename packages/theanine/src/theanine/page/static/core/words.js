/** The words of a search, and where a text has them. */

const CROSSED = { đ: "d", ø: "o", ł: "l", ħ: "h", ŧ: "t", ı: "i" };
/** Punctuation that keyboards have in one form only, and characters that nobody sees. */
const typed = (text) => text.replace(/[‘’‚‛ʼʹˈ′´`]/g, "'").replace(/[“”„‟«»″]/g, '"')
  .replace(/[‐‑‒–—―−]/g, "-").replace(/[\u00ad\u200b\u2060\ufeff]/g, "");

/** Return a text in a form in which words are alike that people take for the same; see folding.py. */
export function fold(text) {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase().replace(/`/g, "'");
  // There and back, ß becomes ss, too.
  const lower = typed(text).normalize("NFKD").toLowerCase().replace(/[^ı]+/g, (part) => part.toUpperCase().toLowerCase());
  return typed(lower.normalize("NFKD")).replace(/ς/g, "σ").replace(/[đøłħŧı]/g, (letter) => CROSSED[letter])
    .replace(/([a-z\u00df-\u024f\u0370-\u03ff])[\u0300-\u036f]+/g, "$1").normalize("NFC");
}

/** Return the words of a query, folded. */
export const splitWords = (query) => fold(query).split(/\s+/).filter(Boolean);

/** Return a folded text, with the place in the text itself where each of its characters begins and ends. */
function foldInPlace(text) {
  const [places, parts] = [[], []];
  for (const { 0: letter, index } of text.matchAll(/\P{M}\p{M}*|\p{M}+/gu)) {
    const folded = fold(letter);
    parts.push(folded);
    for (let at = 0; at < folded.length; at++) places.push([index, index + letter.length]);
  }
  return { folded: parts.join(""), places };
}

/**
 * Return a text as pieces, every second of which is one of some words: `["a ", "ship", "s"]`. Words of
 * a question are found in any of their forms, if `isStem`.
 */
export function splitAtWords(text, query, isStem = false) {
  const words = splitWords(query).map((word) => (isStem ? word.replace(/[^\p{L}\p{N}]/gu, "") : word))
    .filter((word) => word.length > (isStem ? 2 : 0)).sort((a, b) => b.length - a.length);
  if (!words.length) return [text];
  const escaped = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const pattern = isStem ? `(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})[\\p{L}\\p{N}]*` : escaped.join("|");
  const { folded, places } = foldInPlace(text);
  const pieces = [""];
  let last = 0;
  for (const { 0: found, index } of folded.matchAll(new RegExp(pattern, "gu"))) {
    const [start, end] = [places[index][0], places[index + found.length - 1][1]];
    if (start < last) continue; // both are parts of one character, such as ß
    pieces[pieces.length - 1] = text.slice(last, start);
    pieces.push(text.slice(start, end), "");
    last = end;
  }
  pieces[pieces.length - 1] = text.slice(last);
  return pieces;
}
