"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const RELATIONS = ["Changed", "Cause", "Reason", "HinderedBy", "React", "Want", "SameTopic"];
const SCALES = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2];
const element = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text; // never innerHTML: stored text is data
  if (className) node.className = className;
  return node;
};
const makeSvg = (tag, attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const place = (node, left, top, width, height) => {
  Object.assign(node.style, { left: `${left}px`, top: `${top}px` });
  if (width !== undefined) Object.assign(node.style, { width: `${width}px`, height: `${height}px` });
  return node;
};
const color = (node, relation) => {
  node.style.setProperty("--relation", `var(--${RELATIONS.includes(relation) ? relation : "other"})`);
  return node;
};
const pluralize = (count, singular, plural = `${singular}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? singular : plural}`;
const countMemories = (count) => pluralize(count, "memory", "memories");

const memories = new Map(data.memories.map((memory) => [memory.id, memory]));
const cards = new Map(), linesOf = new Map(data.memories.map((memory) => [memory.id, []]));
const nodesOf = new Map(); // by relation: what its checkbox hides
const view = element("view"), axis = element("axis"), graph = element("graph"), panel = element("panel");
let scale = 1, selected = null;

/** Return the path data of a line with rounded corners. */
function roundedPath(points) {
  let d = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, corner, after] = [points[i - 1], points[i], points[i + 1]];
    const distance = ([a, b], [c, e]) => Math.abs(a - c) + Math.abs(b - e);
    const radius = Math.min(6, distance(before, corner) / 2, distance(corner, after) / 2);
    const towards = ([x, y]) =>
      [corner[0] + Math.sign(x - corner[0]) * radius, corner[1] + Math.sign(y - corner[1]) * radius];
    d += `L${towards(before)}Q${corner} ${towards(after)}`;
  }
  const [x, y] = points.at(-1);
  return `${d}L${[x - 6, y]}`;
}

function register(relation, node) {
  if (!nodesOf.has(relation)) nodesOf.set(relation, []);
  nodesOf.get(relation).push(node);
  return color(node, relation);
}

function drawGraph() {
  for (const [left, top, width, height, count] of data.lanes) {
    const lane = place(make("div", undefined, "lane"), left, top, width, height);
    lane.append(make("span", countMemories(count)));
    graph.append(lane);
  }
  graph.append(...data.gaps.map(([, left, width]) => {
    const gap = place(make("div", undefined, "time-gap"), left, 0);
    gap.style.width = `${width}px`;
    return gap;
  }));
  if (data.unlinkedTop !== null) {
    const title = make("div", "Not linked with others", "unlinked");
    title.style.top = `${data.unlinkedTop}px`;
    graph.append(title);
  }
  const svg = makeSvg("svg", { width: data.width, height: data.height, "aria-hidden": true });
  for (const link of data.links) {
    const line = register(link.relation, makeSvg("path", { class: "link", d: roundedPath(link.points) }));
    const title = makeSvg("title", {});
    title.textContent = `${link.relation}: ${memories.get(link.newer).text}`;
    line.append(title);
    linesOf.get(link.older).push(line);
    linesOf.get(link.newer).push(line);
    svg.append(line);
  }
  graph.append(svg);
  for (const [, relation, x, y] of data.labels) {
    const arrowhead = { class: "arrowhead", d: `M${x - 10},${y - 5}L${x},${y}L${x - 10},${y + 5}z` };
    svg.append(register(relation, makeSvg("path", arrowhead)));
    const label = place(register(relation, make("span", relation, "label")), x - 54, y);
    label.setAttribute("aria-hidden", true);
    graph.append(label);
  }
  for (const memory of data.memories) {
    const [left, top, height] = memory.card;
    const card = place(make("button", undefined, "memory"), left, top, data.cardWidth, height);
    card.type = "button";
    card.tabIndex = -1;
    card.dataset.memory = memory.id;
    card.title = memory.text;
    card.append(make("span", memory.text));
    cards.set(memory.id, card);
    graph.append(card);
  }
  if (data.memories.length) cards.get(data.memories[0].id).tabIndex = 0;
}

function drawAxis() {
  const add = (text, x, className) => {
    const span = make("span", text, className);
    axis.append(span);
    span.style.left = `${Math.max(x * scale, span.offsetWidth / 2 + 4)}px`; // the first is never cut off
    return span;
  };
  axis.replaceChildren();
  axis.style.width = `${data.width * scale}px`;
  const texts = [
    ...data.columns.map(([heading, middle]) => add(heading, middle)),
    ...data.gaps.map(([text, left, width]) => add(text, left + width / 2, "gap")),
  ];
  const extents = texts.map(({ offsetLeft, offsetWidth }) =>
    [offsetLeft - offsetWidth / 2 - 4, offsetLeft + offsetWidth / 2 + 4]);
  const visible = [];
  texts.forEach((span, i) => { // headings come first; a text that would touch another is left out
    const [left, right] = extents[i];
    if (visible.some(([from, to]) => left < to && from < right)) span.remove();
    else visible.push(extents[i]);
  });
}

/** Zoom around the middle of the view. */
function zoom(to) {
  const x = (view.scrollLeft + view.clientWidth / 2) / scale, y = (view.scrollTop + view.clientHeight / 2) / scale;
  scale = to;
  graph.style.zoom = scale;
  graph.style.setProperty("--stroke", `${Math.min(5, Math.max(2, 1.3 / scale))}px`); // visible when small
  graph.style.height = `${Math.max(data.height, (view.clientHeight - axis.offsetHeight) / scale)}px`;
  drawAxis();
  view.scrollTo(x * scale - view.clientWidth / 2, y * scale - view.clientHeight / 2);
}

const scaleToFit = () => Math.max(SCALES[0] / 2, Math.min(view.clientWidth / data.width, (view.clientHeight - axis.offsetHeight) / data.height));

