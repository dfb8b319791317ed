/** The words of a search, and where a text has them. */

/** Return the words of a query, in lower case. */
export const splitWords = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);

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
  return text.split(new RegExp(`(${pattern})`, "giu"));
}
