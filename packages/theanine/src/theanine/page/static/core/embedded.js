/** The data inside a page that was written to one file, with the functions of the service. */
import { REPLACED } from "./graph.js";
import { matchWords } from "./results.js";

const MOST = 50;

/** Return a source of the data of a file; see `build_timeline_file` in one_file.py. */
export function readFile(data) {
  const details = new Map(data.memories.map((memory) => [memory.id, memory]));
  const turns = new Map(data.turns.map((turn) => [turn.id, turn]));
  const sourceTurns = (id) => details.get(id).source_turns;
  return {
    isFile: true,
    whoami: async () => ({ key: "", rights: [] }),
    users: async () => [{ user: data.user, agent: "default" }],
    graph: async () => data.graph,
    memory: async (who, id) => ({
      memory: details.get(id),
      links: data.links.filter(({ older, newer }) => older === id || newer === id),
    }),
    versions: async (who, id) => {
      const changes = data.links.filter(({ relation }) => REPLACED.has(relation)).map(({ older, newer }) => [older, newer]);
      const ends = data.graph.ends.filter(({ memory, by }) => by !== null && details.get(memory).kind !== "state").map(({ memory, by }) => [memory, by]);
      const versions = new Set([id]);
      for (let size = 0; size !== versions.size; ) {
        size = versions.size;
        for (const pair of [...changes, ...ends]) {
          if (pair.some((each) => versions.has(each))) pair.forEach((each) => versions.add(each));
        }
      }
      return [...versions].map((each) => details.get(each)).filter(Boolean)
        .sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || a.id - b.id);
    },
    costs: async () => [],
    turns: async (who, ids) => ids.map((id) => turns.get(id)).filter(Boolean),
    sessionTurns: async (who, session) => data.turns.filter((turn) => turn.session === session),
    recall: async (who, question) => {
      const match = matchWords(question);
      const found = data.graph.memories
        .map((memory) => ({ memory, score: match(memory.words) }))
        .filter(({ score }) => score)
        .sort((a, b) => b.score - a.score || Date.parse(b.memory.at) - Date.parse(a.memory.at));
      const parts = found.slice(0, MOST).map(({ memory, score }) => ({
        score, relevance: null, memories: [{ id: memory.id, source_turns: sourceTurns(memory.id) }], source_turns: [],
      }));
      return { recollection: { query: question, min_relevance: 0, parts } };
    },
  };
}
