"use strict";
const LOWER_IS_BETTER = new Set(["Pk", "WD"]);
const { items } = data;

showRun(plural(items.length, "dialogue"));
facts(element("about"), [...data.about, ["Turns per second", number(data.speed)]]);

// Metrics
element("cards").append(...Object.entries(data.metrics).map(([name, interval]) => metricCard(name, interval, {
  notes: LOWER_IS_BETTER.has(name) ? ["lower is better"] : [],
  values: LOWER_IS_BETTER.has(name) ? items.map((item) => item.scores[name]) : undefined,
  pick: (low, high) => showFiltered({ measure: name, low, high }, updateList),
})));

// Published figures
const publishedNote = element("published-note");
function comparePublished() {
  const chosen = data.published.find((table) => table.id === element("table").value);
  publishedNote.hidden = !chosen;
  element("bars").replaceChildren();
  element("rows").replaceChildren();
  if (!chosen) return;
  publishedNote.textContent = "Published values are comparable only if they were measured on the same data; check that before you compare.";
  chosen.columns.forEach((name, column) => {
    const published = chosen.rows.map(([label, values]) => ({ name: label, mean: values[column] })).filter((row) => row.mean !== null);
    const ours = { name: "this run", ours: true, ...data.metrics[name] };
    const rows = [...published, ours].sort((a, b) => (LOWER_IS_BETTER.has(name) ? a.mean - b.mean : b.mean - a.mean));
    const card = make("article", undefined, "card"), title = make("h3", name);
    title.append(make("small", LOWER_IS_BETTER.has(name) ? " lower is better" : " higher is better"));
    card.append(title, bars(rows.map((row) => ({ name: row.name, own: row.ours, values: [row] })), 1));
    element("bars").append(card);
  });
  const cells = (values) => values.map((value) => (value === null ? "–" : figure(value)));
  element("rows").append(valueTable(chosen.name, ["", ...chosen.columns], [
    ...chosen.rows.map(([label, values]) => [label, ...cells(values)]),
    ["this run", ...chosen.columns.map((name) => figure(data.metrics[name].mean))],
  ]));
}
fillSelect("table", [["", "choose a set"], ...data.published.map((table) => [table.id, table.name])]);
element("table").value = data.named;
element("table").addEventListener("change", comparePublished);
comparePublished();

// Dialogues
function strip(lengths, label) {
  const made = make("span", undefined, "strip");
  made.title = `${label}: ${lengths.join(" + ")} turns`;
  made.append(...lengths.map((length) => {
    const part = make("i");
    part.style.flexGrow = length;
    return part;
  }));
  return made;
}
/** The numbers of the turns that end a segment. */
function boundaries(lengths) {
  let turns = 0;
  return new Set(lengths.map((length) => (turns += length)));
}

function details({ texts, gold, predicted }) {
  const [goldEnds, predictedEnds] = [boundaries(gold), boundaries(predicted)];
  return texts.flatMap((text, index) => {
    const end = index + 1, turn = make("p", text, "turn");
    const [isGold, isPredicted] = [goldEnds.has(end), predictedEnds.has(end)];
    if (end === texts.length || !(isGold || isPredicted)) return [turn];
    const label = isGold && isPredicted ? "boundary, found" : isGold ? "boundary, missed" : "predicted, no boundary";
    return [turn, make("p", label, `cut ${isGold && isPredicted ? "good" : "bad"}`)];
  });
}

function row(item) {
  const chips = make("span", undefined, "chips"), strips = make("span", undefined, "strips");
  chips.append(...Object.entries(item.scores).map(([name, value]) => make("span", `${name} ${figure(value)}`)));
  strips.append(strip(item.gold, "reference"), strip(item.predicted, "predicted"));
  return expandable([make("span", item.id, "category"), strips, make("small", plural(item.texts.length, "turn"), "dim"), chips], () => details(item));
}

fillSelect("measure", [...LOWER_IS_BETTER]);
fillSelect("order", [["", "Original order"], ["worst", "Worst first"], ["best", "Best first"]]);
const searched = searchTexts(items, (item) => [item.id, ...item.texts]);
const updateList = filteredList((query, { measure, low, high, order }) => {
  const rows = items.filter((item, index) => (!query || searched[index].includes(query)) && isWithin(item.scores[measure], { low, high }));
  const sign = order === "worst" ? -1 : 1;
  return {
    rows: order ? rows.sort((a, b) => sign * (a.scores[measure] - b.scores[measure])) : rows,
    count: countOf(rows.length, items.length, "dialogue"),
  };
}, row);
