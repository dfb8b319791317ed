/** Operate: what waits, runs and failed; what it costs; methods and evaluation runs side by side. */
import { useRight } from "../components/acts.js";
import { Loaded, notify, Select } from "../components/basics.js";
import { DayChart } from "../components/chart.js";
import { ForgetDialog, notifyProblem } from "../components/forgetting.js";
import { Table } from "../components/table.js";
import { get, post, userPath } from "../core/api.js";
import { html, useEffect, useId, useMemo, useState } from "../core/html.js";
import { reload, useResource } from "../core/resource.js";
import { navigate } from "../core/route.js";
import { formatCost, formatDatePart, formatNumber, formatTime, t } from "../core/texts.js";

const DAY = 86400000;
/** Methods that are compared with the present one unless others are chosen. */
const COMPARED = ["exchange", "secom", "full-history"];
/** Milliseconds between two looks at operations that have not ended. */
const POLL = 2000;
const local = (iso) => formatTime(Date.parse(iso) - new Date(iso).getTimezoneOffset() * 60000);
const percent = (share) => (share == null ? "–" : formatNumber(share, { style: "percent" }));
const cost = (value) => (value == null ? "–" : formatCost(value));
const act = (path, text, body) => post(path, body).then(() => {
  notify(text);
  for (const part of ["work", "operations", "sessions:"]) reload(part);
}, notifyProblem);
const Button = ({ label, about, run }) => html`
  <button type="button" aria-label=${`${label}: ${about}`} onClick=${run}>${label}</button>`;

/** How many there are of each state, in words. */
function describeWork(pending) {
  const counts = new Map();
  for (const { state } of pending) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, n]) => `${formatNumber(n)} ${t(`work.${state}`)}`).join(" · ");
}

function Work({ mayWrite }) {
  const work = useResource("work", () => get("/v1/work"));
  const path = ({ scope, session }, name) => userPath(scope, `pending/${session}/${name}`);
  const about = ({ scope, session }) => `${scope.user}, ${t("memory.session", { session })}`;
  return html`<h2>${t("work.title")} <button type="button" onClick=${work.reload}>${t("refresh")}</button></h2>
    <${Loaded} from=${work}>${({ pending, leases }) => html`
    ${!pending.length && html`<p class="quiet">${t("work.none")}</p>`}
    ${pending.length > 0 && html`<p role="status">${describeWork(pending)}</p><${Table} caption=${t("work.title")} rows=${pending}
      rowKey=${(row) => `${row.scope.user} ${row.scope.agent} ${row.session}`} columns=${[
        [t("work.session"), about],
        [t("state"), (row) => html`<span class=${`state-${row.state.replace(" ", "-")}`}>${t(`work.${row.state}`)}</span>`],
        [t("work.attempts"), (row) => formatNumber(row.attempts), true],
        [t("work.failure"), (row) => [row.failure, row.retry_at && t("work.retry_at", { at: local(row.retry_at) })].filter(Boolean).join(" · ")],
        [t("acts"), (row) => mayWrite && html`<span class="row">
          <${Button} label=${t(row.state === "running" ? "work.take" : "retry")} about=${about(row)}
            run=${() => act(path(row, "retry"), t("retry.done"))} />
          ${row.state !== "cancelled" && html`<${Button} label=${t("cancel")} about=${about(row)}
            run=${() => act(path(row, "cancel"), t("cancel.done"))} />`}</span>`],
      ]} />`}
    ${leases.length > 0 && html`<h3>${t("leases")}</h3>
      <${Table} caption=${t("leases")} rows=${leases} columns=${[
        [t("user"), ({ scope }) => scope.user], [t("leases.holder"), ({ holder }) => holder],
        [t("leases.until"), ({ until, expired }) => (expired ? t("leases.expired") : local(until))]]} />`}`}<//>`;
}

