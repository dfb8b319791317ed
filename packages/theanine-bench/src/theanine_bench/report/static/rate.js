"use strict";
// One task at a time. Each answer is sent at once; the page only says "saved" when it is on disk.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const ratings = new Map(Object.entries(data.ratings));
const complete = (id) => ratings.has(id) && data.asks.every((ask) => ask.id in ratings.get(id).answers);
let place = Math.max(0, data.tasks.findIndex((task) => !complete(task.id)));
if (data.tasks.every((task) => complete(task.id))) place = data.tasks.length - 1;
let sending = Promise.resolve();
let underway = 0; // what is sent and not yet answered
const refused = new Map(); // what did not reach the disk: the task, and why

function element(name, options = {}, ...children) {
  const made = Object.assign(document.createElement(name), options);
  made.append(...children);
  return made;
}

function current() {
  const id = data.tasks[place].id;
  if (!ratings.has(id)) ratings.set(id, { task: id, answers: {}, note: "" });
  return ratings.get(id);
}

function show() {
  const task = data.tasks[place];
  byId("task").replaceChildren(...task.blocks.map((block) => {
    const lines = block.lines.map((line) => element("p", { textContent: line }));
    const long = block.lines.join("").length > 1500;
    const made = element("div", { className: long ? "block long" : "block" }, element("h2", { textContent: block.title }), ...lines);
    if (long) made.tabIndex = 0;
    return made;
  }));
  byId("asks").replaceChildren(...data.asks.map(question));
  byId("note").value = current().note;
  if (refused.size === 0 && underway === 0) byId("state").textContent = "";
  byId("back").disabled = place === 0;
  byId("next").disabled = place === data.tasks.length - 1;
  count();
  mark();
  window.scrollTo(0, 0);
}

function question(ask) {
  const chosen = current().answers[ask.id];
  const choices = ask.choices.map((choice, number) => {
    const input = element("input", { type: "radio", name: ask.id, value: choice.value, checked: choice.value === chosen });
    input.addEventListener("change", () => answer(ask.id, choice.value));
    return element("label", {}, input, choice.label, element("kbd", { textContent: keyOf(ask, number) }));
  });
  const group = element("div", { className: "choices" }, ...choices);
  return element("fieldset", { id: `ask-${ask.id}` }, element("legend", { textContent: ask.text }), group);
}

// Points have their own number as key, other choices their place.
function keyOf(ask, number) {
  return ask.scale ? ask.choices[number].value : String(number + 1);
}

// The question that a number key answers: the first one without an answer.
function waiting() {
  return data.asks.find((ask) => !(ask.id in current().answers)) ?? (data.asks.length === 1 ? data.asks[0] : null);
}

function mark() {
  const next = waiting();
  for (const ask of data.asks) byId(`ask-${ask.id}`).classList.toggle("now", data.asks.length > 1 && ask === next);
}

function count() {
  const done = data.tasks.filter((task) => complete(task.id)).length;
  byId("progress").max = data.tasks.length;
  byId("progress").value = done;
  byId("count").textContent = `${done} of ${data.tasks.length} done · task ${place + 1}`;
}

function answer(ask, value) {
  current().answers[ask] = value;
  save();
  count();
  mark();
}

function save() {
  const sent = { rater: data.rater, ...structuredClone(current()) };
  underway += 1;
  tell();
  sending = sending.then(async () => {
    try {
      const reply = await fetch(`/forms/${data.form}/ratings`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent),
      });
      if (!reply.ok) throw new Error((await reply.json()).detail);
      refused.delete(sent.task);
    } catch (error) {
      refused.set(sent.task, error.message);
    }
    underway -= 1;
    tell();
  });
}

// Never "saved" while anything is under way, or was refused.
function tell() {
  const state = byId("state");
  const [why] = refused.values();
  state.className = why === undefined ? "" : "bad";
  if (why !== undefined) state.textContent = `not saved: ${why}`;
  else state.textContent = underway > 0 ? "saving …" : "saved";
}

function go(step) {
  const to = place + step;
  if (to < 0 || to >= data.tasks.length) return;
  place = to;
  byId("guide").open = false;
  show();
}

byId("back").addEventListener("click", () => go(-1));
byId("next").addEventListener("click", () => go(1));
byId("note").addEventListener("change", () => { current().note = byId("note").value; save(); });
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "TEXTAREA" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    event.preventDefault();
    go(event.key === "ArrowLeft" ? -1 : 1);
    return;
  }
  const ask = waiting();
  const number = ask ? ask.choices.findIndex((_, place) => keyOf(ask, place) === event.key) : -1;
  if (number < 0) return;
  event.preventDefault();
  document.querySelector(`#ask-${ask.id} input[value="${ask.choices[number].value}"]`).click();
});
byId("guide").open = ratings.size === 0;
show();