function linkButton(link, other, direction) {
  const button = color(make("button", undefined, "link-button"), link.relation);
  button.type = "button";
  button.append(make("b", `${direction} ${link.relation} `), memories.get(other).text);
  if (link.explanation) {
    button.append(document.createElement("br"), make("span", `${link.explanation} (${link.madeBy})`, "dim"));
  }
  button.addEventListener("click", () => select(other));
  return button;
}

function showPanel(memory) {
  const close = make("button", "Close", "close");
  close.type = "button";
  close.addEventListener("click", closePanel);
  const details = [memory.day, `session ${memory.session}`, `memory ${memory.id}`, `by ${memory.madeBy}`];
  panel.replaceChildren(close, make("h2", memory.text), make("p", details.filter(Boolean).join(" · "), "dim"));
  panel.append(make("h3", "Source turns"));
  for (const number of memory.turns) {
    const turn = data.turns[number];
    if (!turn) continue;
    const quote = make("blockquote", turn.text);
    quote.append(make("div", [turn.speaker, turn.time, `turn ${number}`].filter(Boolean).join(", "), "dim"));
    panel.append(quote);
  }
  if (!memory.turns.length) panel.append(make("p", "This memory was imported without source turns.", "dim"));
  const before = data.links.filter((link) => link.newer === memory.id);
  const after = data.links.filter((link) => link.older === memory.id);
  if (before.length) panel.append(make("h3", "Follows"), ...before.map((link) => linkButton(link, link.older, "←")));
  if (after.length) panel.append(make("h3", "Leads to"), ...after.map((link) => linkButton(link, link.newer, "→")));
  panel.hidden = false;
  panel.scrollTop = 0;
}

function highlightLinks(id, on) {
  for (const line of linesOf.get(id)) {
    line.classList.toggle("highlighted", on);
    if (on) line.parentNode.insertBefore(line, line.parentNode.querySelector(".arrowhead")); // on top
  }
}

function select(id) {
  highlight(id);
  showPanel(memories.get(id));
  focusCard(id);
}

function highlight(id) {
  if (selected !== null) {
    cards.get(selected).classList.remove("selected");
    highlightLinks(selected, false);
  }
  selected = id;
  if (id === null) return;
  cards.get(id).classList.add("selected");
  highlightLinks(id, true);
}

function focusCard(id) {
  graph.querySelector("[tabindex='0']").tabIndex = -1; // Tab returns to the last memory
  const card = cards.get(id);
  card.tabIndex = 0;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function closePanel() {
  const last = selected;
  panel.hidden = true;
  highlight(null);
  if (last !== null) focusCard(last);
}

const neighbor = (memory, offset) => data.memories[data.memories.indexOf(memory) + offset]?.id;
const MOVES = {
  ArrowRight: (m) => data.links.find((link) => link.older === m.id)?.newer ?? neighbor(m, 1),
  ArrowLeft: (m) => data.links.find((link) => link.newer === m.id)?.older ?? neighbor(m, -1),
  ArrowDown: (m) => neighbor(m, 1),
  ArrowUp: (m) => neighbor(m, -1),
  Home: () => data.memories[0].id,
  End: () => data.memories.at(-1).id,
};
const memoryAt = (event) => {
  const card = event.target.closest("[data-memory]");
  return card && memories.get(Number(card.dataset.memory));
};

graph.addEventListener("click", (event) => {
  const memory = memoryAt(event);
  if (memory) select(memory.id);
});
graph.addEventListener("keydown", (event) => {
  if (!(event.key in MOVES) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const to = MOVES[event.key](memoryAt(event));
  if (to !== undefined) (panel.hidden ? focusCard : select)(to);
});
for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
  graph.addEventListener(name, (event) => {
    const memory = memoryAt(event);
    if (memory && memory.id !== selected) highlightLinks(memory.id, on);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) closePanel();
});

element("search").addEventListener("input", (event) => {
  const query = event.target.value.trim().toLowerCase();
  graph.classList.toggle("searching", Boolean(query));
  const matches = data.memories.filter((memory) => query && memory.text.toLowerCase().includes(query));
  for (const memory of data.memories) cards.get(memory.id).classList.toggle("match", matches.includes(memory));
  element("count").textContent = query ? `${matches.length} found` : counts;
  if (matches.length) cards.get(matches[0].id).scrollIntoView({ block: "center", inline: "center" });
});
element("search").addEventListener("keydown", (event) => {
  const first = event.key === "Enter" && graph.querySelector(".match");
  if (first) focusCard(Number(first.dataset.memory));
});

for (const relation of new Set([...RELATIONS, ...data.links.map((link) => link.relation)])) {
  const count = data.links.filter((link) => link.relation === relation).length;
  if (!count) continue;
  const label = color(make("label"), relation), box = make("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    for (const node of nodesOf.get(relation)) node.style.display = box.checked ? "" : "none";
  });
  label.append(box, make("i"), `${relation} (${count})`);
  element("relations").append(label);
}

const counts = `${countMemories(data.memories.length)}, ${pluralize(data.links.length, "link")}`;
element("title").textContent = data.title;
element("count").textContent = counts;
element("smaller").addEventListener("click", () => zoom(SCALES.findLast((step) => step < scale) ?? scale));
element("larger").addEventListener("click", () => zoom(SCALES.find((step) => step > scale) ?? scale));
element("whole").addEventListener("click", () => zoom(Math.min(1, scaleToFit())));
graph.style.width = `${data.width}px`;
drawGraph();
zoom(scaleToFit() < 0.8 ? 1 : Math.min(1.25, scaleToFit()));
view.scrollTo(data.lanes.length ? (data.lanes[0][0] - 4) * scale : 0, 0);
