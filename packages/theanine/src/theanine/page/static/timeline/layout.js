/**
 * Where topics and memories are drawn: time runs to the right, topics are packed from the top, the
 * one with the most to tell first. Nothing here measures text or draws.
 *
 * Zooming changes the scale of time and how much is told, never the size of the words.
 */
import { REPLACED } from "../core/graph.js";

/**
 * How much is told: a topic in one row of words, statements in some rows, or statements at length.
 * `width` is the least of a statement, `lines` and `rows` the most.
 */
export const LEVELS = {
  topics: { width: 210, lines: 2, rows: 1 },
  statements: { width: 200, lines: 3, rows: 4 },
  near: { width: 260, lines: 5, rows: 8 },
};
/** Memories that would lie over each other at a place, up to which a level is readable. */
const MOST_AT_ONCE = { near: 4, statements: 10 };

export const LINE = 19;
export const HEAD = 26;
export const GAP = 14;
/** Height of the line of marks, one for each memory of a topic. */
export const MARKS = 10;
/** Pixels of a line that the eye follows. */
export const READABLE = 430;
/** About the width of a letter, and of what stands before the words. */
const LETTER = 7.4;
const BEFORE = 110;
const WIDE = /[\u3040-\u30ff\u3400-\u9fff]/;
const TOPIC_GAP = 20;
const TOP = 10;
export const MARGIN = 16;

/** Return the level at which `count` memories are told on `width` pixels of time. */
export function chooseLevel(count, width) {
  const atOnce = (count * LEVELS.statements.width) / Math.max(1, width);
  return atOnce <= MOST_AT_ONCE.near ? "near" : atOnce <= MOST_AT_ONCE.statements ? "statements" : "topics";
}

/** Return the width of a statement on a screen: on a phone two beside each other, or a topic's one. */
export function statementWidth(level, screen) {
  const most = level === "topics" && screen < 600 ? screen : (screen - 3 * MARGIN) / 2;
  return Math.min(level === "topics" && screen < 600 ? screen - 2 * MARGIN : LEVELS[level].width, Math.max(150, most));
}

/** Return how many pixels of time fill a screen, and how many more the last words need. */
export function fit(count, screen) {
  const level = chooseLevel(count, screen - 2 * MARGIN - LEVELS.statements.width);
  const pad = level === "topics" ? 0 : statementWidth(level, screen);
  return { width: Math.max(1, screen - 2 * MARGIN - pad), pad };
}

/**
 * Return the layout of topics: of those of which something was said in a window of time, so that a
 * part of a long time is as full as the whole.
 *
 * @param {object} options
 * @param {Array<{title: string, memories: Array}>} options.topics the most important first
 * @param {number} options.from the first time, in ms
 * @param {number} options.to the last one
 * @param {number} options.width pixels from the first time to the last one
 * @param {number} options.pad further pixels to the right
 * @param {number} options.screen width of the screen in pixels
 * @param {{from: number, to: number, beside: number} | null} options.window times, of which so many
 *   on either side are beside the screen; null for all
 * @param {Set<number> | null} options.found memories that come first where not all have room
 * @returns `{ level, width, height, blocks, singlesTop, position, … }`; a block is `{ topic, x, y,
 *   width, height, cards, hidden, isBeside }`, a card `{ memory, x, y, width, height, isClosed }` whose y counts
 *   from its block's and which is closed where its state ends at its right edge; `singlesTop` is where
 *   memories begin that share no topic, null where there are none; `position(time)` is an x
 */
