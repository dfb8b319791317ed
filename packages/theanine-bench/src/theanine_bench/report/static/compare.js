"use strict";
const known = (value, show) => (value === null ? "–" : show(value));
const share = (value) => known(value, (one) => `${Math.round(one * 100)} %`);

function calls(spent) {
  if (!spent.calls) return ["none"];
  const failed = spent.failed ? `, ${spent.failed} failed` : "";
  return [number(spent.calls), `${number(spent.in)} tokens in, ${number(spent.out)} out${failed}`];
}

function columnCost(column) {
  const costs = [column.remembering.cost, column.recalling.cost];
  return costs.includes(null) ? null : costs[0] + costs[1];
}

// name, cell text (with small text under it), the compared value, and which is better
const MEASURES = [
  ["Stored", (c) => [plural(c.memories, "memory", "memories"), plural(c.links, "link")]],
  ["Sessions that failed", (c) => [Object.keys(c.failures).length || "none"]],
  ["Recalled per question", (c) => [known(c.tokens, (one) => `${number(one)} tokens`)], (c) => c.tokens, "bar"],
  ["Gold evidence recalled", (c) => [share(c.found)], (c) => c.found, "more"],
  ["Model calls, remembering", (c) => calls(c.remembering), (c) => c.remembering.calls, "bar"],
  ["Model calls, recalling", (c) => calls(c.recalling), (c) => c.recalling.calls, "bar"],
  ["Cost", (c) => [money(columnCost(c))], columnCost, "less"],
  ["Remembering time", (c) => [known(c.rememberSeconds, (one) => `${number(one, 2)} s`)], (c) => c.rememberSeconds, "less"],
  ["Recall time", (c) => [known(c.recallSeconds, (one) => `${number(one * 1000, 1)} ms`), "median"], (c) => c.recallSeconds, "less"],
  ["Disk", (c) => [`${number(c.disk / 1000)} kB`, `log: ${number(data.log / 1000)}`], (c) => c.disk, "less"],
];

function measureCell(column, show, value, kind, all) {
  const [words, small] = show(column);
  const made = make("td", words);
  made.dataset.label = column.label;
  if (small) made.append(make("small", small));
  const mine = value ? value(column) : null;
  if (mine === null) return made;
  const best = kind === "more" ? Math.max(...all) : Math.min(...all);
  const differ = Math.max(...all) > Math.min(...all);
  if (differ && kind !== "bar" && mine === best) made.classList.add("best");
  const most = Math.max(...all);
  if (most > 0) {
    const bar = make("span", undefined, "bar");
    bar.style.width = `${(100 * mine) / most}%`;
    made.append(bar);
  }
  return made;
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
  for (const [name, show, value, kind] of MEASURES) {
    const all = value ? data.columns.map(value).filter((one) => one !== null) : [];
    if (kind === "more" && !all.length) continue;
    const row = make("tr"), heading = make("th", name);
    heading.scope = "row";
    row.append(heading, ...data.columns.map((column) => measureCell(column, show, value, kind, all)));
    body.append(row);
  }
  table.append(head, body);
  element("summary").append(table);
  for (const column of data.columns) {
    for (const [where, why] of Object.entries(column.failures)) {
      element("summary").append(make("p", `${column.label}: ${where} failed: ${why}`, "bad"));
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

function sources(user, turns, gold, words) {
  const made = make("details");
  made.append(make("summary", words));
  made.addEventListener("toggle", () => {
    if (made.childElementCount === 1) made.append(...turns.map((id) => sourceTurn(user, id, gold.has(id))));
  });
  return made;
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
    const made = make("div", piece.text, "piece");
    const right = piece.turns.filter((id) => gold.has(id)).length;
    const words = `${plural(piece.turns.length, "source")}${right ? `, ${right} of the evidence` : ""} · by ${piece.by}`;
    if (piece.turns.length) made.append(sources(question.user, piece.turns, gold, words));
    card.append(made);
  }
  return card;
}

function block(question) {
  const made = make("section");
  made.append(make("h2", question.text));
  const about = [question.user, question.category].filter(Boolean).join(" · ");
  made.append(make("p", about, "dim"));
  if (question.answer) made.append(make("p", question.answer, "wanted"));
  if (question.gold.length) {
    const right = new Set(question.gold);
    made.append(sources(question.user, question.gold, right, `The evidence: ${plural(question.gold.length, "turn")}`));
  }
  const row = make("div", undefined, "answers");
  row.append(...question.answers.map((answer, i) => answerCard(question, answer, data.columns[i])));
  made.append(row);
  const words = [question.text, question.answer, ...question.answers.filter(Boolean).flatMap((a) => a.pieces.map((p) => p.text))];
  return { made, words: words.join("\n").toLowerCase() };
}

element("title").textContent = data.title;
const counts = `${plural(data.utterance_count, "turn")} in ${plural(data.sessions, "session")}, ${plural(data.questions.length, "question")}`;
element("count").textContent = counts;
element("unknown").textContent = `${plural(data.unknown.length, "source")} of questions not in the data, left out: ${data.unknown.join(", ")}`;
element("unknown").hidden = !data.unknown.length;
summary();
const blocks = data.questions.map(block);
element("questions").append(...blocks.map((one) => one.made));

for (const column of data.columns) {
  const label = make("label"), box = make("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => {
    for (const one of document.querySelectorAll(`[data-label="${CSS.escape(column.label)}"]`)) one.hidden = !box.checked;
  });
  label.append(box, ` ${column.label}`);
  element("shown").append(label);
}

element("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  let left = 0;
  for (const one of blocks) {
    one.made.hidden = !one.words.includes(wanted);
    left += one.made.hidden ? 0 : 1;
  }
  element("count").textContent = wanted ? `${left} of ${plural(blocks.length, "question")}` : counts;
  element("none").hidden = left > 0;
});
