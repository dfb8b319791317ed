/** The memories of a user as views use them: by id, with their links, ends and topics. */
import { wallTime } from "./texts.js";

/** The relations after which the newer memory holds instead of the older one. */
export const REPLACED = new Set(["Changed", "Fulfilled", "Corrected"]);

const DAY = 86_400_000;
/** Room before the first date for what has none, as a part of the time that is shown. */
const UNDATED_ROOM = 0.2;

/**
 * Return the graph that the service sends as
 * `{ memories, counted, topics, sessions, from, firstDate, to, isDated, mainSpeaker, methods }`:
 *
 * - `memories`: a Map of ids; each has `time` (wall time in ms), `older` and `newer` (links, as
 *   `{ memory, relation }`), `end` (`{ time, kind, by, isUndated }`, or null while it is in effect), `ownEnd` (`{ expires,
 *   verify_by }`, or null) and `topic`
 * - `counted`: all of them but states, which only repeat what others tell
 * - `topics`: `{ title, memories, repeats, from, to, speaker }`, the one with the most to tell first; `repeats`
 *   only say again what some of its memories say; `speaker` is whom most of it is about, or null
 * - `from`, `to`: what a time line spans; before `firstDate` is what has no date, in its order
 * - `sessions`: how many sessions they are from; `mainSpeaker`: whom
 *   most of them are about, whose name goes without saying; null where there is nobody such; `methods`: those that have remembered something
 * - `isPart`: whether more of it is on its way
 */
export function readGraph(raw, isPart = false) {
  const memories = new Map();
  for (const memory of raw.memories) {
    memories.set(memory.id, { ...memory, time: wallTime(memory.at), older: [], newer: [], end: null, ownEnd: null, topic: null });
  }
  const times = placeUndated([...memories.values()]);
  for (const { memory, ...own } of raw.own_ends) memories.get(memory).ownEnd = own;
  for (const { memory, kind, by, at } of raw.ends) endAt(memories.get(memory), { time: wallTime(at), kind, by });
  for (const { older, newer, relation } of raw.links) {
    const [before, after] = [memories.get(older), memories.get(newer)];
    before.newer.push({ memory: after, relation });
    after.older.push({ memory: before, relation });
    if (REPLACED.has(relation)) endAt(before, { time: after.time, kind: "changed", by: newer, isUndated: !after.dated });
  }
  const topics = raw.topics.map(({ title, memories: ids, repeats }) => {
    const own = ids.map((id) => memories.get(id));
    const again = repeats.map((id) => memories.get(id));
    const topic = { title, memories: own, repeats: again, from: own[0].time, to: own.at(-1).time, speaker: findMainSpeaker(own) };
    for (const memory of [...own, ...again]) memory.topic = topic;
    return topic;
  });
  return {
    memories,
    counted: [...memories.values()].filter(({ kind }) => kind !== "state"),
    topics,
    sessions: new Set(raw.memories.map((memory) => memory.session)).size,
    ...times,
    isDated: raw.memories.some((memory) => memory.dated),
    mainSpeaker: findMainSpeaker(raw.memories),
    methods: Object.keys(raw.methods),
    isPart,
  };
}

/** Return the whole of a graph that came in parts. */
export const joinGraph = (parts) => Object.fromEntries(Object.entries(parts[0]).map(([name, value]) =>
  [name, Array.isArray(value) ? parts.flatMap((part) => part[name]) : value]));

/** Give memories without a date a place before the first date; return the times that are spanned. */
function placeUndated(memories) {
  const dated = memories.filter((memory) => memory.dated);
  const undated = memories.filter((memory) => !memory.dated).sort((a, b) => a.time - b.time || a.id - b.id);
  const known = (dated.length ? dated : memories).map((memory) => memory.time);
  const firstDate = known.reduce((a, b) => Math.min(a, b), Infinity);
  const to = known.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!dated.length || !undated.length) return { from: firstDate, firstDate, to };
  const room = Math.max(DAY, (to - firstDate) * UNDATED_ROOM);
  undated.forEach((memory, at) => { memory.time = firstDate - room * (1 - at / (2 * undated.length)); });
  return { from: firstDate - room, firstDate, to };
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
