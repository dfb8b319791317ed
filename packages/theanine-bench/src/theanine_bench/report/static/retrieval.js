"use strict";
const { names, runs } = data;
const [ours, theirs] = runs;
const categories = Object.keys(ours.categories).filter(Boolean);
const runNames = runs.map((run) => run.name);
const cell = (interval) => (interval ? [figure(interval.mean), `${figure(interval.low)} – ${figure(interval.high)}`] : "–");

// The run
showRun(plural(ours.questions, "question"));
element("warnings").append(...[
  data.sameData ? "" : "the runs read different data",
  data.leftOut ? `left out: ${plural(data.leftOut, "question")} that only one run has` : "",
].filter(Boolean).map((warning) => make("li", warning, "bad")));
const COSTS = [
  ["recall time, median", (run) => time(run.p50)],
  ["recall time, 95th percentile", (run) => time(run.p95)],
  ["time to remember all", (run) => time(run.remembered)],
  ["index size", (run) => `${number(run.index / 1e6, 1)} MB`],
];
const HEAD = ["within 1000", "recall@10", "session hit@10"].filter((name) => names.includes(name));
const label = (name) => name.replace(/^within (\d+)$/, (_, tokens) => `within ${number(+tokens)} tokens`);
tiles([
  ...HEAD.map((name) => [label(name), figure(ours.metrics[name].mean)]),
  ...COSTS.map(([name, format]) => [name, format(ours)]),
]);
const dropped = (run) => Object.entries(run.dropped).map(([reason, count]) => `${number(count)} ${reason}`).join(", ") || "nothing";
const rows = [...ours.about.map(([name], index) => [name, ...runs.map((run) => run.about[index][1])]), ["Dropped", ...runs.map(dropped)]];
const alike = ([, ...values]) => new Set(values).size === 1;
facts(element("about"), rows.filter(alike));
if (theirs) element("differing").append(table(["", ...runNames], [...rows.filter((row) => !alike(row)), ...COSTS.map(([name, format]) => [name, ...runs.map(format)])]));
else element("differing").remove();

for (const legend of document.querySelectorAll(".legend")) {
  if (!theirs) legend.remove();
  legend.append(...runNames.map((name, index) => legendKey(index, name)));
}

// Curves
const WITHIN = /^within (\d+)$/, RECALL = /^recall@(\d+)$/;
/** The metrics of a family, such as recall@k, as points of a curve. */
const points = (metrics, family) => Object.entries(metrics).filter(([name]) => family.test(name))
  .map(([name, interval]) => ({ x: Number(family.exec(name)[1]), ...interval })).sort((a, b) => a.x - b.x);

/** The runs' curves over all questions, or over one category with all questions in the background. */
function curve(family, across, category, from, height) {
  const metricsOf = (run) => (category ? run.categories[category] : run.metrics);
  const series = runs.filter(metricsOf).map((run) => ({ name: run.name, points: points(metricsOf(run), family), color: seriesColor(runs.indexOf(run)) }));
  const background = category ? [{ name: "all questions", points: points(ours.metrics, family), quiet: true }] : [];
  const ticks = [...new Set(series.flatMap((each) => each.points.map((point) => point.x)))].sort((a, b) => a - b);
  const title = category || "All questions";
  const drawing = lineChart([...background, ...series], { across, up: `${title}: share of the evidence`, ticks, log: true, from, to: 1, height });
  const cells = ticks.map((x) => [number(x), ...series.map((each) => cell(each.points.find((point) => point.x === x)))]);
  return chartCard(title, `n ${number(series[0].points[0].n)}`, drawing, [across, ...series.map((each) => each.name)], cells);
}

/** The start of the upper axis, below everything that is drawn. */
function axisStart(family, metrics) {
  return Math.floor(5 * least([...metrics.flatMap((each) => points(each, family)).map((point) => point.low), 0.8])) / 5;
}
if (points(ours.metrics, WITHIN).length > 1) {
  const from = axisStart(WITHIN, runs.flatMap((run) => [run.metrics, ...Object.values(run.categories)]));
  element("within").append(curve(WITHIN, "tokens", "", from, 320));
  if (categories.length > 1) element("within-each").append(...categories.map((name) => curve(WITHIN, "tokens", name, from, 200)));
} else element("tokens").remove();
element("recall").append(curve(RECALL, "k", "", axisStart(RECALL, runs.map((run) => run.metrics)), 280));

// Metrics
function byCategory() {
  const name = element("by-measure").value;
  const rows = [
    ...categories.map((category) => ({ name: category, values: runs.map((run) => run.categories[category]?.[name]) })),
    { name: "all", values: runs.map((run) => run.metrics[name]) },
  ];
  const values = () => valueTable(`${label(name)} by category`, ["", ...runNames], rows.map((row) => [row.name, ...row.values.map(cell)]));
  element("bars").replaceChildren(bars(rows, 1, theirs ? runColor : undefined), ...(theirs ? [values()] : []));
}
const metricOptions = names.map((name) => [name, label(name)]);
fillSelect("by-measure", metricOptions);
element("by-measure").value = HEAD.includes("recall@10") ? "recall@10" : names[0];
element("by-measure").addEventListener("change", byCategory);
byCategory();
const categoryHeadings = categories.map((name) => [name, `n ${number(ours.categories[name][names[0]].n)}`]);
element("means").append(table(["", "all", ...categoryHeadings], names.map((name) =>
  [label(name), cell(ours.metrics[name]), ...categories.map((category) => cell(ours.categories[category][name]))])));

