"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; // never innerHTML: what was said is data
  if (className) made.className = className;
  return made;
};
const draw = (tag, attributes = {}, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const number = (value, digits = 0) =>
  value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const money = (value) => (value === null || value === undefined ? "unknown" : `$${number(value, value && value < 1 ? 4 : 2)}`);
const time = (value) => (value === null || value === undefined ? "–" : value < 1 ? `${number(value * 1000)} ms` : `${number(value, 2)} s`);
const figure = (value, top = 1) => number(value, top > 10 ? 1 : 3);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const session = (category) => /^session (\d+)$/i.exec(category)?.[1];

/** Where an axis ends: the next figure whose quarters are short. */
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((step) => +(step * power).toPrecision(2)).find((end) => end >= value * 0.999999);
}

function option(value, text) {
  const made = make("option", text);
  made.value = value;
  return made;
}

function facts(list, pairs) {
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined) continue;
    const pair = make("div");
    pair.append(make("dt", name), make("dd", String(value)));
    list.append(pair);
  }
}

/** Rows of cells; a cell is a text, or [text, small text]. */
function table(headings, rows) {
  const made = make("table"), head = make("thead"), body = make("tbody"), top = make("tr");
  const cell = (tag, value, scope) => {
    const [text, small] = Array.isArray(value) ? value : [value];
    const one = make(tag, text);
    if (scope) one.scope = scope;
    if (small) one.append(make("small", small));
    return one;
  };
  top.append(...headings.map((heading) => cell("th", heading, "col")));
  head.append(top);
  for (const [first, ...others] of rows) {
    const row = make("tr");
    row.append(cell("th", first, "row"), ...others.map((value) => cell("td", value)));
    body.append(row);
  }
  made.append(head, body);
  return made;
}

/** Rows that are made as they come into view: thousands of them stay quick. */
function lazily(place, chunk = 60) {
  const end = make("div");
  let left = [], build = null;
  const more = () => {
    const next = left.splice(0, chunk).map(build);
    place.append(...next, end);
    if (!left.length) end.remove();
  };
  const seen = new IntersectionObserver((entries) => {
    if (left.length && entries.some((entry) => entry.isIntersecting)) {
      more();
      seen.unobserve(end); // it may still be in view: look again
      if (left.length) seen.observe(end);
    }
  }, { rootMargin: "600px" });
  return (rows, make) => {
    seen.disconnect();
    place.replaceChildren();
    [left, build] = [[...rows], make];
    more();
    if (left.length) seen.observe(end);
  };
}

/** A row that is filled when it is first opened. */
function opening(row, fill) {
  const made = make("details", undefined, "item"), summary = make("summary");
  summary.append(...row);
  made.append(summary);
  made.addEventListener("toggle", () => {
    if (made.childElementCount > 1) return;
    const inside = make("div", undefined, "inside");
    inside.append(...fill());
    made.append(inside);
  });
  return made;
}

const titled = (title, ...parts) => {
  const made = make("div");
  made.append(make("h4", title), ...parts);
  return made;
};

const MANY = 20; // of a long list so many are shown at once
function some(rows, build, name, place = (made) => made) {
  const made = rows.slice(0, MANY).map(build);
  if (rows.length <= MANY) return made;
  const more = make("button", `${number(rows.length - MANY)} more ${name}`, "more"), end = place(more);
  more.type = "button";
  more.addEventListener("click", () => end.replaceWith(...rows.slice(MANY).map(build)));
  return [...made, end];
}

const plain = (value) => value === null || typeof value !== "object";
function shown(value) {
  if (Array.isArray(value) && value.every(plain)) {
    const line = value.filter((one) => one !== "").join(", ");
    if (line.length < 100) return document.createTextNode(line);
  }
  if (Array.isArray(value)) {
    const list = make("ol");
    const row = (inside) => { const made = make("li"); made.append(inside); return made; };
    list.append(...some(value, (one) => row(shown(one)), "rows", row));
    return list;
  }
  if (value && typeof value === "object") {
    const list = make("dl", undefined, "values");
    for (const [name, one] of Object.entries(value)) {
      const told = make("dd");
      told.append(shown(one));
      list.append(make("dt", name), told);
    }
    return list;
  }
  return document.createTextNode(value === null ? "–" : String(value));
}

const LAST = 6; // turns of a long dialogue that are shown at once
function dialogue(turns) {
  const line = (place) => {
    const [speaker, when, text] = data.said[place];
    const made = make("p", undefined, "turn");
    made.append(make("b", `${speaker}: `), text);
    if (when) made.append(make("small", ` ${when}`));
    return made;
  };
  const parts = turns.slice(-LAST).map(line);
  if (turns.length > LAST) {
    const more = make("button", `${plural(turns.length - LAST, "earlier turn")}`, "more");
    more.addEventListener("click", () => more.replaceWith(...turns.slice(0, -LAST).map(line)));
    parts.unshift(more);
  }
  return parts;
}

function quote(place) {
  const [id, number, speaker, when, text] = data.turns[place];
  const made = make("blockquote");
  made.append(make("small", [speaker, when, `session ${number}`, `turn ${id}`].filter(Boolean).join(" · ")), document.createElement("br"), text);
  return made;
}

function recalled(places) {
  if (!places.length) return [make("p", "Nothing.", "said dim")];
  return some(places, (place) => {
    const [text, memories, turns] = data.parts[place];
    const made = make("div", text, "part");
    if (turns.length) {
      const sources = make("details");
      const of = memories.length ? ` of ${memories.length === 1 ? "memory" : "memories"} ${memories.join(", ")}` : "";
      sources.append(make("summary", `${plural(turns.length, "source turn")}${of}`));
      sources.addEventListener("toggle", () => {
        if (sources.childElementCount === 1) sources.append(...turns.map(quote));
      });
      made.append(sources);
    }
    return made;
  }, "parts");
}
