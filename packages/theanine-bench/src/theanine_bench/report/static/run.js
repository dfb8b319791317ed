"use strict";
const { names, items } = data;
const hasScore = (item, name) => item.scores[name] !== undefined;
const scoresOf = (name, among = items) => among.filter((item) => hasScore(item, name)).map((item) => item.scores[name]);
const tops = Object.fromEntries(names.map((name) => [name, nice(most([...scoresOf(name), 0.001]))]));
const categories = Object.keys(data.categories).filter(Boolean);

// The run
showRun(data.finished ? plural(data.done, "sample") : `unfinished: ${number(data.done)} of ${plural(data.total, "sample")}`);
if (!data.finished) {
  element("state").classList.add("bad");
  element("state").title = data.stopped;
}
facts(element("about"), [...data.about, ["Stopped", data.stopped]]);

// Metrics
function card(name) {
  const interval = data.metrics[name], top = tops[name];
  const notes = [];
  if (data.lowerIsBetter.includes(name)) notes.push("lower is better");
  if (interval.failed) notes.push(make("span", `${number(interval.failed)} failed`, "bad"));
  const pick = (low, high) => showFiltered({ measure: name, low, high }, updateList);
  const made = metricCard(name, interval, { top, notes, values: scoresOf(name), pick });
  const rows = categories.map((category) => ({ name: category, values: [data.categories[category][name]] })).filter((row) => row.values[0]?.n);
  if (rows.length > 1) {
    const sessions = categories.every(session);
    const points = rows.map((row) => ({ x: Number(session(row.name)), ...row.values[0] }));
    made.append(titled(sessions ? "By session" : "By category", sessions ? lineChart([{ name, points }], { across: "session", up: name, height: 190 }) : bars(rows, top)));
  }
  return made;
}
if (data.table) element("own-table").append(table(data.table.columns, data.table.rows));
else element("own-table").remove();
element("cards").append(...names.map(card));
if (!names.length) showNote("cards", "No metrics yet.");
element("corpus-title").hidden = !Object.keys(data.corpus).length;
facts(element("corpus"), Object.entries(data.corpus).map(([name, value]) => [name, typeof value === "number" ? figure(value, value) : value]));

// Cost
const usages = Object.values(data.spent);
const cost = usages.some((usage) => usage.cost === null) ? null : usages.reduce((sum, usage) => sum + usage.cost, 0);
tiles([
  ["recalled tokens per sample", data.recalledTokens === null ? "–" : number(data.recalledTokens)],
  ["reply time, median", time(data.seconds.p50)],
  ["reply time, 95th percentile", time(data.seconds.p95)],
  ["model calls", number(usages.reduce((sum, usage) => sum + usage.calls, 0))],
  ["cost", money(cost)],
  ["cost per sample", cost === null ? "unknown" : money(cost / Math.max(1, data.done))],
]);
if (usages.length) {
  element("spent").append(table(["", "calls", "failed", "tokens in", "tokens out", "cost"], Object.entries(data.spent).map(([purpose, usage]) =>
    [purpose, number(usage.calls), number(usage.failed), number(usage.input_tokens), number(usage.output_tokens), money(usage.cost)])));
} else element("spent").replaceWith(make("p", "No language model was called.", "dim"));

const shownNames = names.slice(0, 8);
const average = (values) => {
  const present = values.filter((value) => value !== null && value !== undefined);
  return present.length ? mean(present) : null;
};
function categoryRow(category, samples) {
  const means = shownNames.map((name) => {
    const value = average(scoresOf(name, samples));
    return value === null ? "–" : figure(value, tops[name]);
  });
  const [tokens, seconds] = ["tokens", "seconds"].map((key) => average(samples.map((item) => item[key])));
  return [category, number(samples.length), ...means, number(tokens ?? 0), time(seconds)];
}
if (items.length) {
  const rows = categories.length > 1 ? categories.map((name) => categoryRow(name, items.filter((item) => item.category === name))) : [];
  element("by-category").append(table(["", "samples", ...shownNames, "recalled tokens", "reply time"], [...rows, categoryRow("all", items)]));
} else element("by-category").remove();

function drawTrend() {
  const name = element("against-measure").value, cost = element("against-cost").value;
  const points = items.filter((item) => hasScore(item, name) && item[cost] !== null).map((item) => ({ x: item[cost], y: item.scores[name] }));
  if (points.length) element("against-plot").replaceChildren(trendChart(points, cost === "tokens" ? "recalled tokens" : "seconds per reply", name));
  else showNote("against-plot", "No values recorded.");
}
fillSelect("against-measure", names);
for (const id of ["against-measure", "against-cost"]) element(id).addEventListener("change", drawTrend);
const varied = names.find((name) => new Set(items.map((item) => item.scores[name])).size > 2);
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
reasons(element("failures"), data.failures, (reason) => showFiltered({ search: reason.slice(reason.indexOf(": ") + 2) }, updateList));
if (data.unanswered) element("failures").prepend(make("li", `${plural(data.unanswered, "sample")} without an answer`, "bad"));
if (!element("failures").childElementCount) element("failures").append(make("li", "Nothing failed.", "good"));
if (Object.keys(data.failures).length) {
  document.querySelector('nav a[href="#failed"]').textContent = `Failures (${number(items.filter((item) => item.failures).length)})`;
}
reasons(element("dropped"), data.dropped);
element("dropped-title").hidden = !element("dropped").childElementCount;

