/** Import: drop a file, see what would come in, confirm, and watch it being remembered. */
import { ErrorBox, Loading, Select } from "../components/basics.js";
import { graphKey } from "../components/load_graph.js";
import { Someone } from "../components/someone.js";
import { get, post, send, userPath } from "../core/api.js";
import { html, useEffect, useId, useState } from "../core/html.js";
import { reload } from "../core/resource.js";
import { linkTo, navigate } from "../core/route.js";
import { formatDate, formatNumber, t, wallTime } from "../core/texts.js";

/** Milliseconds between two looks at an operation. */
const POLL = 500;
const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

function FilePicker({ onPick }) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    const [file] = event.dataTransfer.files;
    if (file) onPick(file);
  };
  return html`
    <div class=${`drop${isOver ? " over" : ""}`} onDrop=${drop} onDragLeave=${() => setOver(false)}
      onDragOver=${(event) => { event.preventDefault(); setOver(true); }}>
      <label for=${id}><strong>${t("import.drop")}</strong></label>
      <input id=${id} type="file" aria-describedby=${`${id}a`} onChange=${(event) => event.currentTarget.files[0] && onPick(event.currentTarget.files[0])} />
      <p class="quiet" id=${`${id}a`}>${t("import.formats")}</p>
    </div>`;
}

function HistoryTable({ history }) {
  const { sessions, known, turns, memories, first, last, speakers, sample } = history;
  const date = (at) => formatDate(wallTime(at));
  const people = Object.entries(speakers).map(([name, n]) => `${name} (${formatNumber(n)})`).join(", ");
  const rows = [
    ["import.conversations", known ? t("import.known", { n: sessions, known }) : formatNumber(sessions)],
    ["import.turns", formatNumber(turns)],
    memories && ["import.memories", formatNumber(memories)],
    ["import.dates", first ? `${date(first)} – ${date(last)}` : t("import.undated")],
    people && ["import.people", people],
  ].filter(Boolean);
  return html`
    <dl class="facts">${rows.map(([key, value]) => html`<dt>${t(key)}</dt><dd>${value}</dd>`)}</dl>
    ${sample.length > 0 && html`
      <h3>${t("import.sample")}</h3>
      <ol class="turns">${sample.map((turn) => html`
        <li class=${`turn ${turn.role}`}><span class="quiet">${turn.speaker}</span><p>${turn.text.slice(0, 300)}</p></li>`)}</ol>`}`;
}

function Warnings({ notes, rejected }) {
  const listed = [
    ...Object.entries(notes).map(([note, n]) => `${formatNumber(n)} × ${note}`),
    ...rejected.map(([where, reason]) => `${t("import.left_out")} ${where}: ${reason}`),
  ];
  if (!listed.length) return null;
  return html`<h3>${t("import.warnings")}</h3><ul class="warnings">${listed.map((text) => html`<li>${text}</li>`)}</ul>`;
}

/** What would come in, and how it is read: who the user is, whose history, which time zone. */
function Preview({ who, file, reading, setReading, onImport, onCancel }) {
  const [found, setFound] = useState({});
  const [isImporting, setImporting] = useState(false);
  const query = { ...reading, name: file.name };
  const load = () => {
    let isCurrent = true;
    setFound({});
    post(userPath(who, "import/preview"), file, { query }).then(
      (preview) => isCurrent && setFound({ preview }), (problem) => isCurrent && setFound({ problem }));
    return () => { isCurrent = false; };
  };
  useEffect(load, [file, reading]);
  const { preview, problem } = found;
  const store = async () => {
    setImporting(true);
    try {
      onImport(await post(userPath(who, "import"), file, { query: { ...query, keep_going: true, remember: false } }));
    } catch (failure) {
      setFound({ preview, problem: failure });
      setImporting(false);
    }
  };
  const shown = preview?.histories.filter((each) => !reading.history || each.name === reading.history) ?? [];
  const mustChoose = preview && !preview.one_account && shown.length > 1;
  const speakers = [...new Set(shown.flatMap((each) => Object.keys(each.speakers)))];
  const change = (name) => (value) => setReading({ ...reading, [name]: value || undefined });
  return html`
    <h2 class="file-name">${file.name}</h2>
    ${problem && html`<${ErrorBox} problem=${problem} retry=${load} />`}
    ${!preview && !problem && html`<${Loading} />`}
    ${preview && html`
      <p role="status">${preview.format === "theanine" ? t("import.own") : t("import.format", { format: preview.format })}</p>
      <div class="import-options">
        ${preview.histories.length > 1 && !preview.one_account && html`<span><${Select} label=${t("import.history")} value=${reading.history ?? ""}
          options=${[["", t("import.choose")], ...preview.histories.map((each) => [each.name, each.name])]} onChange=${change("history")} /></span>`}
        ${speakers.length > 1 && html`<span><${Select} label=${t("import.speaker", { user: who.user })} value=${reading.speaker ?? ""}
          options=${[["", t("settings.automatic.file")], ...speakers.map((name) => [name, name])]} onChange=${change("speaker")} /></span>`}
        <span><${Select} label=${t("import.zone")} value=${reading.zone ?? ""}
          options=${[["", "UTC"], ...(ownZone() === "UTC" ? [] : [[ownZone(), ownZone()]])]} onChange=${change("zone")} /></span>
      </div>
      ${mustChoose ? html`<p>${t("import.several", { n: shown.length })}</p>` : shown.map((history) => html`
        <${HistoryTable} key=${history.name} history=${history} />`)}
      <${Warnings} ...${preview} />
      <div class="acts">
        <button type="button" class="primary" disabled=${mustChoose || isImporting} onClick=${store}>
          ${t(isImporting ? "import.storing" : "import.do", { user: who.user })}</button>
        <button type="button" onClick=${onCancel}>${t("import.cancel")}</button>
      </div>`}
    ${problem && !preview && html`<button type="button" onClick=${onCancel}>${t("import.cancel")}</button>`}`;
}

