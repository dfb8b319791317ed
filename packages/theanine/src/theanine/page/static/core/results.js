/** Results of a recall as a list to step through: what each part has of the words asked for. */

const LETTERS = /[\p{L}\p{N}]{3,}|[\u3040-\u30ff\u3400-\u9fff]/gu;
const LEAST = 4;
const LONGER = 2;
const MOST_UNMATCHED = 3;

const split = (text) => text.toLowerCase().match(LETTERS) ?? [];

/** Return a function that counts the words of a question that a text has, in any of their forms. */
export function matchWords(question) {
  const wanted = [...new Set(split(question))].map((word) => ({ stem: word.slice(0, Math.max(LEAST, word.length - 3)), length: word.length }));
  return (text) => {
    const words = split(text);
    return wanted.filter(({ stem, length }) => words.some((word) => word.startsWith(stem) && word.length <= length + LONGER)).length;
  };
}

/**
 * Return the parts of a recollection, the most relevant first: `{ relevance, memories, turns }`.
 *
 * A part can be a long passage: its memories that share words with the question come first, and
 * alone where there are any; its turns are those that share words and no memory stands for.
 *
 * @param {object} recollection as the service sends it
 * @param {Map<number, object>} memories those of the graph
 * @param {((memory: object) => boolean) | null} test a filter of memories
 */
export function readResults(recollection, memories, test) {
  const match = matchWords(recollection.query);
  const seen = new Set();
  const relevant = recollection.parts.filter(({ relevance }) => relevance === null || relevance >= recollection.min_relevance);
  const parts = relevant.sort((a, b) => (b.relevance ?? b.score) - (a.relevance ?? a.score));
  return parts
    .map((part) => {
      const own = part.memories.map((memory) => memories.get(memory.id)).filter((memory) => memory && !seen.has(memory.id));
      const ranked = own.map((memory) => ({ memory, count: match(memory.words) }));
      const matched = ranked.filter(({ count }) => count).sort((a, b) => b.count - a.count || a.memory.time - b.memory.time);
      const listed = (matched.length ? matched : ranked.slice(0, MOST_UNMATCHED)).map(({ memory }) => memory);
      for (const memory of listed) seen.add(memory.id);
      const covered = new Set(part.memories.flatMap((memory) => memory.source_turns));
      const turns = test ? [] : part.source_turns.filter((turn) =>
        !covered.has(turn.id) && (part.memories.length === 0 || match(turn.text)));
      return { relevance: part.relevance, memories: test ? listed.filter(test) : listed, turns };
    })
    .filter((part) => part.memories.length || part.turns.length);
}
