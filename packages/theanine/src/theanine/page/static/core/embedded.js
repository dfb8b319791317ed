/** The data inside a page that was written to one file, with the functions of the service. */
import { REPLACED } from "./graph.js";
import { fold, splitWords } from "./words.js";

const BEGINNING = 200;

/** Return the conversations that turns are of, the newest first. */
function readConversations(turns) {
  const sessions = new Map();
  for (const turn of turns) sessions.set(turn.session, [...(sessions.get(turn.session) ?? []), turn]);
  return [...sessions].map(([session, own]) => ({
    session, title: "", remembered: true, turn_count: own.length, dated: own[0].dated, started_at: own[0].at,
    month: own[0].dated ? own[0].at.slice(0, 7) : "",
    begins: (own.find(({ role }) => role === "user") ?? own[0]).text.slice(0, BEGINNING),
    speakers: [...new Set(own.map(({ speaker }) => speaker))].sort(),
  })).sort((a, b) => b.month.localeCompare(a.month) || Date.parse(b.started_at) - Date.parse(a.started_at));
}

/** Return a source of the data of a file; see `build_timeline_file` in one_file.py. */
export function readFile(data) {
  const details = new Map(data.memories.map((memory) => [memory.id, memory]));
  const turns = new Map(data.turns.map((turn) => [turn.id, turn]));
  const conversations = readConversations(data.turns);
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
    months: async () => {
      const counts = new Map();
      for (const { month } of conversations) counts.set(month, (counts.get(month) ?? 0) + 1);
      return [...counts].map(([month, n]) => ({ month, conversations: n }));
    },
    conversations: async (who, { month, limit }) =>
      ({ items: conversations.filter((each) => month === undefined || each.month <= month).slice(0, limit), next: null }),
    conversation: async (who, session) => ({
      conversation: conversations.find((each) => each.session === session),
      places: data.graph.memories.filter((memory) => memory.session === session && memory.kind !== "state")
        .map(({ id, words }) => ({ memory: id, words, turns: details.get(id).source_turns })),
    }),
    sessionTurns: async (who, session, { after = 0, newest_first, limit }) => {
      const own = data.turns.filter((turn) => turn.session === session);
      return newest_first ? own.filter(({ id }) => id < after).reverse().slice(0, limit) : own.filter(({ id }) => id > after).slice(0, limit);
    },
    search: async (who, { query, speaker, session, since, until, oldest_first, limit }) => {
      const words = splitWords(query);
      const found = data.turns.filter((turn) => {
        const text = fold(`${turn.speaker} ${turn.text} ${turn.attachment}`);
        const day = turn.at.slice(0, 10);
        return words.every((word) => text.includes(word)) && (!speaker || turn.speaker === speaker)
          && (!session || turn.session === session) && (!since || day >= since) && (!until || day <= until);
      }).sort((a, b) => (Date.parse(a.at) - Date.parse(b.at) || a.id - b.id) * (oldest_first ? 1 : -1));
      return { hits: found.slice(0, limit).map((turn) => ({ turn, memories: [], text: turn.text, relevance: null })), found: found.length };
    },
  };
}
