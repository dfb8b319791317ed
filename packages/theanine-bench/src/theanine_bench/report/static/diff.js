"use strict";
const color = (index) => `var(${seriesColor(index)})`;
const names = data.names;
const tops = Object.fromEntries(names.map((name) => [name, nice(most([...data.cases.flatMap((one) => one.runs.map((run) => run.measures[name] ?? 0)), 0.001]))]));
const runNames = data.runs.map((run) => run.name);
const first = runNames[0];
const sign = (name) => (data.less.includes(name) ? -1 : 1);

element("state").textContent = plural(data.cases.length, "common sample");
const left = Object.entries(data.left).map(([reason, count]) => `left out: ${number(count)} ${reason}`);
element("warnings").append(...[...data.warnings, ...left].map((words) => make("li", words, "bad")));

// The runs
const spent = (run, what) => {
  const one = run.spent[what];
  return one ? [`${number(one.input_tokens)} in, ${number(one.output_tokens)} out`, `${plural(one.calls, "call")}, ${money(one.cost)}`] : "–";
};
const ROWS = [
  ["Recalled tokens per sample", (run) => number(run.recalled_tokens)],
  ["Reply time, median", (run) => time(run.seconds)],
  ["Cost per sample", (run) => money(run.cost)],
  ["Tokens, remembering", (run) => spent(run, "remembering")],
  ["Tokens, answering", (run) => spent(run, "answering")],
  ["Tokens, judging", (run) => spent(run, "judging")],
  ["Samples done", (run) => (run.done < run.samples ? `${number(run.done)} of ${number(run.samples)}` : number(run.done))],
  ["Common samples without an answer", (run) => number(run.unanswered)],
];
facts(element("same"), data.settings.filter(([, values]) => new Set(values).size === 1).map(([name, values]) => [name, values[0]]));
element("about").append(table(["", ...runNames], [
  ...data.settings.filter(([, values]) => new Set(values).size > 1).map(([name, values]) => [name, ...values]),
  ...ROWS.map(([name, of]) => [name, ...data.runs.map(of)]).filter(([, ...values]) => values.some((value) => value !== "–")),
]));

// Measures
const tested = (difference, p, top) => `${signed(difference, top)}, p ${p.toFixed(3)}`;
element("means").append(table(["", "n", ...runNames], [
  ...names.map((name) => [
    data.less.includes(name) ? [name, "lower is better"] : name,
    number(data.means[name][0].n),
    ...data.means[name].map((one, place) => {
      const range = `${figure(one.low, tops[name])} – ${figure(one.high, tops[name])}`;
      const test = place ? data.against[place - 1][name] : null;
      return [figure(one.mean, tops[name]), test ? `${range}; ${tested(test.difference, test.p, tops[name])}` : range];
    }),
  ]),
  ...Object.entries(data.failing).map(([name, counts]) => [name, "0", ...counts.map((count) => ["–", `${number(count)} failed`])]),
]));
element("means").querySelectorAll("tbody tr").forEach((row, place) => {
  [...row.querySelectorAll("td")].slice(2).forEach((cell, run) => {
    const test = data.against[run][names[place]];
    if (!test || test.p >= 0.05) return;
    cell.classList.add("sure", test.difference * sign(names[place]) > 0 ? "good" : "bad");
  });
});
if (!names.length && !Object.keys(data.failing).length) element("means").replaceChildren(make("p", "The runs share no metric.", "dim"));

