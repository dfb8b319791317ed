/** What was known on a date, and what differs between two. */

/** Return whether a memory was known at a time, and still in effect: `unknown`, `current`, `ended`. */
export function stateAt(memory, time) {
  if (memory.time > time) return "unknown";
  return memory.end && memory.end.time <= time ? "ended" : "current";
}

/**
 * Return what differs between two times, states aside, oldest first: `added` are memories that are
 * known only then and in effect, `changed` are `{ memory, now }` whose newer one replaced them,
 * `gone` are those that ended without one.
 */
export function compare(graph, earlier, later) {
  const added = [];
  const changed = [];
  const gone = [];
  for (const memory of graph.counted) {
    const [before, after] = [stateAt(memory, earlier), stateAt(memory, later)];
    if (before === "unknown" && after === "current") added.push(memory);
    if (before === "current" && after === "ended") {
      const now = memory.end.by === null ? null : graph.memories.get(memory.end.by);
      (now ? changed : gone).push(now ? { memory, now } : memory);
    }
  }
  const replacing = new Set(changed.map(({ now }) => now));
  const byTime = (a, b) => a.time - b.time || a.id - b.id;
  return {
    added: added.filter((memory) => !replacing.has(memory)).sort(byTime),
    changed: changed.sort((a, b) => byTime(a.now, b.now)),
    gone: gone.sort(byTime),
  };
}

/** Return how many memories were in effect at a time, states aside. */
export function countKnown(graph, time) {
  return graph.counted.filter((memory) => stateAt(memory, time) === "current").length;
}

/** Return the times of sessions with a date, oldest first: where a scrubber may stop. */
export function findStops(graph) {
  const last = new Map();
  for (const { session, time, dated } of graph.memories.values()) {
    if (!dated) continue;
    last.set(session, Math.max(time, last.get(session) ?? -Infinity));
  }
  return [...new Set(last.values())].sort((a, b) => a - b);
}