function Operations({ mayAdminister }) {
  const operations = useResource("operations", () => get("/v1/operations", { limit: 20 }));
  const states = operations.value?.items.map(({ state }) => state).join(" ");
  const isUnderWay = /waiting|running/.test(states);
  useEffect(() => {
    if (states !== undefined) ["work", "evaluation"].forEach((part) => reload(part));
  }, [states]);
  useEffect(() => {
    if (!isUnderWay) return undefined;
    const timer = setInterval(() => ["operations", "work"].forEach((part) => reload(part)), POLL);
    return () => clearInterval(timer);
  }, [isUnderWay]);
  const start = () => act("/v1/operations", t("operation.started"), { kind: "remember" });
  const about = (row) => `${t(`operation.${row.kind}`)}, ${local(row.created_at)}`;
  return html`
    <h2>${t("operations")} ${mayAdminister && html`<button type="button" onClick=${start}>${t("operation.start")}</button>`}</h2>
    <${Loaded} from=${operations}>${({ items }) => (items.length ? html`
      <${Table} caption=${t("operations")} rows=${items} rowKey=${({ id }) => id} columns=${[
        [t("operation"), (row) => t(`operation.${row.kind}`)],
        [t("user"), (row) => row.user ?? t("operation.all")],
        [t("operation.created"), (row) => local(row.created_at)],
        [t("state"), (row) => html`<span class=${`state-${row.state}`}>${t(`operation.${row.state}`)}</span>`],
        [t("operation.done"), (row) => formatNumber(row.done), true],
        [t("work.failure"), (row) => row.error],
        [t("acts"), (row) => mayAdminister && html`
          ${["waiting", "running"].includes(row.state) && html`<${Button} label=${t("cancel")} about=${about(row)}
            run=${() => act(`/v1/operations/${row.id}/cancel`, t("cancel.done"))} />`}
          ${(row.state === "failed" || (row.state === "cancelled" && row.kind !== "forget")) && html`<${Button} label=${t("retry")}
            about=${about(row)} run=${() => act(`/v1/operations/${row.id}/retry`, t("retry.done"))} />`}`],
      ]} />` : html`<p class="quiet">${t("operations.none")}</p>`)}<//>`;
}

function Sessions({ who, mayWrite }) {
  const [forgotten, setForgotten] = useState(null);
  const sessions = useResource(`sessions:${who.user}:${who.agent}`, () =>
    get(userPath(who, "sessions"), { newest_first: true, limit: 20 }));
  return html`
    <h2>${t("sessions", { user: who.user })}</h2>
    <${Loaded} from=${sessions}>${({ items }) => html`<${Table} caption=${t("sessions", { user: who.user })} rows=${items}
      rowKey=${({ id }) => id} columns=${[
        [t("work.session"), (row) => row.metadata?.title ?? t("memory.session", { session: row.id })],
        [t("operation.created"), (row) => (row.dated ? local(row.started_at) : "–")],
        [t("state"), (row) => t(row.ended_at ? "sessions.ended" : "sessions.open")],
        [t("acts"), (row) => mayWrite && html`<${Button} label=${t("forget")} about=${t("memory.session", { session: row.id })}
          run=${() => setForgotten(row.id)} />`],
      ]} />`}<//>
    ${forgotten && html`<${ForgetDialog} who=${who} target=${{ session: forgotten }} onClose=${() => setForgotten(null)} />`}`;
}

/** Sums of lines by a key: `Map` of key to `{ calls, failed, input, output, cost, cacheable }`. */
function sumBy(lines, key) {
  const sums = new Map();
  for (const line of lines) {
    const sum = sums.get(key(line)) ?? { calls: 0, failed: 0, input: 0, output: 0, cost: 0, repeated: 0, compared: 0 };
    sum.calls += line.calls;
    sum.failed += line.failed;
    sum.input += line.input_tokens;
    sum.output += line.output_tokens;
    sum.cost = sum.cost === null || line.cost === null ? null : sum.cost + line.cost;
    if (line.cacheable !== null) {
      sum.repeated += line.cacheable * line.input_tokens;
      sum.compared += line.input_tokens;
    }
    sums.set(key(line), sum);
  }
  return sums;
}