const corpus = Object.entries(data.corpus);
element("corpus").append(table(["", "n", ...runNames], corpus.map(([name, one]) => [
  name,
  one.against_first.length ? number(one.against_first[0].difference.n) : "–",
  ...one.values.map((value, place) => {
    if (value === null) return "–";
    const test = place ? one.against_first[place - 1] : null;
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
element("quality").append(...names.map((name) => option(name, name)));
element("cost").append(...COSTS.map(([key, words]) => option(key, words)));
element("legend").append(...data.runs.map((run, place) => {
  const key = make("span", undefined, "key"), patch = make("i");
  patch.style.background = color(place);
  key.append(patch, run.name);
  return key;
}));

function scatter(name, key, words) {
  const points = data.runs.map((run, index) => ({ name: run.name, color: seriesColor(index), x: run[key], ...data.means[name][index] }));
  return scatterChart(points.filter((point) => point.x !== null), words, name);
}

function plots() {
  const name = element("quality").value;
  const chosen = COSTS.find(([key]) => key === element("cost").value);
  element("scatter-title").textContent = chosen ? "Quality and cost" : "Quality";
  if (chosen) element("scatter").replaceChildren(scatter(name, ...chosen));
  else element("scatter").replaceChildren(make("p", "No run recorded recalled tokens, cost or time.", "dim"));
  const rows = Object.entries(data.categories).map(([category, of]) => ({ name: category || "–", values: of[name] ?? [] })).filter((row) => row.values.length);
  const sessions = rows.length > 1 && rows.every((row) => session(row.name));
  element("by").hidden = rows.length < 2;
  if (sessions) {
    const series = data.runs.map((run, index) => ({
      name: run.name, color: seriesColor(index), points: rows.map((row) => ({ x: Number(session(row.name)), ...row.values[index] })),
    }));
    element("bars").replaceChildren(lineChart(series, { across: "session", up: name, height: 240 }));
  } else element("bars").replaceChildren(bars(rows, tops[name], color));
}
for (const id of ["quality", "cost"]) element(id).addEventListener("change", plots);
if (names.length) plots();
else element("plots").hidden = true;

// Samples
const categories = [...new Set(data.cases.map((one) => one.category))].filter(Boolean).sort();
element("category").append(option("", "All categories"), ...categories.map((name) => option(name, name)));
element("category").hidden = categories.length < 2;
element("measure").append(...names.map((name) => option(name, name)));
element("run").append(...data.runs.slice(1).map((run, place) => option(place + 1, `${run.name} vs. ${first}`)));
element("run").hidden = data.runs.length < 3;
element("only").append(option("", "All samples"), option("better", "Better"), option("worse", "Worse"), option("same", "Unchanged"));
const words = data.cases.map((one) => [one.id, one.asked, one.reference, ...one.runs.map((run) => run.answer)].filter(Boolean).join("\n").toLowerCase());

function column(run, place) {
  const made = make("div"), title = make("h3", data.runs[place].name), answer = run.answer;
  const values = Object.entries(run.measures).map(([name, value]) => `${name} ${figure(value, tops[name] ?? 1)}`).join(" · ");
  const key = make("span", undefined, "key"), patch = make("i");
  patch.style.background = color(place);
  key.append(patch, title);
  made.append(key, make("p", answer === null ? "No answer." : answer || "(empty)", answer === null ? "quoted bad" : "quoted"), make("p", values, "dim"));
  for (const [name, why] of Object.entries(run.failures ?? {})) made.append(make("p", `${name}: ${why}`, "quoted bad"));
  const parts = make("details", undefined, "part");
  parts.append(make("summary", `Recollection: ${plural(run.tokens, "token")}`));
  parts.addEventListener("toggle", () => {
    if (parts.childElementCount === 1) parts.append(...recollection(run.recalled));
  });
  made.append(parts);
  return made;
}

function inside(one) {
  const pair = make("div", undefined, "pair");
  pair.append(...one.runs.map(column));
  const parts = [titled("Dialogue", ...dialogue(one.dialogue))];
  if (one.reference) parts.push(titled("Reference", make("p", one.reference, "quoted good")));
  return [...parts, pair, make("p", [one.id, one.group].join(" · "), "dim")];
}

const gain = (one, name, run) => {
  const [before, after] = [one.runs[0].measures[name], one.runs[run].measures[name]];
  return before === undefined || after === undefined ? null : sign(name) * (after - before);
};
function row(one) {
  const name = element("measure").value, run = Number(element("run").value), change = gain(one, name, run);
  const chips = make("span", undefined, "chips");
  if (change !== null) {
    const [before, after] = [one.runs[0].measures[name], one.runs[run].measures[name]].map((value) => figure(value, tops[name]));
    chips.append(make("span", change === 0 ? before : `${before} → ${after}`, change > 0 ? "gain good" : change < 0 ? "gain bad" : "gain"));
  }
  if (one.runs.some((each) => each.failures)) chips.append(make("span", "failed", "bad"));
  return expandable([make("span", one.category, "category"), make("span", one.asked, "asked"), chips], () => inside(one));
}

const ONLY = { "": () => true, better: (change) => change > 0, worse: (change) => change !== null && change < 0, same: (change) => change === 0 };
const show = lazyList(element("list"));
function filtered() {
  const wanted = element("search").value.trim().toLowerCase();
  const [category, name, run, only] = ["category", "measure", "run", "only"].map((id) => element(id).value);
  const found = data.cases
    .map((one, place) => ({ one, place, change: gain(one, name, Number(run)) }))
    .filter(({ one, place, change }) => (!category || one.category === category) && ONLY[only](change) && (!wanted || words[place].includes(wanted)));
  const count = (kind) => found.filter(({ change }) => ONLY[kind](change)).length;
  element("count").textContent = `${number(found.length)} of ${plural(data.cases.length, "sample")} · ${number(count("better"))} better, ${number(count("worse"))} worse, ${number(count("same"))} unchanged`;
  const size = (change) => Math.abs(change ?? 0);
  show(found.sort((a, b) => size(b.change) - size(a.change) || a.place - b.place).map(({ one }) => one), row);
}
const filter = element("filter");
filter.addEventListener("input", filtered);
filter.addEventListener("reset", () => setTimeout(filtered));
filter.addEventListener("submit", (event) => event.preventDefault());
filtered();