export function layOut({ topics, from, to, width, pad, screen, window, found }) {
  const shown = inWindow(topics, window ?? { from: -Infinity, to: Infinity }, found);
  const count = shown.reduce((sum, { said }) => sum + said, 0);
  const position = (time) => MARGIN + ((time - from) / Math.max(1, to - from)) * width;
  const [first, last] = window ? [position(window.from), position(window.to)] : [0, 2 * MARGIN + width + pad];
  const level = chooseLevel(count, window ? last - first : width);
  const isTopics = level === "topics";
  const { lines, rows } = LEVELS[level];
  const cardWidth = statementWidth(level, screen);
  const total = 2 * MARGIN + width + pad;
  const right = total - MARGIN;
  const placeAt = (time) => Math.max(MARGIN, Math.min(position(time), right - cardWidth));
  const measures = { position, placeAt, cardWidth, lines, rows, right, isTopics, found, first, last };
  const packed = new Rows();
  const several = shown.filter(({ topic }) => topic.memories.length > 1);
  const single = shown.filter(({ topic }) => topic.memories.length === 1);
  const blocks = several.map(({ topic, isBeside }) =>
    packed.place({ ...clip(layOutTopic(topic, measures), measures), isBeside }, TOPIC_GAP));
  let singlesTop = null;
  if (single.length) {
    if (several.length) {
      singlesTop = packed.begin();
      packed.top += 2; // for its title
    }
    for (const { topic, isBeside } of single) {
      const [memory] = topic.memories;
      const x = placeAt(memory.time);
      const height = heightOf([{ memory, width: cardWidth }], measures);
      const card = { memory, x, y: 0, width: cardWidth, height, isOpen: true };
      blocks.push(packed.place({ topic, x, width: cardWidth, height, cards: [card], hidden: 0, isSingle: true, isBeside }, GAP));
    }
  }
  for (const block of blocks) {
    // The last words of a row have the room up to what comes next.
    const room = Math.min(packed.roomAfter(block), right);
    for (const card of block.cards) if (card.isOpen) card.width = Math.max(card.width, room - card.x);
    block.width = Math.max(block.width, ...block.cards.map((card) => card.x + card.width - block.x));
  }
  return {
    level, blocks, singlesTop, position, cardWidth, right, from, to, span: width, origin: MARGIN,
    width: total, height: packed.begin() + MARGIN, window,
  };
}

/**
 * Return the topics of which something was said in a window, in their order; before them those
 * in which something was found, after them those of which something was said only beside the screen.
 */
function inWindow(topics, { from, to, beside = 0 }, found) {
  const shown = [];
  for (const topic of topics) {
    if (topic.to < from || topic.from > to) continue;
    let said = 0;
    let isBeside = true;
    for (const { time } of topic.memories) {
      if (time < from || time > to) continue;
      said += 1;
      if (time >= from + beside && time <= to - beside) isBeside = false;
    }
    const isFound = Boolean(found && topic.memories.some((memory) => found.has(memory.id)));
    if (said) shown.push({ topic, said, isBeside, isFound });
  }
  return shown.sort((a, b) => a.isBeside - b.isBeside || b.isFound - a.isFound);
}

const isRelation = (relation) => relation && relation !== "SameTopic";

/** How much a statement matters where not all have room: changes and what is related first. */
const weigh = (memory) => (memory.older.concat(memory.newer).some(({ relation }) => isRelation(relation)) ? 1 : 0);

/** Return a block that takes no room outside of the window. */
function clip(block, { first, last }) {
  const x = Math.max(block.x, first);
  return { ...block, x, width: Math.max(1, Math.min(block.x + block.width, last) - x) };
}

/** The height of a row: about as many lines as its words need. */
function heightOf(cards, { lines, isTopics }) {
  if (isTopics) return lines * LINE;
  let needed = 1;
  for (const { memory, width } of cards) {
    const length = memory.words.length * LETTER * (WIDE.test(memory.words) ? 2 : 1) + BEFORE;
    needed = Math.max(needed, Math.ceil(length / (Math.min(width, READABLE) - 16)));
  }
  return Math.min(lines, needed) * LINE + MARKS;
}

/**
 * A topic as statements in rows. What has changed stands in the row of what it changed to, with
 * nothing in between; a state lasts until the next one in its row, or until now.
 */