// Comparison with the other run
const pValue = (p, digits) => (p === null ? "–" : p.toFixed(digits));
const range = (low, high) => (low === null ? "" : `${signed(low)} to ${signed(high)}`);
if (theirs) {
  element("compared").append(table(["", ...runNames, "difference", "p", "n"], data.compared.map(({ measure, ours, theirs, difference, p, n }) =>
    [label(measure), figure(ours), figure(theirs), [signed(difference.mean), range(difference.low, difference.high)], pValue(p, 4), number(n)])));
  element("compared").querySelectorAll("tbody tr").forEach((row, index) => {
    const { difference, p } = data.compared[index];
    if (p !== null && p < 0.05) row.children[3].classList.add("sure", difference.mean > 0 ? "good" : "bad");
  });
}

// Ablation
function ablation() {
  const name = element("part-measure").value;
  const rows = Object.entries(data.ablations).map(([part, compared]) => {
    const { difference, p } = compared.find((row) => row.measure === name);
    return { name: part, mean: -difference.mean, low: -difference.high, high: -difference.low, significant: p !== null && p < 0.05, note: `p ${pValue(p, 3)}` };
  }).sort((a, b) => b.mean - a.mean);
  element("part-bars").replaceChildren(differenceBars(rows), valueTable("each part", ["part", "worth", "95 %", "p"],
    rows.map((row) => [row.name, signed(row.mean), range(row.low, row.high), row.note.slice(2)])));
}
const [firstPart] = Object.values(data.ablations);
if (firstPart) {
  const measured = firstPart.map((row) => row.measure);
  fillSelect("part-measure", measured.map((name) => [name, label(name)]));
  if (measured.includes("recall@10")) element("part-measure").value = "recall@10";
  element("part-measure").addEventListener("change", ablation);
  ablation();
}
for (const [id, present] of [["against", theirs], ["parts", firstPart], ["tokens", element("tokens")]]) {
  if (present) continue;
  element(id)?.remove();
  document.querySelector(`nav a[href="#${id}"]`).remove();
}

// Questions
fillFilter("category", "All categories", categories);
fillSelect("measure", metricOptions);
element("measure").value = element("by-measure").value;
fillSelect("only", [["", "All questions"], ["missed", "Evidence missed"], ...(theirs ? [["better", "Better"], ["worse", "Worse"]] : [])]);
fillSelect("order", [["", "Original order"], ["worst", "Lowest first"], ...(theirs ? [["change", "Most changed first"]] : []), ["slow", "Slowest first"]]);
const texts = searchTexts(data.items, (item) => [item.id, item.question, ...item.evidence.map(([, text]) => text)]);
const change = (item, metric) => (item.otherScores ? item.scores[metric] - item.otherScores[metric] : 0);
const ONLY = {
  "": () => true,
  missed: (item, metric) => item.scores[metric] < 1,
  better: (item, metric) => change(item, metric) > 0,
  worse: (item, metric) => change(item, metric) < 0,
};
const ORDERS = {
  worst: (metric) => (a, b) => a.scores[metric] - b.scores[metric],
  change: (metric) => (a, b) => Math.abs(change(b, metric)) - Math.abs(change(a, metric)),
  slow: () => (a, b) => b.seconds - a.seconds,
};
const rankText = (rank) => (rank === null ? "not found" : `rank ${number(rank)}`);
const changeText = (item, metric) => `${figure(item.otherScores[metric])} → ${figure(item.scores[metric])}`;

function details(item) {
  const parts = item.evidence.map(([speaker, text, rank, otherRank]) => {
    const made = make("blockquote"), about = make("small", `${speaker} · `);
    about.append(make("span", rankText(rank), rank === null ? "bad" : "good"), theirs ? ` · ${theirs.name}: ${rankText(otherRank)}` : "");
    made.append(about, document.createElement("br"), text);
    return made;
  });
  const list = make("dl", undefined, "facts");
  facts(list, names.map((name, metric) => [label(name), item.otherScores ? changeText(item, metric) : figure(item.scores[metric])]));
  return [titled("Evidence", ...parts), titled(item.otherScores ? `Metrics: ${theirs.name} → ${ours.name}` : "Metrics", list), make("p", `${item.id} · ${time(item.seconds)}`, "dim")];
}

filteredList((query, { category, measure, only, order }) => {
  const metric = names.indexOf(measure);
  const rows = data.items.filter((item, index) =>
    (!category || item.category === category) && ONLY[only](item, metric) && (!query || texts[index].includes(query)));
  const value = rows.length ? ` · ${label(measure)} ${figure(mean(rows.map((item) => item.scores[metric])))}` : "";
  return { rows: order ? rows.sort(ORDERS[order](metric)) : rows, count: countOf(rows.length, data.items.length, "question") + value };
}, (item, { measure }) => {
  const metric = names.indexOf(measure), moved = change(item, metric);
  const chips = make("span", undefined, "chips");
  chips.append(make("span", moved ? changeText(item, metric) : figure(item.scores[metric]), moved > 0 ? "good" : moved < 0 ? "bad" : ""));
  return expandable([make("span", item.category, "category"), make("span", item.question, "asked"), chips], () => details(item));
});
