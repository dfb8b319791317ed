"use strict";
const names = data.names;
const tops = Object.fromEntries(names.map((name) => [name, nice(most([...data.items.map((item) => item.measures[name] ?? 0), 0.001]))]));
const categories = Object.keys(data.categories).filter(Boolean);
const has = (item, name) => item.measures[name] !== undefined;

// The run
element("title").textContent = data.title;
const state = element("state");
state.textContent = data.finished ? plural(data.done, "sample") : `unfinished: ${number(data.done)} of ${plural(data.cases, "sample")}`;
if (!data.finished) {
  state.classList.add("bad");
  state.title = data.stopped;
}
facts(element("about"), [...data.about, ["Stopped", data.stopped]]);
element("command").textContent = data.command;
element("command").hidden = !data.command;

// Measures
const filter = element("filter");
function pick(name, low, high) {
  filter.reset();
  element("measure").value = name;
  element("low").value = low;
  element("high").value = high;
  filtered();
  element("items").scrollIntoView();
}

function card(name) {
  const one = data.measures[name], top = tops[name];
  const made = make("article", undefined, "card"), about = make("p"), value = make("div", one.n ? figure(one.mean, top) : "–", "mean");
  if (one.n) value.append(make("small", `${figure(one.low, top)} – ${figure(one.high, top)}`));
  about.append(`n ${number(one.n)}`);
  if (data.less.includes(name)) about.append(" · lower is better");
  if (one.failed) about.append(" · ", make("span", `${number(one.failed)} failed`, "bad"));
  made.append(make("h3", name), value, about);
  const values = data.items.filter((item) => has(item, name)).map((item) => item.measures[name]);
  if (one.n) made.append(histogram(values, (low, high) => pick(name, low, high), top));
  const rows = categories.map((category) => ({ name: category, values: [data.categories[category][name]] })).filter((row) => row.values[0]?.n);
  if (rows.length > 1) {
    const sessions = categories.every(session);
    const points = rows.map((row) => ({ x: Number(session(row.name)), ...row.values[0] }));
    made.append(titled(sessions ? "By session" : "By category", sessions ? lineChart([{ name, points }], { across: "session", up: name, height: 190 }) : bars(rows, top)));
  }
  return made;
}
element("cards").append(...names.map(card));
if (!names.length) element("cards").append(make("p", "No metrics yet.", "dim"));
element("corpus-title").hidden = !Object.keys(data.corpus).length;
facts(element("corpus"), Object.entries(data.corpus).map(([name, value]) => [name, typeof value === "number" ? figure(value, value) : value]));

// Cost
const calls = Object.values(data.spent);
const cost = calls.some((one) => one.cost === null) ? null : calls.reduce((sum, one) => sum + one.cost, 0);
for (const [name, value] of [
  ["recalled tokens per sample", data.recalled === null ? "–" : number(data.recalled)],
  ["reply time, median", time(data.seconds.p50)],
  ["reply time, 95th percentile", time(data.seconds.p95)],
  ["model calls", number(calls.reduce((sum, one) => sum + one.calls, 0))],
  ["cost", money(cost)],
  ["cost per sample", cost === null ? "unknown" : money(cost / Math.max(1, data.done))],
]) {
  const tile = make("div", name, "tile");
  tile.prepend(make("b", value));
  element("tiles").append(tile);
}
if (calls.length) {
  element("spent").append(table(["", "calls", "failed", "tokens in", "tokens out", "cost"], Object.entries(data.spent).map(([what, one]) =>
    [what, number(one.calls), number(one.failed), number(one.input_tokens), number(one.output_tokens), money(one.cost)])));
} else element("spent").replaceWith(make("p", "No language model was called.", "dim"));

