/** Draws what is visible of a layout. Words come first; lines and colors only join them. */
import { formatDate, formatEnd, t } from "../core/texts.js";
import { findMarks } from "./axis.js";
import { stateAt } from "./knowledge.js";
import { HEAD, LINE, MARKS, READABLE } from "./layout.js";

export const AXIS = 34;
const DAY = 86_400_000;
const FAMILY = 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';
const FONTS = {
  title: `650 14px ${FAMILY}`,
  words: `14px ${FAMILY}`,
  small: `12px ${FAMILY}`,
  strong: `650 12px ${FAMILY}`,
};
const NAMES = ["page", "surface", "sunken", "line", "text", "quiet", "accent", "wash", "danger",
  "Changed", "Fulfilled", "Corrected", "Cause", "Reason", "HinderedBy", "React", "Want", "SameTopic"];

/** Return the colors of the style sheet, which a canvas can't refer to. */
export function readColors(element) {
  const probe = element.appendChild(document.createElement("i"));
  const colors = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    colors[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colors;
}

/** Return the relation by which a memory follows from an earlier one of its topic; the strongest of several. */
export function findReason({ older, topic }) {
  const order = ["Changed", "Fulfilled", "Corrected", "Cause", "Reason", "HinderedBy", "React", "Want"];
  const found = older.filter((link) => link.memory.topic === topic).map(({ relation }) => relation).filter((relation) => order.includes(relation));
  return found.sort((a, b) => order.indexOf(a) - order.indexOf(b))[0] ?? null;
}

/** Return what is said before the words of a statement: `[text, color, isStrong]` each. */
function metaOf(memory, { asOf, earlier, mainSpeaker, isTopics }) {
  const state = stateAt(memory, asOf);
  const parts = [];
  const speakers = memory.speakers.join(", ");
  const known = memory.topic.memories.length > 1 ? memory.topic.speaker ?? mainSpeaker : mainSpeaker;
  if (speakers !== known && speakers) parts.push([isTopics ? `${speakers}:` : speakers, "quiet", false]);
  if (earlier !== null && state === "current" && memory.time > earlier) parts.push([t("card.new"), "accent", true]);
  const reason = findReason(memory);
  if (reason) parts.push([t(`relation.${reason}`), reason, true]);
  if (isTopics) return parts;
  if (state === "ended") parts.push([t("card.until", { date: formatEnd(memory.end) }), "Changed", false]);
  else if (memory.end && state === "current") parts.push([t("card.changed_since"), "Changed", false]);
  if (memory.pinned) parts.push([t("state.pinned"), "accent", true]);
  return parts;
}

/**
 * Draw a frame.
 *
 * @param {CanvasRenderingContext2D} context scaled so that 1 is a pixel of the page
 * @param {import("./words.js").Words} words
 * @param {object} view `{ layout, left, top, width, height, yOf }` what is visible of the layout;
 *   `yOf(block)` is where a block is just now, while it moves
 * @param {object} look `{ colors, asOf, earlier, openId, activeId, found, mainSpeaker, isDated,
 *   firstDate }`
 * @returns the visible cards and titles with their places, for the pointer
 */
export function drawFrame(context, words, view, look) {
  const { layout, left, top, width, height } = view;
  const { colors } = look;
  context.fillStyle = colors.page;
  context.fillRect(0, 0, width, height);
  context.textBaseline = "alphabetic";
  const frame = { context, words, view, look, targets: [] };
  const marks = look.isDated ? drawGrid(frame) : [];
  context.save();
  context.beginPath();
  context.rect(0, look.isDated ? AXIS : 0, width, height);
  context.clip();
  context.translate(-left, AXIS - top);
  const visible = layout.blocks.filter((block) => {
    const y = view.yOf(block);
    return block.x < left + width && block.x + block.width > left && y < top + height && y + block.height > top - AXIS;
  });
  for (const block of visible) drawBlock(frame, block, view.yOf(block));
  if (layout.singlesTop) {
    drawTitle(frame, { text: t("topics.single"), x: left + 16, y: layout.singlesTop, room: width });
  }
  drawOpenLinks(frame);
  context.restore();
  if (look.isDated) drawAxis(frame, marks);
  return frame.targets;
}

function drawGrid({ context, view, look }) {
  const { layout, left, width, height } = view;
  const timeAt = (x) => layout.from + ((x - layout.origin) / layout.span) * (layout.to - layout.from || 1);
  const perDay = (layout.span / (layout.to - layout.from || 1)) * DAY;
  const first = Math.max(look.firstDate, timeAt(left - 100));
  const marks = findMarks(first, Math.min(layout.to, timeAt(left + width)), perDay)
    .map((mark) => ({ ...mark, x: Math.round(layout.position(mark.time) - left) + 0.5 }));
  context.strokeStyle = look.colors.line;
  for (const { x, isMain } of marks) {
    context.globalAlpha = isMain ? 0.9 : 0.45;
    context.beginPath();
    context.moveTo(x, AXIS);
    context.lineTo(x, height);
    context.stroke();
  }
  context.globalAlpha = 1;
  context.strokeStyle = look.colors.accent;
  context.lineWidth = 1.5;
  for (const time of findDates(look, layout)) {
    const x = Math.round(layout.position(time) - left) + 0.5;
    context.beginPath();
    context.moveTo(x, 26);
    context.lineTo(x, height);
    context.stroke();
  }
  context.lineWidth = 1;
  return marks;
}

/** The dates that were chosen: what was known on one of them, or what differs between two. */
const findDates = ({ asOf, earlier }, layout) => [earlier, asOf].filter((time) => time !== null && time < layout.to);

function drawAxis({ context, words, view, look }, marks) {
  const { layout, left, width } = view;
  const { colors } = look;
  context.fillStyle = colors.page;
  context.fillRect(0, 0, width, AXIS);
  context.strokeStyle = colors.line;
  context.beginPath();
  context.moveTo(0, AXIS - 0.5);
  context.lineTo(width, AXIS - 0.5);
  context.stroke();
  let end = -Infinity;
  if (look.firstDate > layout.from) {
    const x = layout.position(layout.from) - left;
    text(context, t("axis.undated"), x, 22, FONTS.small, colors.quiet);
    end = x + 12 + words.width(FONTS.small, t("axis.undated"));
  }
  for (const { x, label, isMain } of marks) {
    const font = isMain ? FONTS.strong : FONTS.small;
    if (x + 4 < end) continue;
    text(context, label, x + 4, 22, font, isMain ? colors.text : colors.quiet);
    end = x + 12 + words.width(font, label);
  }
  for (const time of findDates(look, layout)) {
    const x = Math.round(layout.position(time) - left) + 0.5;
    const label = formatDate(time);
    const size = words.width(FONTS.strong, label) + 14;
    const at = Math.max(2, Math.min(width - size - 2, x - size / 2));
    context.fillStyle = colors.accent;
    context.beginPath();
    context.roundRect(at, 5, size, 22, 6);
    context.fill();
    text(context, label, at + 7, 20, FONTS.strong, colors.page);
  }
}

function text(context, value, x, y, font, color) {
  if (context.font !== font) context.font = font;
  context.fillStyle = color;
  context.fillText(value, x, y);
}

function drawTitle({ context, words, look }, { text: title, note = "", x, y, room }) {
  const noteWidth = note ? words.width(FONTS.small, note) + 8 : 0;
  const [line = ""] = words.wrap(FONTS.title, title, Math.max(60, room - noteWidth), 1);
  text(context, line, x, y + 17, FONTS.title, look.colors.text);
  if (note) text(context, note, x + words.width(FONTS.title, line) + 8, y + 17, FONTS.small, look.colors.quiet);
}

function drawBlock(frame, block, y) {
  const { view, look, targets } = frame;
  const isTopics = view.layout.level === "topics";
  if (!block.isSingle) {
    const x = Math.max(block.x, Math.min(view.left + 12, block.x + block.width - 160));
    const { memories, speaker } = block.topic;
    const count = block.hidden && !isTopics ? t("topic.more", { n: block.hidden }) : String(memories.length);
    const note = speaker && speaker !== look.mainSpeaker ? `${speaker} · ${count}` : count;
    drawTitle(frame, { text: titleOf(block.topic), note, x, y, room: block.x + block.width - x });
    targets.push({ topic: block.topic, x: block.x - view.left, y: y - view.top + AXIS, width: block.width, height: HEAD });
    if (isTopics) drawMarks(frame, block, y + HEAD);
    else drawThreads(frame, block, y);
  }
  for (const card of block.cards) {
    if (card.x > view.left + view.width || card.x + card.width < view.left) continue;
    drawStatement(frame, card, y + card.y, !block.isSingle || !isTopics);
  }
}

/** Return the title of a topic, or its newest words where its memories share none. */
export const titleOf = (topic) => topic.title || topic.memories.at(-1).words;

/** A line with a mark for each memory of a topic. */
function drawMarks({ context, view, look }, block, y) {
  const { colors } = look;
  const { position } = view.layout;
  context.fillStyle = colors.line;
  context.fillRect(position(block.topic.from), y + 3, position(block.topic.to) - position(block.topic.from), 1);
  for (const memory of block.topic.memories) {
    const reason = findReason(memory);
    context.globalAlpha = memory.time <= look.asOf ? 1 : 0.3;
    const isChosen = look.found?.has(memory.id) || memory.id === look.openId || memory.id === look.activeId;
    context.fillStyle = isChosen ? colors.accent : reason ? colors[reason] : colors.quiet;
    context.fillRect(position(memory.time) - 1, y - (isChosen ? 2 : 0), isChosen ? 4 : 3, isChosen ? 11 : 7);
    if (memory.end && memory.end.time <= look.asOf) {  // a state, until it ended
      context.fillStyle = colors.Changed;
      context.globalAlpha = 0.55;
      context.fillRect(position(memory.time) + 2, y + 2, Math.max(2, position(memory.end.time) - position(memory.time) - 3), 3);
    }
  }
  context.globalAlpha = 1;
}

/** A thread through each row, and a branch to what follows from a memory in another row. */
function drawThreads({ context, look }, block, y) {
  const { colors } = look;
  const places = new Map(block.cards.map((card) => [card.memory.id, card]));
  const rows = Map.groupBy(block.cards, (card) => card.y);
  context.fillStyle = colors.line;
  for (const [rowY, cards] of rows) {
    context.fillRect(cards[0].x, y + rowY + 3, cards.at(-1).x - cards[0].x, 1);
  }
  for (const card of block.cards) {
    for (const { memory, relation } of card.memory.older) {
      const older = places.get(memory.id);
      if (!older || !relation || relation === "SameTopic") continue;
      context.globalAlpha = card.memory.time <= look.asOf ? 1 : 0.3;
      drawBranch(context, older, card, y, colors[relation]);
    }
  }
  context.globalAlpha = 1;
}

function drawBranch(context, older, newer, y, color) {
  const [from, to] = [y + older.y + 3.5, y + newer.y + 3.5];
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = 1.5;
  const end = newer.x - 5;
  context.beginPath();
  if (older.y !== newer.y) {
    const x = Math.max(older.x + 2, newer.x - 16);
    const turn = Math.sign(to - from) * Math.min(6, Math.abs(to - from));
    context.moveTo(x, from);
    context.lineTo(x, to - turn);
    context.quadraticCurveTo(x, to, Math.min(x + 6, end), to);
    context.lineTo(end, to);
  } else {
    context.moveTo(Math.max(older.x, newer.x - 24), to);
    context.lineTo(end, to);
  }
  context.stroke();
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(newer.x - 1, to);
  context.lineTo(newer.x - 7, to - 4);
  context.lineTo(newer.x - 7, to + 4);
  context.fill();
}

/** A statement: a line for as long as it holds, and its words below. */
function drawStatement({ context, words, view, look, targets }, card, y, hasLine) {
  const { colors } = look;
  const { memory, x, width, height } = card;
  const { level, right } = view.layout;
  const isTopics = level === "topics";
  const state = stateAt(memory, look.asOf);
  const isFound = look.found?.has(memory.id);
  const isOld = look.earlier !== null && state === "current" && memory.time <= look.earlier;
  const start = Math.max(x, Math.min(view.left + 12, x + width - 110));
  const room = Math.min(x + width - start, READABLE) - 8;
  const top = y + (isTopics ? 0 : MARKS);
  const alpha = state === "unknown" ? 0.3 : (look.found && !isFound) || isOld ? 0.5 : 1;
  if (memory.id === look.openId || memory.id === look.activeId || isFound) {
    context.fillStyle = colors.wash;
    context.beginPath();
    context.roundRect(start - 6, y - 3, room + 12, height + 6, 7);
    context.fill();
    if (memory.id === look.openId || memory.id === look.activeId) {
      context.strokeStyle = colors.accent;
      context.stroke();
    }
  }
  context.globalAlpha = alpha;
  const reason = findReason(memory);
  if (!isTopics && hasLine) {
    const isEnded = state === "ended";
    context.fillStyle = isEnded ? colors.Changed : colors.SameTopic;
    context.globalAlpha = alpha * (isEnded ? 0.6 : 0.35);
    context.fillRect(x, y + 2, Math.min(width, right - x) - (card.isClosed ? 4 : 0), 3);
    context.globalAlpha = alpha;
    if (isEnded && card.isClosed) context.fillRect(x + width - 4, y - 1, 3, 9);
    context.fillStyle = reason ? colors[reason] : colors.quiet;
    context.fillRect(x - 1, y, 3, 7);
  }
  const parts = metaOf(memory, { ...look, isTopics });
  const most = Math.round((height - (isTopics ? 0 : MARKS)) / LINE);
  let indent = 0;
  for (const [part, color, isStrong] of parts) {
    const font = isStrong ? FONTS.strong : FONTS.small;
    const [line = ""] = words.wrap(font, part, room - indent, 1);
    text(context, line, start + indent, top + 14, font, colors[color]);
    indent += words.width(font, line) + 7;
  }
  const lines = words.wrap(FONTS.words, memory.words, room, most, indent);
  lines.forEach((line, i) => {
    text(context, line, start + (i ? 0 : indent), top + 14 + i * LINE, FONTS.words, state === "ended" ? colors.quiet : colors.text);
  });
  context.globalAlpha = 1;
  targets.push({ memory, x: start - view.left, y: y - view.top + AXIS, width: room, height });
}

/** Lines from the open memory to those that it is linked with in other topics. */
function drawOpenLinks({ context, view, look, targets }) {
  const open = targets.find((target) => target.memory?.id === look.openId);
  if (!open) return;
  const { memory } = open;
  const toWorld = (target) => ({ x: target.x + view.left, y: target.y + view.top - AXIS });
  for (const { memory: other, relation } of [...memory.older, ...memory.newer]) {
    const target = targets.find((each) => each.memory === other);
    if (!target || other.topic === memory.topic) continue;
    const [a, b] = [toWorld(open), toWorld(target)];
    context.strokeStyle = look.colors[relation] ?? look.colors.SameTopic;
    context.globalAlpha = 0.7;
    context.beginPath();
    context.moveTo(a.x + 12, a.y + (b.y > a.y ? open.height : 0));
    context.bezierCurveTo(a.x + 12, (a.y + b.y) / 2, b.x + 12, (a.y + b.y) / 2, b.x + 12, b.y + (b.y > a.y ? 0 : target.height));
    context.stroke();
    context.globalAlpha = 1;
  }
}