// Samples
fillFilter("category", "All categories", categories);
fillFilter("group", "All users", [...new Set(items.map((item) => item.group))]);
fillSelect("only", [["", "All samples"], ["failed", "Failed"], ["unanswered", "Without an answer"], ["nothing", "Nothing recalled"]]);
fillSelect("measure", names);
fillSelect("order", [["", "Original order"], ["worst", "Lowest first"], ["best", "Highest first"], ["tokens", "Most recalled tokens first"], ["seconds", "Slowest first"]]);

const texts = searchTexts(items, (item) =>
  [item.id, item.answer, item.reference, item.question, ...item.dialogue.map((index) => data.utterances[index][2]), ...Object.values(item.failures ?? {})]);
const ONLY = {
  "": () => true,
  failed: (item) => item.failures,
  unanswered: (item) => item.answer === null,
  nothing: (item) => !item.recalled.length,
};
const ORDERS = {
  "": () => 0,
  worst: (a, b, name) => (a.scores[name] ?? Infinity) - (b.scores[name] ?? Infinity),
  best: (a, b, name) => (b.scores[name] ?? -Infinity) - (a.scores[name] ?? -Infinity),
  tokens: (a, b) => b.tokens - a.tokens,
  seconds: (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
};

function chips(item) {
  const row = make("span", undefined, "chips");
  for (const name of names.slice(0, 4)) {
    if (!hasScore(item, name)) continue;
    const value = item.scores[name], chip = make("span", `${name} ${figure(value, tops[name])}`);
    const share = Math.min(1, Math.max(0, value / tops[name]));
    chip.style.background = `color-mix(in srgb, var(--bar) ${Math.round(75 * share)}%, var(--soft))`;
    row.append(chip);
  }
  if (item.failures) row.append(make("span", "failed", "bad"));
  return row;
}

function verdicts(item) {
  return Object.entries(item.verdicts ?? {}).map(([name, { model, prompt, ...judgment }]) =>
    titled(`${model ? "Judge" : "Verdict"}: ${[name, model, prompt].filter(Boolean).join(", ")}`, jsonValue(judgment)));
}

function details(item) {
  const answer = item.answer === null ? make("p", "No answer.", "quoted bad") : make("p", item.answer || "(empty)", "quoted");
  const pair = make("div", undefined, "pair");
  if (data.hasTarget) pair.append(titled(`Answer, by ${item.madeBy}`, answer));
  if (item.reference) pair.append(titled("Reference", make("p", item.reference, "quoted good")));
  const parts = [titled("Dialogue", ...dialogue(item.dialogue)), pair];
  if (item.failures) parts.push(titled("Failed", ...Object.entries(item.failures).map(([name, reason]) => make("p", `${name}: ${reason}`, "quoted bad"))));
  if (item.rationale) parts.push(titled("Rationale", make("p", item.rationale, "quoted")));
  parts.push(...verdicts(item));
  const scores = Object.entries(item.scores).map(([name, value]) => [name, figure(value, tops[name])]);
  if (scores.length) parts.push(titled("Metrics", jsonValue(Object.fromEntries(scores))));
  if (data.hasTarget) parts.push(titled(`Recollection: ${plural(item.tokens, "token")}`, ...recollection(item.recalled)));
  if (item.extra) parts.push(titled("Additional data", jsonValue(item.extra)));
  const about = [item.id, item.group, item.seconds === null ? "" : time(item.seconds)].filter(Boolean).join(" · ");
  return [...parts, make("p", about, "dim")];
}

const updateList = filteredList((query, { category, group, only, measure, order, low, high }) => {
  const unlimited = Number.isNaN(low) && Number.isNaN(high);
  const rows = items.filter((item, index) =>
    (!category || item.category === category) && (!group || item.group === group) && ONLY[only](item)
    && (unlimited || (hasScore(item, measure) && isWithin(item.scores[measure], { low, high })))
    && (!query || texts[index].includes(query)));
  const means = rows.length === items.length ? [] : names.slice(0, 4).map((name) => [name, average(scoresOf(name, rows))]);
  const shownMeans = means.filter(([, value]) => value !== null).map(([name, value]) => `${name} ${figure(value, tops[name])}`);
  return {
    rows: order ? rows.sort((a, b) => ORDERS[order](a, b, measure)) : rows,
    count: [countOf(rows.length, items.length, "sample"), ...shownMeans].join(" · "),
  };
}, (item) => expandable([make("span", item.category, "category"), make("span", item.question, "asked"), chips(item)], () => details(item)));
