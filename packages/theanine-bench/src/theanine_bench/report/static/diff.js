"use strict";
const { names, samples } = data;
const tops = Object.fromEntries(names.map((name) => [name, nice(most([...samples.flatMap((sample) => sample.runs.map((run) => run.scores[name] ?? 0)), 0.001]))]));
const runNames = data.runs.map((run) => run.name);
const sign = (name) => (data.lowerIsBetter.includes(name) ? -1 : 1);

element("state").textContent = plural(samples.length, "common sample");
const leftOut = Object.entries(data.leftOut).map(([reason, count]) => `left out: ${number(count)} ${reason}`);
element("warnings").append(...[...data.warnings, ...leftOut].map((warning) => make("li", warning, "bad")));

// The runs
const usageCell = (run, purpose) => {
  const usage = run.spent[purpose];
  return usage ? [`${number(usage.input_tokens)} in, ${number(usage.output_tokens)} out`, `${plural(usage.calls, "call")}, ${money(usage.cost)}`] : "–";
};
const ROWS = [
  ["Recalled tokens per sample", (run) => number(run.recalled_tokens)],
  ["Reply time, median", (run) => time(run.seconds)],
  ["Cost per sample", (run) => money(run.cost)],
  ["Tokens, remembering", (run) => usageCell(run, "remembering")],
  ["Tokens, answering", (run) => usageCell(run, "answering")],
  ["Tokens, judging", (run) => usageCell(run, "judging")],
  ["Samples done", (run) => (run.done < run.samples ? `${number(run.done)} of ${number(run.samples)}` : number(run.done))],
  ["Common samples without an answer", (run) => number(run.unanswered)],
];
facts(element("same"), data.settings.filter(([, values]) => new Set(values).size === 1).map(([name, values]) => [name, values[0]]));
element("about").append(table(["", ...runNames], [
  ...data.settings.filter(([, values]) => new Set(values).size > 1).map(([name, values]) => [name, ...values]),
  ...ROWS.map(([name, format]) => [name, ...data.runs.map(format)]).filter(([, ...values]) => values.some((value) => value !== "–")),
]));

// Metrics
const tested = (difference, p, top) => `${signed(difference, top)}, ${p === null ? "too few for p" : `p ${p.toFixed(3)}`}`;
element("means").append(table(["", "n", ...runNames], [
  ...names.map((name) => [
    data.lowerIsBetter.includes(name) ? [name, "lower is better"] : name,
    number(data.means[name][0].n),
    ...data.means[name].map((interval, run) => {
      const range = `${figure(interval.low, tops[name])} – ${figure(interval.high, tops[name])}`;
      const test = run ? data.comparisons[run - 1][name] : null;
      return [figure(interval.mean, tops[name]), test ? `${range}; ${tested(test.difference, test.p, tops[name])}` : range];
    }),
  ]),
  ...Object.entries(data.failing).map(([name, counts]) => [name, "0", ...counts.map((count) => ["–", `${number(count)} failed`])]),
]));
element("means").querySelectorAll("tbody tr").forEach((row, metric) => {
  [...row.querySelectorAll("td")].slice(2).forEach((cell, run) => {
    const test = data.comparisons[run][names[metric]];
    if (!test || test.p === null || test.p >= 0.05) return;
    cell.classList.add("sure", test.difference * sign(names[metric]) > 0 ? "good" : "bad");
  });
});
if (!names.length && !Object.keys(data.failing).length) showNote("means", "The runs share no metric.");

const corpus = Object.entries(data.corpus);
element("corpus").append(table(["", "n", ...runNames], corpus.map(([name, { against_first: tests, values }]) => [
  name,
  tests.length ? number(tests[0].difference.n) : "–",
  ...values.map((value, run) => {
    if (value === null) return "–";
    const test = run ? tests[run - 1] : null;
    return [figure(value, value), test ? tested(test.difference.mean, test.p, value) : ""];
  }),
])));
const untested = new Map();
for (const [name, { why }] of corpus) if (why) untested.set(why, new Set([...(untested.get(why) ?? []), name.split("/")[0]]));
element("untested").append(...[...untested].map(([why, kinds]) => make("li", `${[...kinds].join(", ")}: ${why}`, "dim")));
for (const id of ["corpus-title", "corpus", "untested"]) element(id).hidden = !corpus.length;

// Plots
const COSTS = [
  ["recalled_tokens", "recalled tokens per sample"],
  ["cost", "cost per sample, dollars"],
  ["seconds", "reply time in seconds, median"],
].filter(([key]) => data.runs.some((run) => run[key]));
fillSelect("quality", names);
fillSelect("cost", COSTS);
element("legend").append(...runNames.map((name, index) => legendKey(index, name)));