function Costs({ lines, errors, methods, days }) {
  const stepName = ({ step }) => `${methods[step] ?? t("costs.shared")} · ${step}`;
  const [chart, byStep, byDay] = useMemo(() => {
    const today = Math.floor(Date.now() / DAY) * DAY;
    const shown = Array.from({ length: days }, (_, at) => today - (days - 1 - at) * DAY);
    const priced = lines.some((line) => line.cost);
    const value = (line) => (priced ? line.cost ?? 0 : line.input_tokens + line.output_tokens);
    const steps = [...new Set(lines.map(stepName))];
    const series = steps.map((name) => ({ name, values: shown.map((day) =>
      lines.filter((line) => stepName(line) === name && Date.parse(line.day) === day).reduce((sum, line) => sum + value(line), 0)) }));
    return [{ days: shown, series, priced }, [...sumBy(lines, stepName)], [...sumBy(lines, ({ day }) => day)].reverse()];
  }, [lines, methods, days]);
  const columns = (title, name) => [
    [title, ([key]) => name(key)],
    [t("costs.calls"), ([, sum]) => formatNumber(sum.calls), true],
    [t("costs.failed"), ([, sum]) => formatNumber(sum.failed), true],
    [t("costs.input"), ([, sum]) => formatNumber(sum.input), true],
    [t("costs.output"), ([, sum]) => formatNumber(sum.output), true],
    [t("costs.cacheable"), ([, sum]) => percent(sum.compared ? sum.repeated / sum.compared : null), true],
    [t("costs.cost"), ([, sum]) => cost(sum.cost), true],
  ];
  if (!lines.length) return html`<p class="quiet">${t("costs.none")}</p>`;
  return html`
    <h3>${t(chart.priced ? "costs.chart" : "costs.chart_tokens")}</h3>
    <${DayChart} days=${chart.days} series=${chart.series} format=${chart.priced ? formatCost : (n) => formatNumber(n, { notation: "compact" })} />
    <${Table} caption=${t("costs.by_step")} rows=${byStep} columns=${columns(t("costs.by_step"), (key) => key)} />
    <details><summary>${t("costs.by_day")}</summary>
    <${Table} caption=${t("costs.by_day")} rows=${byDay} columns=${columns(t("costs.by_day"), (key) =>
      formatDatePart(Date.parse(key), { day: "numeric", month: "short", year: "numeric" }))} /></details>
    ${errors.length > 0 && html`<h3>${t("errors")}</h3>
      <${Table} caption=${t("errors")} rows=${errors} columns=${[
        [t("errors.at"), ({ at }) => local(at)], [t("user"), ({ scope }) => scope.user],
        [t("costs.by_step"), stepName], [t("errors.error"), ({ error }) => error]]} />`}`;
}

function Usage({ params }) {
  const days = Number(params.days) || 30;
  const usage = useResource(`usage:${days}`, () => get("/v1/usage", { days }));
  return html`
    <h2>${t("costs")}</h2>
    <div class="row"><${Select} label=${t("costs.days")} value=${String(days)} onChange=${(value) => navigate({ days: value })}
      options=${[7, 30, 90, 365].map((n) => [String(n), t("costs.last", { n })])} /></div>
    <${Loaded} from=${usage}>${(value) => html`<${Costs} ...${value} days=${days} />`}<//>`;
}

function Methods({ who }) {
  const methods = useResource(`methods:${who.user}:${who.agent}`, () => get(userPath(who, "methods")));
  return html`
    <h2>${t("methods", { user: who.user })}</h2>
    <${Loaded} from=${methods}>${(rows) => html`<${Table} caption=${t("methods", { user: who.user })} rows=${rows} columns=${[
      [t("method"), ({ method }) => method],
      [t("methods.memories"), (row) => formatNumber(row.memories), true],
      [t("methods.links"), (row) => formatNumber(row.links), true],
      [t("methods.remembered"), (row) => formatNumber(row.remembered), true],
      [t("methods.pending"), (row) => formatNumber(row.pending), true]]} />`}<//>`;
}

function Run({ run }) {
  const groups = Object.entries(run.scores).filter(([name]) => name || Object.keys(run.scores).length === 1);
  const metrics = [...new Set(groups.flatMap(([, scores]) => Object.keys(scores)))];
  return html`
    <h3>${run.name} <span class="quiet">${run.bench} · ${t("runs.samples", { n: run.samples })}${run.cost ? ` · ${formatCost(run.cost)}` : ""}
      ${run.failures > 0 && ` · ${t("runs.failures", { n: run.failures })}`}</span></h3>
    <${Table} caption=${run.name} rows=${groups} columns=${[
      [run.bench === "compare" ? t("method") : t("runs.category"), ([name]) => name || run.method],
      ...metrics.map((metric) => [metric, ([, scores]) =>
        (scores[metric] == null ? "–" : formatNumber(scores[metric], { maximumFractionDigits: 3 })), true])]} />
    ${run.has_report && html`<p><a href=${`v1/evaluation/${encodeURIComponent(run.name)}/report`} target="_blank" rel="noopener">${t("runs.report")}</a></p>`}`;
}

