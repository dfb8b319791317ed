/** The memories of a user as views use them: by id, with their links, ends and topics. */
import { wallTime } from "./texts.js";

/**
 * Return the graph that the service sends as
 * `{ memories, topics, sessions, from, to, isDated, mainSpeaker, methods }`:
 *
 * - `memories`: a Map of ids; each has `time` (wall time in ms), `older` and `newer` (links, as
 *   `{ memory, relation }`), `end` (`{ time, kind, by }`, or null while it is in effect) and `topic`
 * - `topics`: `{ title, memories, from, to, speaker }`, the one with the newest memory first; `speaker`
 *   is whom most of it is about, or null
 * - `sessions`: how many sessions they are from; `mainSpeaker`: whom
 *   most of them are about, whose name goes without saying; null where there is nobody such; `methods`: those that have remembered something
 */
export function readGraph(raw) {
  const memories = new Map();
  for (const memory of raw.memories) {
    memories.set(memory.id, { ...memory, time: wallTime(memory.at), older: [], newer: [], end: null, topic: null });
  }
  for (const { memory, kind, by, at } of raw.ends) endAt(memories.get(memory), { time: wallTime(at), kind, by });
  for (const { older, newer, relation } of raw.links) {
    const [before, after] = [memories.get(older), memories.get(newer)];
    before.newer.push({ memory: after, relation });
    after.older.push({ memory: before, relation });
    if (relation === "Changed") endAt(before, { time: after.time, kind: "changed", by: newer });
  }
  const topics = raw.topics.map(({ title, memories: ids }) => {
    const own = ids.map((id) => memories.get(id));
    const topic = { title, memories: own, from: own[0].time, to: own.at(-1).time, speaker: findMainSpeaker(own) };
    for (const memory of own) memory.topic = topic;
    return topic;
  });
  const times = raw.memories.length ? [...memories.values()].map((memory) => memory.time) : [];
  return {
    memories,
    topics,
    sessions: new Set(raw.memories.map((memory) => memory.session)).size,
    from: times.reduce((a, b) => Math.min(a, b), Infinity),
    to: times.reduce((a, b) => Math.max(a, b), -Infinity),
    isDated: raw.memories.some((memory) => memory.dated),
    mainSpeaker: findMainSpeaker(raw.memories),
    methods: Object.keys(raw.methods),
  };
}

/** A memory ends when the first of its ends comes. */
function endAt(memory, end) {
  if (!memory.end || end.time < memory.end.time) memory.end = { ...end, time: Math.max(end.time, memory.time) };
}

const MOST = 0.6;

function findMainSpeaker(memories) {
  const counts = new Map();
  for (const { speakers } of memories) {
    const name = speakers.join(", ");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].find(([, count]) => count >= MOST * memories.length)?.[0] ?? null;
}