const shownNames = names.slice(0, 8);
const average = (items, of) => {
  const values = items.map(of).filter((value) => value !== null && value !== undefined);
  return values.length ? mean(values) : null;
};
function byCategory(name, items) {
  const values = shownNames.map((one) => {
    const found = average(items, (item) => item.measures[one]);
    return found === null ? "–" : figure(found, tops[one]);
  });
  return [name, number(items.length), ...values, number(average(items, (item) => item.tokens) ?? 0), time(average(items, (item) => item.seconds))];
}
if (data.items.length) {
  const rows = categories.length > 1 ? categories.map((name) => byCategory(name, data.items.filter((item) => item.category === name))) : [];
  element("by-category").append(table(["", "samples", ...shownNames, "recalled tokens", "reply time"], [...rows, byCategory("all", data.items)]));
} else element("by-category").remove();

function drawTrend() {
  const name = element("against-measure").value, what = element("against-cost").value;
  const points = data.items.filter((item) => has(item, name) && item[what] !== null).map((item) => ({ x: item[what], y: item.measures[name] }));
  const box = element("against-plot");
  if (points.length) box.replaceChildren(trendChart(points, what === "tokens" ? "recalled tokens" : "seconds per reply", name));
  else box.replaceChildren(make("p", "No values recorded.", "dim"));
}
element("against-measure").append(...names.map((name) => option(name, name)));
for (const id of ["against-measure", "against-cost"]) element(id).addEventListener("change", drawTrend);
const varied = names.find((name) => new Set(data.items.map((item) => item.measures[name])).size > 2);
if (varied) element("against-measure").value = varied;
if (names.length) drawTrend();
else element("against").remove();

// Failures
function reasons(list, counts, choose) {
  for (const [reason, count] of Object.entries(counts)) {
    const row = make("li"), text = choose ? make("button", reason) : make("span", reason);
    if (choose) {
      text.type = "button";
      text.addEventListener("click", () => choose(reason));
    }
    row.append(make("b", number(count)), text);
    list.append(row);
  }
}
reasons(element("failures"), data.failures, (reason) => {
  filter.reset();
  element("search").value = reason.slice(reason.indexOf(": ") + 2);
  filtered();
  element("items").scrollIntoView();
});
if (data.unanswered) element("failures").prepend(make("li", `${plural(data.unanswered, "sample")} without an answer`, "bad"));
if (!element("failures").childElementCount) element("failures").append(make("li", "Nothing failed.", "good"));
if (Object.keys(data.failures).length) element("to-failed").textContent = `Failures (${number(data.items.filter((item) => item.failures).length)})`;
reasons(element("dropped"), data.dropped);
element("dropped-title").hidden = !element("dropped").childElementCount;

// Samples
const groups = [...new Set(data.items.map((item) => item.group))];
element("category").append(option("", "All categories"), ...categories.map((name) => option(name, name)));
element("category").hidden = categories.length < 2;
element("group").append(option("", "All users"), ...groups.map((name) => option(name, name)));
element("group").hidden = groups.length < 2;
element("only").append(option("", "All samples"), option("failed", "Failed"), option("unanswered", "Without an answer"), option("nothing", "Nothing recalled"));
element("measure").append(...names.map((name) => option(name, name)));
element("order").append(option("", "Original order"), option("worst", "Lowest first"), option("best", "Highest first"), option("tokens", "Most recalled tokens first"), option("seconds", "Slowest first"));

