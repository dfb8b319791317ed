"use strict";
// Shows one task at a time. Each answer is sent at once; "saved" means that it is on disk.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const ratings = new Map(Object.entries(data.ratings));
const complete = (id) => ratings.has(id) && data.questions.every((question) => question.id in ratings.get(id).answers);
let index = Math.max(0, data.tasks.findIndex((task) => !complete(task.id)));
if (data.tasks.every((task) => complete(task.id))) index = data.tasks.length - 1;
let sending = Promise.resolve();
let pending = 0; // requests without a reply
const refused = new Map(); // unsaved task → reason

function make(name, options = {}, ...children) {
  const made = Object.assign(document.createElement(name), options);
  made.append(...children);
  return made;
}

function current() {
  const id = data.tasks[index].id;
  if (!ratings.has(id)) ratings.set(id, { task: id, answers: {}, note: "" });
  return ratings.get(id);
}

function show() {
  const task = data.tasks[index];
  byId("task").replaceChildren(...task.blocks.map((block) => {
    const lines = block.lines.map((line) => make("p", { textContent: line }));
    const long = block.lines.join("").length > 1500;
    const made = make("div", { className: long ? "block long" : "block" }, make("h2", { textContent: block.title }), ...lines);
    if (long) made.tabIndex = 0;
    return made;
  }));
  byId("questions").replaceChildren(...data.questions.map(questionFields));
  byId("note").value = current().note;
  if (refused.size === 0 && pending === 0) byId("state").textContent = "";
  byId("back").disabled = index === 0;
  byId("next").disabled = index === data.tasks.length - 1;
  count();
  highlightNext();
  window.scrollTo(0, 0);
}

function questionFields(question) {
  const chosen = current().answers[question.id];
  const choices = question.choices.map((choice, number) => {
    const input = make("input", { type: "radio", name: question.id, value: choice.value, checked: choice.value === chosen });
    input.addEventListener("change", () => answer(question.id, choice.value));
    return make("label", {}, input, choice.label, make("kbd", { textContent: keyOf(question, number) }));
  });
  const group = make("div", { className: "choices" }, ...choices);
  return make("fieldset", { id: `question-${question.id}` }, make("legend", { textContent: question.text }), group);
}

// Points have their own number as key, other choices their index.
function keyOf(question, number) {
  return question.scale ? question.choices[number].value : String(number + 1);
}

// Return the question that a number key answers: the first without an answer.
function nextQuestion() {
  return data.questions.find((question) => !(question.id in current().answers)) ?? (data.questions.length === 1 ? data.questions[0] : null);
}

function highlightNext() {
  const next = nextQuestion();
  for (const question of data.questions) byId(`question-${question.id}`).classList.toggle("now", data.questions.length > 1 && question === next);
}

function count() {
  const done = data.tasks.filter((task) => complete(task.id)).length;
  byId("progress").max = data.tasks.length;
  byId("progress").value = done;
  byId("count").textContent = `${done} of ${data.tasks.length} done · task ${index + 1}`;
}

function answer(question, value) {
  current().answers[question] = value;
  save();
  count();
  highlightNext();
}

function save() {
  const sent = { rater: data.rater, ...structuredClone(current()) };
  pending += 1;
  showState();
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
    pending -= 1;
    showState();
  });
}

// Never show "saved" while a request is pending or was refused.
function showState() {
  const state = byId("state");
  const [reason] = refused.values();
  state.className = reason === undefined ? "" : "bad";
  if (reason !== undefined) state.textContent = `not saved: ${reason}`;
  else state.textContent = pending > 0 ? "saving …" : "saved";
}

function go(step) {
  const to = index + step;
  if (to < 0 || to >= data.tasks.length) return;
  index = to;
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
  const question = nextQuestion();
  const number = question ? question.choices.findIndex((_, choice) => keyOf(question, choice) === event.key) : -1;
  if (number < 0) return;
  event.preventDefault();
  document.querySelector(`#question-${question.id} input[value="${question.choices[number].value}"]`).click();
});
byId("guide").open = ratings.size === 0;
show();
