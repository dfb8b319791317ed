"use strict";
const { names, runs } = data;
const [ours, theirs] = runs;
const categories = Object.keys(ours.categories).filter(Boolean);
const cell = (one) => (one ? [figure(one.mean), `${figure(one.low)} – ${figure(one.high)}`] : "–");

// The run
element("title").textContent = data.title;
element("state").textContent = plural(ours.questions, "question");
element("warnings").append(...[
  data.sameData ? "" : "the runs read different data",
  data.left ? `left out: ${plural(data.left, "question")} that only one run has` : "",
].filter(Boolean).map((words) => make("li", words, "bad")));
const COSTS = [
  ["recall time, median", (run) => time(run.p50)],
  ["recall time, 95th percentile", (run) => time(run.p95)],
  ["time to remember all", (run) => time(run.remembered)],
  ["index size", (run) => `${number(run.index / 1e6, 1)} MB`],
];
const HEAD = ["within 1000", "recall@10", "session hit@10"].filter((name) => names.includes(name));
const called = (name) => name.replace(/^within (\d+)$/, (_, tokens) => `within ${number(+tokens)} tokens`);
for (const [name, value] of [...HEAD.map((name) => [called(name), figure(ours.measures[name].mean)]), ...COSTS.map(([name, of]) => [name, of(ours)])]) {
  const tile = make("div", name, "tile");
  tile.prepend(make("b", value));
  element("tiles").append(tile);
}
const dropped = (run) => Object.entries(run.dropped).map(([reason, count]) => `${number(count)} ${reason}`).join(", ") || "nothing";
const rows = [...ours.about.map(([name], place) => [name, ...runs.map((run) => run.about[place][1])]), ["Dropped", ...runs.map(dropped)]];
const alike = ([, ...values]) => new Set(values).size === 1;
facts(element("about"), rows.filter(alike));
if (theirs) element("differing").append(table(["", ...runs.map((run) => run.name)], [...rows.filter((row) => !alike(row)), ...COSTS.map(([name, of]) => [name, ...runs.map(of)])]));
else element("differing").remove();
element("command").textContent = data.command;
element("command").hidden = !data.command;

for (const legend of document.querySelectorAll(".legend")) {
  if (!theirs) legend.remove();
  legend.append(...runs.map((run, place) => {
    const key = make("span", undefined, "key"), patch = make("i");
    patch.style.background = `var(${seriesColor(place)})`;
    key.append(patch, run.name);
    return key;
  }));
}

// Curves
const WITHIN = /^within (\d+)$/, RECALL = /^recall@(\d+)$/;
const points = (measures, form) => Object.entries(measures).filter(([name]) => form.test(name))
  .map(([name, one]) => ({ x: Number(form.exec(name)[1]), ...one })).sort((a, b) => a.x - b.x);