function scatter(name, key, label) {
  const points = data.runs.map((run, index) => ({ name: run.name, color: seriesColor(index), x: run[key], ...data.means[name][index] }));
  return scatterChart(points.filter((point) => point.x !== null), label, name);
}

function plots() {
  const name = element("quality").value;
  const chosen = COSTS.find(([key]) => key === element("cost").value);
  element("scatter-title").textContent = chosen ? "Quality and cost" : "Quality";
  if (chosen) element("scatter").replaceChildren(scatter(name, ...chosen));
  else showNote("scatter", "No run recorded recalled tokens, cost or time.");
  const rows = Object.entries(data.categories).map(([category, means]) => ({ name: category || "–", values: means[name] ?? [] })).filter((row) => row.values.length);
  const sessions = rows.length > 1 && rows.every((row) => session(row.name));
  element("by").hidden = rows.length < 2;
  if (sessions) {
    const series = data.runs.map((run, index) => ({
      name: run.name, color: seriesColor(index), points: rows.map((row) => ({ x: Number(session(row.name)), ...row.values[index] })),
    }));
    element("bars").replaceChildren(lineChart(series, { across: "session", up: name, height: 240 }));
  } else element("bars").replaceChildren(bars(rows, tops[name], runColor));
}
for (const id of ["quality", "cost"]) element(id).addEventListener("change", plots);
if (names.length) plots();
else element("plots").hidden = true;

// Samples
fillFilter("category", "All categories", [...new Set(samples.map((sample) => sample.category))].filter(Boolean).sort());
fillSelect("measure", names);
fillSelect("run", runNames.slice(1).map((name, index) => [index + 1, `${name} vs. ${runNames[0]}`]));
element("run").hidden = data.runs.length < 3;
fillSelect("only", [["", "All samples"], ["better", "Better"], ["worse", "Worse"], ["same", "Unchanged"]]);
const texts = searchTexts(samples, (sample) => [sample.id, sample.question, sample.reference, ...sample.runs.map((run) => run.answer)]);

function column(run, index) {
  const made = make("div"), answer = run.answer;
  const scores = Object.entries(run.scores).map(([name, value]) => `${name} ${figure(value, tops[name] ?? 1)}`).join(" · ");
  made.append(
    legendKey(index, make("h3", runNames[index])),
    make("p", answer === null ? "No answer." : answer || "(empty)", answer === null ? "quoted bad" : "quoted"),
    make("p", scores, "dim"),
    ...Object.entries(run.failures ?? {}).map(([name, reason]) => make("p", `${name}: ${reason}`, "quoted bad")),
  );
  made.append(lazyDetails(make("summary", `Recollection: ${plural(run.tokens, "token")}`), () => recollection(run.recalled), "part"));
  return made;
}

function details(sample) {
  const pair = make("div", undefined, "pair");
  pair.append(...sample.runs.map(column));
  const parts = [titled("Dialogue", ...dialogue(sample.dialogue))];
  if (sample.reference) parts.push(titled("Reference", make("p", sample.reference, "quoted good")));
  return [...parts, pair, make("p", [sample.id, sample.group].join(" · "), "dim")];
}

/** How much better a run is for a sample than the first; null if one of them lacks the metric. */
const gain = (sample, name, run) => {
  const [before, after] = [sample.runs[0].scores[name], sample.runs[run].scores[name]];
  return before === undefined || after === undefined ? null : sign(name) * (after - before);
};
function row(sample, { measure, run }) {
  const change = gain(sample, measure, run), chips = make("span", undefined, "chips");
  if (change !== null) {
    const [before, after] = [0, run].map((index) => figure(sample.runs[index].scores[measure], tops[measure]));
    chips.append(make("span", change === 0 ? before : `${before} → ${after}`, change > 0 ? "gain good" : change < 0 ? "gain bad" : "gain"));
  }
  if (sample.runs.some((each) => each.failures)) chips.append(make("span", "failed", "bad"));
  return expandable([make("span", sample.category, "category"), make("span", sample.question, "asked"), chips], () => details(sample));
}

const ONLY = { "": () => true, better: (change) => change > 0, worse: (change) => change !== null && change < 0, same: (change) => change === 0 };
filteredList((query, { category, measure, run, only }) => {
  const shown = samples
    .map((sample, index) => ({ sample, index, change: gain(sample, measure, run) }))
    .filter(({ sample, index, change }) => (!category || sample.category === category) && ONLY[only](change) && (!query || texts[index].includes(query)));
  const count = (kind) => number(shown.filter(({ change }) => ONLY[kind](change)).length);
  const size = (change) => Math.abs(change ?? 0);
  return {
    rows: shown.sort((a, b) => size(b.change) - size(a.change) || a.index - b.index).map(({ sample }) => sample),
    count: `${number(shown.length)} of ${plural(samples.length, "sample")} · ${count("better")} better, ${count("worse")} worse, ${count("same")} unchanged`,
  };
}, row);