/** Choose methods, see what remembering by them costs, and start comparing them. */
function Compare({ who, folder }) {
  const methods = useResource("methods", () => get("/v1/methods"));
  const [chosen, setChosen] = useState(null);
  const [estimate, setEstimate] = useState(null);
  const id = useId();
  if (!methods.value) return null;
  const names = chosen ?? [methods.value.current, ...COMPARED.filter((name) => name !== methods.value.current)];
  const toggle = (name) => {
    setChosen(names.includes(name) ? names.filter((each) => each !== name) : [...names, name]);
    setEstimate(null);
  };
  const look = (event) => {
    event.preventDefault();
    setEstimate({});
    get("/v1/evaluation/estimate", { user: who.user, agent: who.agent, method: names }).then(
      (rows) => setEstimate({ rows }), (problem) => { setEstimate(null); notifyProblem(problem); });
  };
  const start = (event) => {
    event.preventDefault();
    const limit = Number(new FormData(event.currentTarget).get("limit")) || undefined;
    act("/v1/evaluation/comparisons", t("compare.started"), { user: who.user, agent: who.agent, methods: names, max_cost: limit })
      .then(() => setEstimate(null));
  };
  const rows = estimate?.rows;
  return html`
    <h3>${t("compare.title", { user: who.user })}</h3>
    <p class="quiet">${t("compare.about", { folder, user: who.user })}</p>
    <form onSubmit=${look}>
      <p class="row checks" role="group" aria-label=${t("method")}>${methods.value.installed.map((name) => html`
        <label><input type="checkbox" checked=${names.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}</p>
      ${!rows && html`<p><button class="primary" disabled=${!names.length || estimate}>${t("compare.estimate")}</button></p>`}
    </form>
    ${rows && html`
      <${Table} caption=${t("compare.costs")} rows=${rows} columns=${[
        [t("method"), (row) => row.method],
        [t("costs.calls"), (row) => formatNumber(row.calls), true],
        [t("compare.tokens"), (row) => formatNumber(row.tokens), true],
        [t("costs.cost"), (row) => (row.calls ? cost(row.cost) : formatCost(0)), true],
        [t("compare.seconds"), (row) => formatNumber(row.seconds, { maximumFractionDigits: 0 }), true]]} />
      <form class="row" onSubmit=${start}>
        ${rows.some((row) => row.calls) && html`<label for=${id}>${t("compare.limit")}</label>
          <input id=${id} name="limit" type="number" min="0.01" step="0.01" />`}
        <button class="primary">${t("compare.start")}</button>
      </form>`}`;
}

function Evaluation({ who }) {
  const evaluation = useResource("evaluation", () => get("/v1/evaluation"));
  return html`
    <h2>${t("runs")}</h2>
    <${Loaded} from=${evaluation}>${({ installed, folder, runs }) => html`
      ${!installed && html`<p>${t("runs.not_installed")}</p><pre><code>pip install theanine-bench\npip install packages/theanine-methods packages/theanine-bench</code></pre>`}
      ${installed && who && html`<${Compare} who=${who} folder=${folder} />`}
      ${installed && !runs.length && html`<p class="quiet">${t("runs.none", { folder })}</p>`}
      ${runs.map((run) => html`<${Run} key=${run.name} run=${run} />`)}`}<//>`;
}

export default function Operate({ who, params }) {
  const [mayWrite, mayAdminister] = [useRight("write"), useRight("administer")];
  return html`
    <div class="main-column wide">
      <h1>${t("nav.operate")}</h1>
      <${Work} mayWrite=${mayWrite} />
      <${Operations} mayAdminister=${mayAdminister} />
      <${Usage} params=${params} />
      ${who && html`<${Methods} who=${who} /><${Sessions} who=${who} mayWrite=${mayWrite} />`}
      ${mayAdminister && html`<${Evaluation} who=${who} />`}
    </div>`;
}