const words = data.items.map((item) => {
  const utterances = item.dialogue.map((place) => data.utterances[place][2]);
  return [item.id, item.answer, item.reference, item.asked, ...utterances, ...Object.values(item.failures ?? {})].filter(Boolean).join("\n").toLowerCase();
});
const ONLY = {
  "": () => true,
  failed: (item) => item.failures,
  unanswered: (item) => item.answer === null,
  nothing: (item) => !item.recalled.length,
};
const ORDERS = {
  "": () => 0,
  worst: (a, b, name) => (a.measures[name] ?? Infinity) - (b.measures[name] ?? Infinity),
  best: (a, b, name) => (b.measures[name] ?? -Infinity) - (a.measures[name] ?? -Infinity),
  tokens: (a, b) => b.tokens - a.tokens,
  seconds: (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
};

function chips(item) {
  const row = make("span", undefined, "chips");
  for (const name of names.slice(0, 4)) {
    if (!has(item, name)) continue;
    const value = item.measures[name], chip = make("span", `${name} ${figure(value, tops[name])}`);
    const share = Math.min(1, Math.max(0, value / tops[name]));
    chip.style.background = `color-mix(in srgb, var(--bar) ${Math.round(75 * share)}%, var(--soft))`;
    row.append(chip);
  }
  if (item.failures) row.append(make("span", "failed", "bad"));
  return row;
}

function verdicts(item) {
  return Object.entries(item.verdicts ?? {}).map(([name, { model, prompt, ...judgment }]) => {
    const block = titled(`${model ? "Judge" : "Verdict"}: ${[name, model, prompt].filter(Boolean).join(", ")}`);
    block.append(jsonValue(judgment));
    return block;
  });
}

function inside(item) {
  const answer = item.answer === null ? make("p", "No answer.", "quoted bad") : make("p", item.answer || "(empty)", "quoted");
  const pair = make("div", undefined, "pair");
  if (data.asks) pair.append(titled(`Answer, by ${item.by}`, answer));
  if (item.reference) pair.append(titled("Reference", make("p", item.reference, "quoted good")));
  const parts = [titled("Dialogue", ...dialogue(item.dialogue)), pair];
  if (item.failures) parts.push(titled("Failed", ...Object.entries(item.failures).map(([name, why]) => make("p", `${name}: ${why}`, "quoted bad"))));
  if (item.rationale) parts.push(titled("Rationale", make("p", item.rationale, "quoted")));
  parts.push(...verdicts(item));
  const measures = Object.entries(item.measures).map(([name, value]) => [name, figure(value, tops[name])]);
  if (measures.length) parts.push(titled("Metrics", jsonValue(Object.fromEntries(measures))));
  if (data.asks) parts.push(titled(`Recollection: ${plural(item.tokens, "token")}`, ...recollection(item.recalled)));
  if (item.extra) parts.push(titled("Additional data", jsonValue(item.extra)));
  const about = [item.id, item.group, item.seconds === null ? "" : time(item.seconds)].filter(Boolean).join(" · ");
  parts.push(make("p", about, "dim"));
  return parts;
}

function row(item) {
  const asked = make("span", item.asked, "asked");
  return expandable([make("span", item.category, "category"), asked, chips(item)], () => inside(item));
}

const show = lazyList(element("list"));
function filtered() {
  const wanted = element("search").value.trim().toLowerCase();
  const [category, group, name, order] = ["category", "group", "measure", "order"].map((id) => element(id).value);
  const [low, high] = ["low", "high"].map((id) => element(id).valueAsNumber);
  const only = ONLY[element("only").value];
  const within = (item) => (Number.isNaN(low) && Number.isNaN(high))
    || (has(item, name) && !(item.measures[name] < low) && !(item.measures[name] > high));
  const left = data.items.filter((item, place) =>
    (!category || item.category === category) && (!group || item.group === group) && only(item) && within(item)
    && (!wanted || words[place].includes(wanted)));
  const means = names.slice(0, 4).map((one) => [one, average(left, (item) => item.measures[one])]).filter(([, value]) => value !== null);
  const all = left.length === data.items.length;
  element("count").textContent = [
    all ? plural(left.length, "sample") : `${number(left.length)} of ${plural(data.items.length, "sample")}`,
    ...(all ? [] : means.map(([one, value]) => `${one} ${figure(value, tops[one])}`)),
  ].join(" · ");
  show(order ? [...left].sort((a, b) => ORDERS[order](a, b, name)) : left, row);
}
filter.addEventListener("input", filtered);
filter.addEventListener("reset", () => setTimeout(filtered));
filter.addEventListener("submit", (event) => event.preventDefault());
filtered();
