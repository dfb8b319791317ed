"use strict";
const orDash = (value, format) => (value === null ? "–" : format(value));
const share = (value) => orDash(value, (part) => `${Math.round(part * 100)} %`);

function calls(usage) {
  if (!usage.calls) return ["none"];
  const failed = usage.failed ? `, ${usage.failed} failed` : "";
  return [number(usage.calls), `${number(usage.in)} tokens in, ${number(usage.out)} out${failed}`];
}

function columnCost(column) {
  const costs = [column.remembering.cost, column.recalling.cost];
  return costs.includes(null) ? null : costs[0] + costs[1];
}

// name, cell (text, small text), compared value, which is better ("bar": neither)
const ROWS = [
  ["Stored", (c) => [plural(c.memories, "memory", "memories"), plural(c.links, "link")]],
  ["Sessions that failed", (c) => [Object.keys(c.failures).length || "none"]],
  ["Recalled per question", (c) => [orDash(c.tokens, (tokens) => `${number(tokens)} tokens`)], (c) => c.tokens, "bar"],
  ["Gold evidence recalled", (c) => [share(c.found)], (c) => c.found, "more"],
  ["Of the recalled turns, evidence", (c) => [share(c.precision)], (c) => c.precision, "more"],
  ["Model calls, remembering", (c) => calls(c.remembering), (c) => c.remembering.calls, "bar"],
  ["Model calls, recalling", (c) => calls(c.recalling), (c) => c.recalling.calls, "bar"],
  ["Cost", (c) => [money(columnCost(c))], columnCost, "less"],
  ["Remembering time", (c) => [orDash(c.rememberSeconds, (seconds) => `${number(seconds, 2)} s`)], (c) => c.rememberSeconds, "less"],
  ["Recall time", (c) => [orDash(c.recallSeconds, (seconds) => `${number(seconds * 1000, 1)} ms`), "median"], (c) => c.recallSeconds, "less"],
  ["Disk", (c) => [`${number(c.disk / 1000)} kB`, `log: ${number(data.log / 1000)}`], (c) => c.disk, "less"],
];

function rowCell(column, format, value, better, values) {
  const [text, small] = format(column);
  const cell = make("td", text);
  cell.dataset.label = column.label;
  if (small) cell.append(make("small", small));
  const own = value ? value(column) : null;
  if (own === null) return cell;
  const [lowest, highest] = [least(values), most(values)];
  if (highest > lowest && better !== "bar" && own === (better === "more" ? highest : lowest)) cell.classList.add("best");
  if (highest > 0) {
    const bar = make("span", undefined, "bar");
    bar.style.width = `${(100 * own) / highest}%`;
    cell.append(bar);
  }
  return cell;
}

function summary() {
  const table = make("table"), head = make("thead"), body = make("tbody"), top = make("tr");
  top.append(make("td"));
  for (const column of data.columns) {
    const title = make("th", column.label);
    title.scope = "col";
    title.dataset.label = column.label;
    const settings = Object.entries(column.settings).map(([name, value]) => `${name}=${value}`);
    const about = [column.method === column.label ? "" : column.method, ...settings, column.model];
    title.append(make("small", about.filter(Boolean).join(", ")));
    top.append(title);
  }
  head.append(top);
  for (const [name, format, value, better] of ROWS) {
    const values = value ? data.columns.map(value).filter((each) => each !== null) : [];
    if (better === "more" && !values.length) continue;
    const row = make("tr"), heading = make("th", name);
    heading.scope = "row";
    row.append(heading, ...data.columns.map((column) => rowCell(column, format, value, better, values)));
    body.append(row);
  }
  table.append(head, body);
  element("summary").append(table);
  for (const column of data.columns) {
    for (const [session, reason] of Object.entries(column.failures)) {
      element("summary").append(make("p", `${column.label}: ${session} failed: ${reason}`, "bad"));
    }
  }
}

function sourceTurn(user, id, gold) {
  const turn = data.turns[user]?.[id];
  if (!turn) return make("blockquote", `turn ${id}`);
  const made = make("blockquote", undefined, gold ? "gold" : "");
  made.append(make("b", [turn.speaker, turn.when, `turn ${id}`].filter(Boolean).join(", ")), document.createElement("br"), turn.words);
  return made;
}

function sources(user, turns, gold, title) {
  return lazyDetails(make("summary", title), () => turns.map((id) => sourceTurn(user, id, gold.has(id))));
}

function answerCard(question, answer, column) {
  const card = make("article", undefined, "answer"), title = make("h3", column.label);
  card.dataset.label = column.label;
  if (answer === null) {
    card.append(title, make("p", "Not asked yet.", "dim"));
    return card;
  }
  const about = [plural(answer.tokens, "token")];
  if (answer.seconds !== null) about.push(`${number(answer.seconds * 1000)} ms`);
  if (answer.found !== null) about.push(`${share(answer.found)} of the evidence`);
  title.append(make("span", about.join(" · ")));
  card.append(title);
  const gold = new Set(question.gold);
  if (answer.failure) card.append(make("p", `Failed: ${answer.failure}`, "bad"));
  else if (!answer.pieces.length) card.append(make("p", "Nothing.", "dim"));
  for (const piece of answer.pieces) {
    const part = make("div", piece.text, "piece");
    const right = piece.turns.filter((id) => gold.has(id)).length;
    const title = `${plural(piece.turns.length, "source")}${right ? `, ${right} of the evidence` : ""} · by ${piece.by}`;
    if (piece.turns.length) part.append(sources(question.user, piece.turns, gold, title));
    card.append(part);
  }
  return card;
}

function block(question) {
  const section = make("section");
  section.append(make("h2", question.text));
  const about = [question.user, question.category].filter(Boolean).join(" · ");
  section.append(make("p", about, "dim"));
  if (question.answer) section.append(make("p", question.answer, "wanted"));
  if (question.gold.length) {
    const gold = new Set(question.gold);
    section.append(sources(question.user, question.gold, gold, `The evidence: ${plural(question.gold.length, "turn")}`));
  }
  const row = make("div", undefined, "answers");
  row.append(...question.answers.map((answer, i) => answerCard(question, answer, data.columns[i])));
  section.append(row);
  return section;
}

element("title").textContent = data.title;
const counts = `${plural(data.utterance_count, "turn")} in ${plural(data.sessions, "session")}, ${plural(data.questions.length, "question")}`;
element("count").textContent = counts;
element("unknown").textContent = `${plural(data.unknown.length, "source")} of questions not in the data, left out: ${data.unknown.join(", ")}`;
element("unknown").hidden = !data.unknown.length;
summary();
const blocks = data.questions.map(block);
element("questions").append(...blocks);
const texts = searchTexts(data.questions, (question) =>
  [question.text, question.answer, ...question.answers.filter(Boolean).flatMap((answer) => answer.pieces.map((piece) => piece.text))]);

for (const column of data.columns) {
  const label = make("label"), box = make("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    for (const each of document.querySelectorAll(`[data-label="${CSS.escape(column.label)}"]`)) each.hidden = !box.checked;
  });
  label.append(box, ` ${column.label}`);
  element("shown").append(label);
}

element("search").addEventListener("input", (event) => {
  const query = event.target.value.trim().toLowerCase();
  blocks.forEach((section, index) => { section.hidden = !texts[index].includes(query); });
  const shown = blocks.filter((section) => !section.hidden).length;
  element("count").textContent = query ? `${shown} of ${plural(blocks.length, "question")}` : counts;
  element("none").hidden = shown > 0;
});
