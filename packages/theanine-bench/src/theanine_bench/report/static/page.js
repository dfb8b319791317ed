"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text; // never innerHTML: recorded words are data
  if (className) made.className = className;
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

/** The end of an axis: the next value whose quarters are short. */
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

/** Fill a select with values, or [value, text] pairs. */
function fillSelect(id, options) {
  element(id).append(...options.map((each) => (Array.isArray(each) ? option(...each) : option(each, each))));
}

/** Fill a select that filters by one of these values; hidden if there is nothing to choose. */
function fillFilter(id, all, values) {
  fillSelect(id, [["", all], ...values]);
  element(id).hidden = values.length < 2;
}

/** Show the parts that pages of single runs have in common. */
function showRun(state) {
  element("title").textContent = data.title;
  element("state").textContent = state;
  element("command").textContent = data.command;
  element("command").hidden = !data.command;
}

/** Show a short note in a section that has nothing else. */
const showNote = (id, text) => element(id).replaceChildren(make("p", text, "dim"));

function tiles(pairs) {
  for (const [name, value] of pairs) {
    const tile = make("div", name, "tile");
    tile.prepend(make("b", value));
    element("tiles").append(tile);
  }
}

function facts(list, pairs) {
  for (const [name, value] of pairs) {
    if (value === "" || value === null || value === undefined) continue;
    const pair = make("div");
    pair.append(make("dt", name), make("dd", String(value)));
    list.append(pair);
  }
}

/** A table; a cell is a text, or [text, small text]. */
function table(headings, rows) {
  const made = make("table"), head = make("thead"), body = make("tbody"), top = make("tr");
  const cell = (tag, value, scope) => {
    const [text, small] = Array.isArray(value) ? value : [value];
    const made = make(tag, text);
    if (scope) made.scope = scope;
    if (small) made.append(make("small", small));
    return made;
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

/** Return a function that fills `list` with rows as they scroll into view. */
function lazyList(list, chunk = 60) {
  const end = make("div");
  let left = [], build = null;
  const more = () => {
    const next = left.splice(0, chunk).map(build);
    list.append(...next, end);
    if (!left.length) end.remove();
  };
  const observer = new IntersectionObserver((entries) => {
    if (left.length && entries.some((entry) => entry.isIntersecting)) {
      more();
      observer.unobserve(end); // it may still be in view: check again
      if (left.length) observer.observe(end);
    }
  }, { rootMargin: "600px" });
  return (rows, make) => {
    observer.disconnect();
    list.replaceChildren();
    [left, build] = [[...rows], make];
    more();
    if (left.length) observer.observe(end);
  };
}

const searchTexts = (items, parts) => items.map((item) => parts(item).filter(Boolean).join("\n").toLowerCase());

/** Connect the filter form with the list. `select(query, values)` gets the search text in lower case
    and the values of the form's controls by id, and returns the rows and the text above them. */
function filteredList(select, build) {
  const form = element("filter"), show = lazyList(element("list"));
  const update = () => {
    const values = Object.fromEntries([...form.querySelectorAll("select, input")].map((control) =>
      [control.id, control.type === "number" ? control.valueAsNumber : control.value]));
    const { rows, count } = select(values.search.trim().toLowerCase(), values);
    element("count").textContent = count;
    show(rows, (row) => build(row, values));
  };
  form.addEventListener("input", update);
  form.addEventListener("reset", () => setTimeout(update));
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
  return update;
}

/** Reset the filter form, set these controls and show the list. */
function showFiltered(values, update) {
  element("filter").reset();
  for (const [id, value] of Object.entries(values)) element(id).value = value;
  update();
  element("items").scrollIntoView();
}

/** "3 of 20 samples", or "20 samples" if all are shown. */
const countOf = (shown, total, noun) => (shown === total ? plural(total, noun) : `${number(shown)} of ${plural(total, noun)}`);
const isWithin = (value, { low, high }) => !(value < low) && !(value > high);

/** Details whose content is built when they are first opened. */
function lazyDetails(summary, fill, className) {
  const made = make("details", undefined, className);
  made.append(summary);
  made.addEventListener("toggle", () => {
    if (made.childElementCount === 1) made.append(...fill());
  });
  return made;
}

/** A row of the sample list. */
function expandable(row, fill) {
  const summary = make("summary");
  summary.append(...row);
  return lazyDetails(summary, () => {
    const inside = make("div", undefined, "inside");
    inside.append(...fill());
    return [inside];
  }, "item");
}

const titled = (title, ...parts) => {
  const made = make("div");
  made.append(make("h4", title), ...parts);
  return made;
};

const SHOWN_AT_ONCE = 20; // rows of a long list
function truncated(rows, build, name, wrap = (made) => made) {
  const made = rows.slice(0, SHOWN_AT_ONCE).map(build);
  if (rows.length <= SHOWN_AT_ONCE) return made;
  const more = make("button", `${number(rows.length - SHOWN_AT_ONCE)} more ${name}`, "more"), end = wrap(more);
  more.type = "button";
  more.addEventListener("click", () => end.replaceWith(...rows.slice(SHOWN_AT_ONCE).map(build)));
  return [...made, end];
}

const isScalar = (value) => value === null || typeof value !== "object";
function jsonValue(value) {
  if (Array.isArray(value) && value.every(isScalar)) {
    const line = value.filter((item) => item !== "").join(", ");
    if (line.length < 100) return document.createTextNode(line);
  }
  if (Array.isArray(value)) {
    const list = make("ol");
    const row = (inside) => { const made = make("li"); made.append(inside); return made; };
    list.append(...truncated(value, (item) => row(jsonValue(item)), "rows", row));
    return list;
  }
  if (value && typeof value === "object") {
    const list = make("dl", undefined, "values");
    for (const [name, item] of Object.entries(value)) {
      const description = make("dd");
      description.append(jsonValue(item));
      list.append(make("dt", name), description);
    }
    return list;
  }
  return document.createTextNode(value === null ? "–" : String(value));
}

const LAST_TURNS = 6; // of a long dialogue
function dialogue(turns) {
  const line = (index) => {
    const [speaker, when, text] = data.utterances[index];
    const made = make("p", undefined, "turn");
    made.append(make("b", `${speaker}: `), text);
    if (when) made.append(make("small", ` ${when}`));
    return made;
  };
  const parts = turns.slice(-LAST_TURNS).map(line);
  if (turns.length > LAST_TURNS) {
    const more = make("button", `${plural(turns.length - LAST_TURNS, "earlier turn")}`, "more");
    more.addEventListener("click", () => more.replaceWith(...turns.slice(0, -LAST_TURNS).map(line)));
    parts.unshift(more);
  }
  return parts;
}

function quote(index) {
  const [id, number, speaker, when, text] = data.turns[index];
  const made = make("blockquote");
  made.append(make("small", [speaker, when, `session ${number}`, `turn ${id}`].filter(Boolean).join(" · ")), document.createElement("br"), text);
  return made;
}

function recollection(indexes) {
  if (!indexes.length) return [make("p", "Nothing.", "quoted dim")];
  return truncated(indexes, (index) => {
    const [text, memories, turns] = data.parts[index];
    const made = make("div", text, "part");
    if (turns.length) {
      const from = memories.length ? ` of ${memories.length === 1 ? "memory" : "memories"} ${memories.join(", ")}` : "";
      made.append(lazyDetails(make("summary", `${plural(turns.length, "source turn")}${from}`), () => turns.map(quote)));
    }
    return made;
  }, "parts");
}