/** An operation that remembers, until it has ended. */
function Progress({ who, id, total }) {
  const [operation, setOperation] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    let timer = 0;
    let isShown = true;
    const look = () => get(`/v1/operations/${id}`).then((found) => {
      if (!isShown) return;
      setOperation(found);
      if (found.state === "waiting" || found.state === "running") timer = setTimeout(look, POLL);
      else {
        reload(graphKey(who));
        reload("users");
      }
    }, setProblem);
    look();
    return () => {
      isShown = false;
      clearTimeout(timer);
      reload(graphKey(who));
    };
  }, [id]);
  if (problem) return html`<${ErrorBox} problem=${problem} />`;
  if (!operation) return html`<${Loading} />`;
  const { state, done, result, error } = operation;
  const hasEnded = state !== "waiting" && state !== "running";
  const failures = (result.reports ?? []).filter((report) => report.failure);
  return html`
    <section class="progress">
      <div role="status"><h2>${t(`import.${state}`)}</h2></div>
      <progress aria-label=${t("import.progress")} max=${Math.max(total, done, 1)} value=${state === "succeeded" ? Math.max(total, done, 1) : done} />
      <p>${hasEnded ? t("import.made", { n: result.memories ?? 0, done }) : t("import.done", { done, n: Math.max(total, done) })}</p>
      ${error && !failures.length && html`<p class="failure" role="alert">${error}</p>`}
      ${failures.length > 0 && html`<div role="alert"><ul class="warnings">${failures.map((report) => html`
        <li>${t("memory.session", { session: report.session })}: ${report.failure}</li>`)}</ul></div>`}
      <div class="acts">
        ${hasEnded ? html`<a class="button primary" href=${linkTo({}, "timelines")}>${t("import.see")}</a>
          <button type="button" onClick=${() => navigate({ operation: null, total: null })}>${t("import.another")}</button>`
          : html`<button type="button" onClick=${() => post(`/v1/operations/${id}/cancel`).catch(setProblem)}>${t("import.stop")}</button>`}
      </div>
    </section>`;
}

export default function Import({ who, params }) {
  const [file, setFile] = useState(null);
  const [reading, setReading] = useState({ zone: ownZone() });
  const [imported, setImported] = useState(null);
  const [isDone, setDone] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    if (!params.demo || !who) return;
    send("GET", "page/demo.jsonl").then((response) => response.text())
      .then((text) => setFile(new File([text], "demo.jsonl")), setProblem);
  }, [params.demo, who?.user]);
  if (!who) return html`<${Someone} />`;
  const pick = (chosen) => {
    setReading({ zone: ownZone() });
    setImported(null);
    setDone(false);
    setFile(chosen);
  };
  const remember = async (report) => {
    setImported(report);
    setFile(null);
    try {
      reload("users");
      const pending = await get(userPath(who, "pending"));
      if (!pending.length) {
        reload(graphKey(who));
        setDone(true);
        return;
      }
      const started = await post("/v1/operations", { kind: "remember", user: who.user, agent: who.agent });
      navigate({ user: who.user, operation: started.id, total: pending.length });
    } catch (failure) {
      setProblem(failure);
    }
  };
  return html`
    <div class="main-column import">
      <h1>${t("import.title", { user: who.user })}</h1>
      ${imported && html`<p role="status">${imported.records_new ? t("import.restored", { n: imported.records_new })
        : !imported.turns_new ? t("import.nothing") : t("import.stored", { n: imported.turns_new, conversations: t("conversations", { n: imported.sessions_new }) })}</p>`}
      ${problem && html`<${ErrorBox} problem=${problem} />`}
      ${isDone && html`<a href=${linkTo({}, "timelines")}>${t("import.see")}</a>`}
      ${params.operation ? html`<${Progress} key=${params.operation} who=${who} id=${params.operation} total=${Number(params.total) || 0} />`
        : file ? html`<${Preview} who=${who} file=${file} reading=${reading} setReading=${setReading} onImport=${remember} onCancel=${() => { setFile(null); navigate({ demo: null }); }} />`
          : html`<${FilePicker} onPick=${pick} />`}
    </div>`;
}
