"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const RELATIONS = ["Changed", "Cause", "Reason", "HinderedBy", "React", "Want", "SameTopic"];
const SIZES = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2];
const element = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; // never innerHTML: remembered words are data
  if (className) made.className = className;
  return made;
};
const draw = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const put = (made, left, top, width, height) => {
  Object.assign(made.style, { left: `${left}px`, top: `${top}px` });
  if (width !== undefined) Object.assign(made.style, { width: `${width}px`, height: `${height}px` });
  return made;
};
const coloured = (made, relation) => {
  made.style.setProperty("--of", `var(--${RELATIONS.includes(relation) ? relation : "other"})`);
  return made;
};
const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const memoryCount = (count) => plural(count, "memory", "memories");

const memories = new Map(data.memories.map((memory) => [memory.id, memory]));
const cards = new Map(), wires = new Map(data.memories.map((memory) => [memory.id, []]));
const shown = new Map(); // what is drawn for each relation
const view = element("view"), axis = element("axis"), graph = element("graph"), panel = element("panel");
let size = 1, chosen = null;

/** A line round its corners, none sharper than a radius that fits. */
function path(points) {
  let d = `M${points[0]}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [before, at, after] = [points[i - 1], points[i], points[i + 1]];
    const length = ([a, b], [c, e]) => Math.abs(a - c) + Math.abs(b - e);
    const radius = Math.min(6, length(before, at) / 2, length(at, after) / 2);
    const towards = ([x, y]) => [at[0] + Math.sign(x - at[0]) * radius, at[1] + Math.sign(y - at[1]) * radius];
    d += `L${towards(before)}Q${at} ${towards(after)}`;
  }
  const [x, y] = points.at(-1);
  return `${d}L${[x - 6, y]}`;
}

function drawn(relation, made) {
  if (!shown.has(relation)) shown.set(relation, []);
  shown.get(relation).push(made);
  return coloured(made, relation);
}

function drawGraph() {
  for (const [left, top, width, height, count] of data.lanes) {
    const lane = put(make("div", undefined, "lane"), left, top, width, height);
    lane.append(make("span", memoryCount(count)));
    graph.append(lane);
  }
  graph.append(...data.gaps.map(([, left, width]) => {
    const made = put(make("div", undefined, "passing"), left, 0);
    made.style.width = `${width}px`;
    return made;
  }));
  if (data.loose !== null) {
    const title = make("div", "Not linked with others", "loose");
    title.style.top = `${data.loose}px`;
    graph.append(title);
  }
  const lines = draw("svg", { width: data.width, height: data.height, "aria-hidden": true });
  for (const link of data.links) {
    const wire = drawn(link.relation, draw("path", { class: "wire", d: path(link.wire) }));
    const title = draw("title", {});
    title.textContent = `${link.relation}: ${memories.get(link.newer).text}`;
    wire.append(title);
    wires.get(link.older).push(wire);
    wires.get(link.newer).push(wire);
    lines.append(wire);
  }
  graph.append(lines);
  for (const [, relation, x, y] of data.labels) {
    lines.append(drawn(relation, draw("path", { class: "tip", d: `M${x - 10},${y - 5}L${x},${y}L${x - 10},${y + 5}z` })));
    const label = put(drawn(relation, make("span", relation, "label")), x - 54, y);
    label.setAttribute("aria-hidden", true);
    graph.append(label);
  }
  for (const memory of data.memories) {
    const [left, top, height] = memory.place;
    const card = put(make("button", undefined, "memory"), left, top, data.card, height);
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
  const place = (words, x, className) => {
    const made = make("span", words, className);
    axis.append(made);
    made.style.left = `${Math.max(x * size, made.offsetWidth / 2 + 4)}px`; // the first is never cut off
    return made;
  };
  axis.replaceChildren();
  axis.style.width = `${data.width * size}px`;
  const all = [
    ...data.columns.map(([heading, middle]) => place(heading, middle)),
    ...data.gaps.map(([words, left, width]) => place(words, left + width / 2, "gap")),
  ];
  const spans = all.map((made) => [made.offsetLeft - made.offsetWidth / 2 - 4, made.offsetLeft + made.offsetWidth / 2 + 4]);
  const kept = [];
  all.forEach((made, place) => { // headings come first; what would touch another is left out
    const [left, right] = spans[place];
    if (kept.some(([from, to]) => left < to && from < right)) made.remove();
    else kept.push(spans[place]);
  });
}

/** Show it all at another size, the same place in the middle. */
function resize(to) {
  const x = (view.scrollLeft + view.clientWidth / 2) / size, y = (view.scrollTop + view.clientHeight / 2) / size;
  size = to;
  graph.style.zoom = size;
  graph.style.setProperty("--stroke", `${Math.min(5, Math.max(2, 1.3 / size))}px`); // seen from afar too
  graph.style.height = `${Math.max(data.height, (view.clientHeight - axis.offsetHeight) / size)}px`;
  drawAxis();
  view.scrollTo(x * size - view.clientWidth / 2, y * size - view.clientHeight / 2);
}

const fitting = () => Math.max(SIZES[0] / 2, Math.min(view.clientWidth / data.width, (view.clientHeight - axis.offsetHeight) / data.height));

function step(link, other, direction) {
  const button = coloured(make("button", undefined, "step"), link.relation);
  button.type = "button";
  button.append(make("b", `${direction} ${link.relation} `), memories.get(other).text);
  if (link.why) button.append(document.createElement("br"), make("span", `${link.why} (${link.by})`, "dim"));
  button.addEventListener("click", () => choose(other));
  return button;
}

function show(memory) {
  const close = make("button", "Close", "close");
  close.type = "button";
  close.addEventListener("click", hide);
  const about = [memory.day, `session ${memory.session}`, `memory ${memory.id}`, `by ${memory.by}`];
  panel.replaceChildren(close, make("h2", memory.text), make("p", about.filter(Boolean).join(" · "), "dim"));
  panel.append(make("h3", "What was said"));
  for (const number of memory.turns) {
    const turn = data.turns[number];
    if (!turn) continue;
    const quote = make("blockquote", turn.words);
    quote.append(make("div", [turn.speaker, turn.when, `turn ${number}`].filter(Boolean).join(", "), "dim"));
    panel.append(quote);
  }
  if (!memory.turns.length) panel.append(make("p", "It came ready-made, without turns.", "dim"));
  const before = data.links.filter((link) => link.newer === memory.id);
  const after = data.links.filter((link) => link.older === memory.id);
  if (before.length) panel.append(make("h3", "Follows"), ...before.map((link) => step(link, link.older, "←")));
  if (after.length) panel.append(make("h3", "Leads to"), ...after.map((link) => step(link, link.newer, "→")));
  panel.hidden = false;
  panel.scrollTop = 0;
}

function light(id, on) {
  for (const wire of wires.get(id)) {
    wire.classList.toggle("lit", on);
    if (on) wire.parentNode.insertBefore(wire, wire.parentNode.querySelector(".tip")); // over the others
  }
}

function choose(id) {
  mark(id);
  show(memories.get(id));
  goTo(id);
}

function mark(id) {
  if (chosen !== null) {
    cards.get(chosen).classList.remove("chosen");
    light(chosen, false);
  }
  chosen = id;
  if (id === null) return;
  cards.get(id).classList.add("chosen");
  light(id, true);
}

function goTo(id) {
  graph.querySelector("[tabindex='0']").tabIndex = -1; // Tab comes back to where one was
  const card = cards.get(id);
  card.tabIndex = 0;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function hide() {
  const back = chosen;
  panel.hidden = true;
  mark(null);
  if (back !== null) goTo(back);
}

const next = (memory, way) => data.memories[data.memories.indexOf(memory) + way]?.id;
const MOVES = {
  ArrowRight: (m) => data.links.find((link) => link.older === m.id)?.newer ?? next(m, 1),
  ArrowLeft: (m) => data.links.find((link) => link.newer === m.id)?.older ?? next(m, -1),
  ArrowDown: (m) => next(m, 1),
  ArrowUp: (m) => next(m, -1),
  Home: () => data.memories[0].id,
  End: () => data.memories.at(-1).id,
};
const memoryAt = (event) => {
  const card = event.target.closest("[data-memory]");
  return card && memories.get(Number(card.dataset.memory));
};

graph.addEventListener("click", (event) => {
  const memory = memoryAt(event);
  if (memory) choose(memory.id);
});
graph.addEventListener("keydown", (event) => {
  if (!(event.key in MOVES) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const to = MOVES[event.key](memoryAt(event));
  if (to !== undefined) (panel.hidden ? goTo : choose)(to);
});
for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
  graph.addEventListener(name, (event) => {
    const memory = memoryAt(event);
    if (memory && memory.id !== chosen) light(memory.id, on);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) hide();
});

element("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  graph.classList.toggle("searching", Boolean(wanted));
  const found = data.memories.filter((memory) => wanted && memory.text.toLowerCase().includes(wanted));
  for (const memory of data.memories) cards.get(memory.id).classList.toggle("found", found.includes(memory));
  element("count").textContent = wanted ? `${found.length} found` : counted;
  if (found.length) cards.get(found[0].id).scrollIntoView({ block: "center", inline: "center" });
});
element("search").addEventListener("keydown", (event) => {
  const first = event.key === "Enter" && graph.querySelector(".found");
  if (first) goTo(Number(first.dataset.memory));
});

for (const relation of new Set([...RELATIONS, ...data.links.map((link) => link.relation)])) {
  const count = data.links.filter((link) => link.relation === relation).length;
  if (!count) continue;
  const label = coloured(make("label"), relation), box = make("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    for (const made of shown.get(relation)) made.style.display = box.checked ? "" : "none";
  });
  label.append(box, make("i"), `${relation} (${count})`);
  element("relations").append(label);
}

const counted = `${memoryCount(data.memories.length)}, ${plural(data.links.length, "link")}`;
element("title").textContent = data.title;
element("count").textContent = counted;
element("smaller").addEventListener("click", () => resize(SIZES.findLast((one) => one < size) ?? size));
element("larger").addEventListener("click", () => resize(SIZES.find((one) => one > size) ?? size));
element("whole").addEventListener("click", () => resize(Math.min(1, fitting())));
graph.style.width = `${data.width}px`;
drawGraph();
resize(fitting() < 0.8 ? 1 : Math.min(1.25, fitting()));
view.scrollTo(data.lanes.length ? (data.lanes[0][0] - 4) * size : 0, 0);
