"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const WIDTH = 250, HEIGHT = 92;
const COLOURS = {
  Changed: "#c8641b", Cause: "#b3261e", Reason: "#7a4fc1", HinderedBy: "#8a6d1f",
  React: "#c0398f", Want: "#1f7a5c", SameTopic: "#4a78b5", Similar: "#888888",
};
const element = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; // never innerHTML: remembered words are data
  if (className) made.className = className;
  return made;
};
const shorten = (text) => (text.length > 105 ? text.slice(0, 104).trimEnd() + "…" : text);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const memories = new Map(data.memories.map((memory) => [memory.id, memory]));
const inTime = [...data.memories].sort((a, b) => a.column - b.column || a.row - b.row);

const graph = cytoscape({
  container: element("graph"),
  elements: [
    ...data.memories.map((memory) => ({
      data: { id: String(memory.id), label: shorten(memory.text) },
      position: { x: memory.column * WIDTH, y: memory.row * HEIGHT },
    })),
    ...data.links.map((link) => ({
      data: {
        id: `${link.older}-${link.newer}`, source: String(link.older), target: String(link.newer),
        label: link.relation, relation: link.relation, colour: COLOURS[link.relation] || "#888888",
      },
    })),
  ],
  layout: { name: "preset" },
  minZoom: 0.05, maxZoom: 2, autoungrabify: true, boxSelectionEnabled: false,
});
window.graph = graph;

function paint() {
  graph.style([
    { selector: "node", style: {
      shape: "round-rectangle", width: 190, height: 66, "background-color": css("--card"),
      "border-width": 1, "border-color": css("--line"), color: css("--ink"), label: "data(label)",
      "font-size": 11, "text-wrap": "wrap", "text-overflow-wrap": "anywhere", "text-max-width": 176, "text-valign": "center",
      "font-family": "system-ui, sans-serif",
    } },
    { selector: "edge", style: {
      width: 2, "line-color": "data(colour)", "target-arrow-color": "data(colour)",
      "target-arrow-shape": "triangle", "curve-style": "bezier", label: "data(label)",
      "font-size": 10, color: "data(colour)", "text-background-color": css("--paper"),
      "text-background-opacity": 1, "text-background-padding": 2, "text-rotation": "autorotate",
      "font-family": "system-ui, sans-serif",
    } },
    { selector: "node:selected", style: { "border-width": 3, "border-color": css("--mark") } },
    { selector: ".faded", style: { opacity: 0.15 } },
    { selector: ".hidden", style: { display: "none" } },
  ]);
}

function drawAxis() {
  const zoom = graph.zoom(), pan = graph.pan();
  const axis = element("axis");
  const apart = Math.ceil(135 / (WIDTH * zoom)); // so that headings never touch
  axis.replaceChildren(...data.columns.flatMap((heading, column) => {
    if (column % apart) return [];
    const label = make("span", heading);
    label.style.left = `${column * WIDTH * zoom + pan.x}px`;
    return [label];
  }));
}

function step(link, other, direction) {
  const button = make("button", undefined, "step");
  button.type = "button";
  button.append(make("b", `${direction} ${link.relation} `), memories.get(other).text);
  if (link.why) button.append(document.createElement("br"), make("span", `${link.why} (${link.by})`, "dim"));
  button.addEventListener("click", () => choose(other));
  return button;
}

function show(id) {
  const memory = memories.get(id), panel = element("panel");
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
  const before = data.links.filter((link) => link.newer === id);
  const after = data.links.filter((link) => link.older === id);
  if (before.length) panel.append(make("h3", "Follows"), ...before.map((link) => step(link, link.older, "←")));
  if (after.length) panel.append(make("h3", "Leads to"), ...after.map((link) => step(link, link.newer, "→")));
  panel.hidden = false;
  graph.resize();
}

function hide() {
  element("panel").hidden = true;
  graph.nodes().unselect();
  graph.resize();
  element("graph").focus();
}

function choose(id) {
  graph.nodes().unselect();
  const node = graph.getElementById(String(id));
  node.select();
  show(id);
  const box = node.renderedBoundingBox();
  if (box.x1 < 0 || box.y1 < 0 || box.x2 > graph.width() || box.y2 > graph.height()) graph.center(node);
}

function chosen() {
  const node = graph.$("node:selected")[0];
  return node && memories.get(Number(node.id()));
}

const MOVES = {
  ArrowRight: (m) => data.links.find((link) => link.older === m.id)?.newer ?? next(m, 1),
  ArrowLeft: (m) => data.links.find((link) => link.newer === m.id)?.older ?? next(m, -1),
  ArrowDown: (m) => next(m, 1),
  ArrowUp: (m) => next(m, -1),
};
const next = (memory, way) => inTime[inTime.indexOf(memory) + way]?.id;

element("graph").addEventListener("keydown", (event) => {
  if (!(event.key in MOVES) && event.key !== "Enter") return;
  event.preventDefault();
  const memory = chosen();
  const to = memory && event.key !== "Enter" ? MOVES[event.key](memory) : (memory ?? inTime[0])?.id;
  if (to !== undefined) choose(to);
});
graph.on("tap", "node", (event) => {
  element("graph").focus({ preventScroll: true });
  choose(Number(event.target.id()));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !element("panel").hidden) hide();
});
graph.on("mouseover", "node", (event) => { element("graph").title = memories.get(Number(event.target.id())).text; });
graph.on("mouseout", "node", () => { element("graph").title = ""; });
graph.on("pan zoom resize", drawAxis);

element("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  graph.elements().toggleClass("faded", Boolean(wanted));
  const found = graph.nodes().filter((node) => memories.get(Number(node.id())).text.toLowerCase().includes(wanted));
  found.removeClass("faded");
  element("count").textContent = wanted ? `${found.length} found` : counted;
  if (wanted && found.length) graph.animate({ fit: { eles: found, padding: 120 }, duration: 150 });
});

for (const relation of Object.keys(COLOURS)) {
  const count = data.links.filter((link) => link.relation === relation).length;
  if (!count) continue;
  const label = make("label"), box = make("input"), line = make("i");
  box.type = "checkbox";
  box.checked = true;
  line.style.background = COLOURS[relation];
  box.addEventListener("change", () => {
    graph.edges(`[relation = "${relation}"]`).toggleClass("hidden", !box.checked);
  });
  label.append(box, line, `${relation} (${count})`);
  element("relations").append(label);
}

function begin() {
  graph.fit(undefined, 40);
  if (graph.zoom() < 0.55) { // too many to read: begin at the top left, at a readable size
    graph.zoom(0.8);
    graph.pan({ x: 110, y: 60 });
  } else if (graph.zoom() > 1.1) {
    graph.zoom(1.1);
    graph.center();
  }
  drawAxis();
}

const counted = `${data.memories.length} memories, ${data.links.length} links`;
element("title").textContent = data.title;
element("count").textContent = counted;
element("fit").addEventListener("click", () => graph.fit(undefined, 40));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
paint();
begin();