/** The runs' curves over all questions, or over one category with all questions in the background. */
function curve(form, across, category, from, height) {
  const of = (run) => (category ? run.categories[category] : run.measures);
  const series = runs.filter(of).map((run) => ({ name: run.name, points: points(of(run), form), color: seriesColor(runs.indexOf(run)) }));
  const background = category ? [{ name: "all questions", points: points(ours.measures, form), quiet: true }] : [];
  const ticks = [...new Set(series.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b);
  const title = category || "All questions";
  const drawing = lineChart([...background, ...series], { across, up: `${title}: share of the evidence`, ticks, log: true, from, to: 1, height });
  const cells = ticks.map((x) => [number(x), ...series.map((one) => cell(one.points.find((point) => point.x === x)))]);
  return chartCard(title, `n ${number(series[0].points[0].n)}`, drawing, [across, ...series.map((one) => one.name)], cells);
}

/** The start of the upper axis, below everything that is drawn. */
function begin(form) {
  const all = runs.flatMap((run) => [run.measures, ...Object.values(run.categories)]).flatMap((measures) => points(measures, form));
  return Math.floor(5 * least([...all.map((point) => point.low), 0.8])) / 5;
}
if (points(ours.measures, WITHIN).length > 1) {
  const from = begin(WITHIN);
  element("within").append(curve(WITHIN, "tokens", "", from, 320));
  if (categories.length > 1) element("within-each").append(...categories.map((name) => curve(WITHIN, "tokens", name, from, 200)));
} else element("tokens").remove();
element("recall").append(curve(RECALL, "k", "", Math.floor(5 * least(runs.flatMap((run) => points(run.measures, RECALL)).map((point) => point.low))) / 5, 280));

// Measures
const all = (of) => [...categories.map((name) => [name, (run) => run.categories[name]?.[of]]), ["all", (run) => run.measures[of]]];
function byCategory() {
  const name = element("by-measure").value;
  const shown = all(name).map(([category, of]) => ({ name: category, values: runs.map(of) }));
  element("bars").replaceChildren(
    bars(shown, 1, theirs ? (place) => `var(--s${place})` : undefined),
    ...(theirs ? [valueTable(`${called(name)} by category`, ["", ...runs.map((run) => run.name)], shown.map((row) => [row.name, ...row.values.map(cell)]))] : []),
  );
}
element("by-measure").append(...names.map((name) => option(name, called(name))));
element("by-measure").value = HEAD.includes("recall@10") ? "recall@10" : names[0];
element("by-measure").addEventListener("change", byCategory);
byCategory();
const n = (name) => number(ours.categories[name][names[0]].n);
element("means").append(table(["", "all", ...categories.map((name) => [name, `n ${n(name)}`])], names.map((name) =>
  [called(name), cell(ours.measures[name]), ...categories.map((category) => cell(ours.categories[category][name]))])));

// Against the other run
const markSignificant = (row, one, place) => one.p < 0.05 && row.children[place].classList.add("sure", one.difference.mean > 0 ? "good" : "bad");
if (theirs) {
  element("compared").append(table(["", ...runs.map((run) => run.name), "difference", "p", "n"], data.compared.map((one) =>
    [called(one.measure), figure(one.ours), figure(one.theirs), [signed(one.difference.mean), `${signed(one.difference.low)} to ${signed(one.difference.high)}`], one.p.toFixed(4), number(one.n)])));
  element("compared").querySelectorAll("tbody tr").forEach((row, place) => markSignificant(row, data.compared[place], 3));
}

// Parts
function parts() {
  const name = element("part-measure").value;
  const shown = Object.entries(data.parts).map(([part, found]) => {
    const { difference, p } = found.find((one) => one.measure === name);
    return { name: part, mean: -difference.mean, low: -difference.high, high: -difference.low, significant: p < 0.05, note: `p ${p.toFixed(3)}` };
  }).sort((a, b) => b.mean - a.mean);
  element("part-bars").replaceChildren(differenceBars(shown), valueTable("each part", ["part", "worth", "95 %", "p"],
    shown.map((row) => [row.name, signed(row.mean), `${signed(row.low)} to ${signed(row.high)}`, row.note.slice(2)])));
}
const [first] = Object.values(data.parts);
if (first) {
  element("part-measure").append(...first.map((one) => option(one.measure, called(one.measure))));
  if (first.some((one) => one.measure === "recall@10")) element("part-measure").value = "recall@10";
  element("part-measure").addEventListener("change", parts);
  parts();
}
for (const [id, there] of [["against", theirs], ["parts", first], ["tokens", element("tokens")]]) {
  if (there) continue;
  element(id)?.remove();
  document.querySelector(`nav a[href="#${id}"]`).remove();
}

// Questions
element("category").append(option("", "All categories"), ...categories.map((name) => option(name, name)));
element("category").hidden = categories.length < 2;
element("measure").append(...names.map((name) => option(name, called(name))));
element("measure").value = element("by-measure").value;
element("only").append(option("", "All questions"), option("missed", "Evidence missed"), ...(theirs ? [option("better", "Better"), option("worse", "Worse")] : []));
element("order").append(option("", "Original order"), option("worst", "Lowest first"), ...(theirs ? [option("change", "Most changed first")] : []), option("slow", "Slowest first"));
const words = data.items.map((item) => [item.id, item.asked, ...item.evidence.map(([, text]) => text)].join("\n").toLowerCase());
const change = (item, place) => (item.other ? item.measures[place] - item.other[place] : 0);
const ONLY = { "": () => true, missed: (item, place) => item.measures[place] < 1, better: (item, place) => change(item, place) > 0, worse: (item, place) => change(item, place) < 0 };
const ORDERS = {
  worst: (place) => (a, b) => a.measures[place] - b.measures[place],
  change: (place) => (a, b) => Math.abs(change(b, place)) - Math.abs(change(a, place)),
  slow: () => (a, b) => b.seconds - a.seconds,
};
const ranked = (rank) => (rank === null ? "not found" : `rank ${number(rank)}`);

function inside(item) {
  const parts = item.evidence.map(([speaker, text, rank, other]) => {
    const made = make("blockquote"), about = make("small", `${speaker} · `);
    about.append(make("span", ranked(rank), rank === null ? "bad" : "good"), theirs ? ` · ${theirs.name}: ${ranked(other)}` : "");
    made.append(about, document.createElement("br"), text);
    return made;
  });
  const values = names.map((name, place) => [called(name), item.other ? `${figure(item.other[place])} → ${figure(item.measures[place])}` : figure(item.measures[place])]);
  const list = make("dl", undefined, "facts");
  facts(list, values);
  return [titled("Evidence", ...parts), titled(item.other ? `Metrics: ${theirs.name} → ${ours.name}` : "Metrics", list), make("p", `${item.id} · ${time(item.seconds)}`, "dim")];
}

const show = lazyList(element("list"));
function filtered() {
  const wanted = element("search").value.trim().toLowerCase(), category = element("category").value;
  const place = names.indexOf(element("measure").value), order = element("order").value;
  const left = data.items.filter((item, number) =>
    (!category || item.category === category) && ONLY[element("only").value](item, place) && (!wanted || words[number].includes(wanted)));
  const value = left.length ? ` · ${called(names[place])} ${figure(mean(left.map((item) => item.measures[place])))}` : "";
  element("count").textContent = `${left.length === data.items.length ? "" : `${number(left.length)} of `}${plural(data.items.length, "question")}${value}`;
  show(order ? [...left].sort(ORDERS[order](place)) : left, (item) => {
    const chips = make("span", undefined, "chips"), now = figure(item.measures[place]), moved = change(item, place);
    chips.append(make("span", moved ? `${figure(item.other[place])} → ${now}` : now, moved > 0 ? "good" : moved < 0 ? "bad" : ""));
    return expandable([make("span", item.category, "category"), make("span", item.asked, "asked"), chips], () => inside(item));
  });
}
const filter = element("filter");
filter.addEventListener("input", filtered);
filter.addEventListener("reset", () => setTimeout(filtered));
filter.addEventListener("submit", (event) => event.preventDefault());
filtered();