function layOutTopic(topic, measures) {
  const { position, placeAt, cardWidth, rows, right, isTopics, found, first, last } = measures;
  const placed = Array.from({ length: rows }, () => []);
  const changes = Array.from({ length: rows }, () => []);
  const rowOf = new Map();
  const isFree = (row, x, changed) =>
    placed[row].every((card) => Math.abs(card.x - x) >= cardWidth + GAP) &&
    changes[row].every(([a, b]) => x <= a || x >= b) &&
    changed.every((other) => rowOf.get(other.id) !== row || isClear(row, x, placeAt(other.time)));
  const isClear = (row, a, b) => placed[row].every((card) => card.x <= Math.min(a, b) || card.x >= Math.max(a, b));
  const isSeen = (x) => x >= first - cardWidth && x <= last;
  const newest = topic.memories.length - 1;
  const order = topic.memories.map((memory, index) => {
    const x = placeAt(memory.time);
    const rank = (isSeen(x) ? 8 : 0) + (found?.has(memory.id) ? 4 : 0) + (index === newest ? 2 : weigh(memory));
    return { memory, index, x, rank };
  });
  order.sort((a, b) => b.rank - a.rank || b.index - a.index);
  for (const { memory, x } of order) {
    const related = [...memory.newer, ...memory.older].filter(({ relation }) => isRelation(relation));
    const near = related.map((link) => rowOf.get(link.memory.id)).filter((row) => row !== undefined);
    const changed = related.filter(({ relation }) => REPLACED.has(relation)).map((link) => link.memory);
    const row = [...near, ...placed.keys()].find((each) => isFree(each, x, changed));
    if (row === undefined) continue;
    rowOf.set(memory.id, row);
    placed[row].push({ memory, x });
    for (const other of changed) {
      if (rowOf.get(other.id) !== row) continue;
      const otherX = placeAt(other.time);
      changes[row].push([Math.min(x, otherX), Math.max(x, otherX)]);
    }
  }
  let y = HEAD + (isTopics ? MARKS : 0);
  const cards = placed.flatMap((row) => {
    row.sort((a, b) => a.x - b.x);
    const made = row.map(({ memory, x }, i) => {
      const isLast = i + 1 === row.length;
      const next = isLast ? right : row[i + 1].x - GAP;
      const ends = memory.end && !isTopics ? position(memory.end.time) - GAP : Infinity;
      const width = isLast && ends === Infinity ? cardWidth : Math.max(cardWidth, Math.min(next, ends) - x);
      return { memory, x, y, width, isClosed: ends <= next + 1, isOpen: isLast && ends === Infinity };
    });
    const seen = made.filter((card) => isSeen(card.x));
    if (!seen.length) return [];
    const height = heightOf(seen, measures);
    y += height + GAP;
    return made.map((card) => ({ ...card, height }));
  });
  const x = Math.min(...cards.map((card) => card.x), placeAt(topic.from));
  const end = Math.max(...cards.map((card) => card.x + card.width), position(topic.to));
  const hidden = order.filter((each) => isSeen(each.x)).length - cards.filter((card) => isSeen(card.x)).length;
  return { topic, x, width: end - x, cards, hidden, height: y - GAP };
}

/** Rows of a line's height with what is taken in each; a block goes as far up as there is room. */
class Rows {
  constructor() {
    this.taken = [];
    this.top = 0;
  }

  /** Put a block where it fits; return it with its y. */
  place(block, gap) {
    const [from, to] = [block.x - GAP / 2, block.x + block.width + GAP / 2];
    const count = Math.ceil((block.height + gap) / LINE);
    let first = this.top;
    for (let row = first; row < first + count; row++) {
      const isTaken = this.taken[row]?.some((each) => from < each.to && each.from < to);
      if (isTaken) first = row + 1;
    }
    for (let row = first; row < first + count; row++) (this.taken[row] ??= []).push({ from, to });
    return { ...block, y: TOP + first * LINE, rows: [first, first + count], taken: to };
  }

  /** Return where the next block to the right of one begins. */
  roomAfter({ rows: [first, end], taken }) {
    let room = Infinity;
    for (let row = first; row < end; row++) {
      for (const { from } of this.taken[row]) if (from >= taken && from < room) room = from;
    }
    return room;
  }

  /** Begin anew below all that was put, and return where that is. */
  begin() {
    this.top = this.taken.length;
    return TOP + this.top * LINE;
  }
}
