"use strict";
const names = Object.keys(data.measures);
const LESS = new Set(["Pk", "WD"]);
const PER_DIALOGUE = { Pk: 4, WD: 5 }; // where an item has it
const items = data.items;

element("title").textContent = data.title;
element("state").textContent = plural(items.length, "dialogue");
facts(element("about"), [...data.about, ["Turns per second", number(data.speed)]]);
element("command").textContent = data.command;

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
for (const name of names) {
  const one = data.measures[name], made = make("article", undefined, "card"), value = make("div", figure(one.mean), "mean");
  value.append(make("small", `${figure(one.low)} – ${figure(one.high)}`));
  made.append(make("h3", name), value, make("p", `n ${number(one.n)}${LESS.has(name) ? " · lower is better" : ""}`));
  const place = PER_DIALOGUE[name];
  if (place) made.append(histogram(items.map((item) => item[place]), (low, high) => pick(name, low, high), 1));
  element("cards").append(made);
}

// Published figures
const publishedNote = element("published-note");
function comparePublished() {
  const chosen = data.published.find((one) => one.id === element("table").value);
  publishedNote.hidden = !chosen;
  element("bars").replaceChildren();
  element("rows").replaceChildren();
  if (!chosen) return;
  publishedNote.textContent = "Published values are comparable only if they were measured on the same data; check that before you compare.";
  chosen.columns.forEach((name, place) => {
    const published = chosen.rows.map(([label, values]) => ({ name: label, mean: values[place] })).filter((row) => row.mean !== null);
    const ours = { name: "this run", ours: true, ...data.measures[name] };
    const rows = [...published, ours].sort((a, b) => (LESS.has(name) ? a.mean - b.mean : b.mean - a.mean));
    const card = make("article", undefined, "card"), title = make("h3", name);
    title.append(make("small", LESS.has(name) ? " lower is better" : " higher is better"));
    card.append(title, bars(rows.map((row) => ({ name: row.name, own: row.ours, values: [row] })), 1));
    element("bars").append(card);
  });
  const cells = (values) => values.map((value) => (value === null ? "–" : figure(value)));
  element("rows").append(valueTable(chosen.name, ["", ...chosen.columns], [
    ...chosen.rows.map(([label, values]) => [label, ...cells(values)]),
    ["this run", ...chosen.columns.map((name) => figure(data.measures[name].mean))],
  ]));
}
element("table").append(option("", "choose a set"), ...data.published.map((one) => option(one.id, one.name)));
element("table").value = data.named;
element("table").addEventListener("change", comparePublished);
comparePublished();

// Dialogues
function strip(lengths, words) {
  const made = make("span", undefined, "strip");
  made.title = `${words}: ${lengths.join(" + ")} turns`;
  made.append(...lengths.map((length) => {
    const part = make("i");
    part.style.flexGrow = length;
    return part;
  }));
  return made;
}
const ends = (lengths) => new Set(lengths.map((_, place) => lengths.slice(0, place + 1).reduce((sum, one) => sum + one, 0)));

function inside([, texts, gold, drawn]) {
  const [right, ours] = [ends(gold), ends(drawn)];
  return texts.flatMap((text, place) => {
    const end = place + 1, turn = make("p", text, "turn");
    if (end === texts.length || !(right.has(end) || ours.has(end))) return [turn];
    const words = right.has(end) && ours.has(end) ? "boundary, found" : right.has(end) ? "boundary, missed" : "predicted, no boundary";
    return [turn, make("p", words, `cut ${right.has(end) && ours.has(end) ? "good" : "bad"}`)];
  });
}

function row(item) {
  const [id, texts, gold, drawn, pk, wd] = item;
  const chips = make("span", undefined, "chips"), strips = make("span", undefined, "strips");
  chips.append(make("span", `Pk ${figure(pk)}`), make("span", `WD ${figure(wd)}`));
  strips.append(strip(gold, "reference"), strip(drawn, "predicted"));
  return expandable([make("span", id, "category"), strips, make("small", plural(texts.length, "turn"), "dim"), chips], () => inside(item));
}

const words = items.map(([id, texts]) => [id, ...texts].join("\n").toLowerCase());
const show = lazyList(element("list"));
function filtered() {
  const wanted = element("search").value.trim().toLowerCase(), place = PER_DIALOGUE[element("measure").value];
  const [low, high] = ["low", "high"].map((id) => element(id).valueAsNumber), order = element("order").value;
  const left = items.filter((item, number) => (!wanted || words[number].includes(wanted)) && !(item[place] < low) && !(item[place] > high));
  element("count").textContent = `${left.length === items.length ? "" : `${number(left.length)} of `}${plural(items.length, "dialogue")}`;
  const sign = order === "worst" ? -1 : 1;
  show(order ? left.sort((a, b) => sign * (a[place] - b[place])) : left, row);
}
filter.addEventListener("input", filtered);
filter.addEventListener("reset", () => setTimeout(filtered));
filter.addEventListener("submit", (event) => event.preventDefault());
filtered();
