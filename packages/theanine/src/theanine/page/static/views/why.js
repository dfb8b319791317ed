/** Why: the candidates of a recall, what became of them, and the exact text for the model. */
import { Loaded, Select } from "../components/basics.js";
import { MemoryItem, MemoryPanel } from "../components/memory.js";
import { WithGraph } from "../components/load_graph.js";
import { get, post, userPath } from "../core/api.js";
import { html, useId, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo, navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { formatDate, formatNumber, t, wallTime } from "../core/texts.js";

/** Past replies that are offered are among so many of the newest turns. */
const NEWEST = 300;
/** Newest replies that are offered before anything is asked. */
const MOST_OFFERED = 10;
/** Candidates that are listed at first. */
const FIRST = 25;

const round = (value) => formatNumber(value, { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "negative" });
const percent = (value) => (value && value < 0.001 ? `< ${percent(0.001)}`
  : formatNumber(value, { style: "percent", maximumFractionDigits: value < 0.1 ? 1 : 0 }));
const shorten = (text, most) => (text.length > most ? `${text.slice(0, most).trimEnd()}…` : text);

/** From this stage on, each one changes the score of the one before. */
const ADJUSTED = 3;

/** The stages that changed a score; the others would be columns that repeat the one before. */
function findStages({ stages, candidates }) {
  return stages.filter((stage, n) => n <= ADJUSTED || candidates.some(({ scores }) => scores[stage] !== scores[stages[n - 1]]));
}

function Question({ params, replies, methods }) {
  const id = useId();
  const submit = (event) => {
    event.preventDefault();
    const { q, budget, as_of } = Object.fromEntries(new FormData(event.currentTarget));
    navigate({ q: q.trim(), budget, as_of, reply: q.trim() ? null : params.reply, memory: null });
  };
  const again = (event) => event.currentTarget.form.requestSubmit();
  return html`
    <form class="why-form" onSubmit=${submit} key=${params.reply}>
      <div class="search" role="search">
        <label class="hidden" for=${`${id}q`}>${t("why.question")}</label>
        <input id=${`${id}q`} name="q" type="search" value=${params.q ?? ""} placeholder=${t("why.question")} />
        <button class="primary">${t("why.do")}</button>
      </div>
      <div class="why-options">
        ${replies.length > 0 && html`<span class="wide"><${Select} label=${t("why.reply")} value=${params.reply ?? ""}
          options=${[["", t("why.reply.none")], ...replies.map((turn) => [String(turn.id),
            `${turn.dated ? `${formatDate(wallTime(turn.at))}: ` : ""}${shorten(turn.text, 60)}`])]}
          onChange=${(reply) => navigate({ reply, q: null, memory: null })} /></span>`}
        <span><${Select} label=${t("why.method")} value=${params.method ?? methods.current}
          options=${methods.installed.map((name) => [name, name])}
          onChange=${(method) => navigate({ method: method === methods.current ? null : method })} /></span>
        <span><label class="field-label" for=${`${id}b`}>${t("why.budget")}</label>
          <input id=${`${id}b`} name="budget" type="number" min="0" max="100000" step="10" value=${params.budget ?? ""}
            placeholder=${t("why.budget.own")} onChange=${again} /></span>
        <span><label class="field-label" for=${`${id}d`}>${t("why.as_of")}</label>
          <input id=${`${id}d`} name="as_of" type="date" value=${params.as_of ?? ""} onChange=${again} /></span>
      </div>
    </form>`;
}

const Meter = ({ value }) => html`
  <span class="meter" aria-hidden="true"><span style=${{ width: `${Math.max(2, 100 * value)}%` }} /></span> ${percent(value)}`;

function Row({ candidate, stages, memory }) {
  const { scores, relevance, outcome, speaker, dated, at, text } = candidate;
  const number = memory ?? candidate.memory;
  return html`
    <tr class=${outcome === "returned" ? "returned" : ""}>
      <th scope="row">
        ${number ? html`<a href=${linkTo({ memory: number })}>${text}</a>` : text}
        <span class="quiet">${[speaker, dated && formatDate(wallTime(at))].filter(Boolean).join(" · ")}</span>
      </th>
      <td class="outcome" data-outcome=${outcome}>${t(`outcome.${outcome}`)}</td>
      <td data-label=${t("why.relevance")}>${relevance == null ? "–" : html`<${Meter} value=${relevance} />`}</td>
      ${stages.map((stage, n) => html`
        <td class=${n > ADJUSTED && scores[stage] !== scores[stages[n - 1]] ? "number changed" : "number"} data-label=${t(`stage.${stage}`)}>${stage in scores ? round(scores[stage]) : "–"}</td>`)}
    </tr>`;
}

function Candidates({ explanation }) {
  const { candidates, recollection } = explanation;
  const [outcome, setOutcome] = useState("");
  const [isAll, setAll] = useState(false);
  const stages = findStages(explanation);
  const counts = new Map();
  for (const each of candidates) counts.set(each.outcome, (counts.get(each.outcome) ?? 0) + 1);
  const memories = new Map(recollection.parts.flatMap((part) => part.memories)
    .flatMap((memory) => memory.source_turns.map((turn) => [turn, memory.id])));
  const chosen = counts.has(outcome) ? candidates.filter((each) => each.outcome === outcome) : candidates;
  const shown = isAll ? chosen : chosen.slice(0, FIRST);
  return html`
    <section>
      <h2>${t("why.candidates")}</h2>
      <div class="chips" role="group" aria-label=${t("why.filter")}>
        ${[["", candidates.length], ...counts].map(([each, n]) => html`
          <button type="button" aria-pressed=${(counts.has(outcome) ? outcome : "") === each} onClick=${() => setOutcome(each)}>
            ${t(each ? `outcome.${each}` : "why.all")} ${formatNumber(n)}</button>`)}
      </div>
      <div class="table-frame" role="region" aria-label=${t("why.candidates")} tabindex="0">
        <table class="candidates">
          <thead><tr>
            <th scope="col">${t("why.what")}</th><th scope="col">${t("why.outcome")}</th><th scope="col">${t("why.relevance")}</th>
            ${stages.map((stage) => html`<th scope="col" class="number">${t(`stage.${stage}`)}</th>`)}
          </tr></thead>
          <tbody>${shown.map((each) => html`
            <${Row} candidate=${each} stages=${stages} memory=${memories.get(each.turn)} />`)}</tbody>
        </table>
      </div>
      ${shown.length < chosen.length && html`
        <button type="button" onClick=${() => setAll(true)}>${t("why.more", { n: chosen.length - shown.length })}</button>`}
      ${stages.length > 0 && html`<details><summary>${t("why.stages")}</summary>
        <dl class="stages"><dt>${t("why.relevance")}</dt><dd>${t("why.relevance.about")}</dd>${stages.map((stage) => html`<dt>${t(`stage.${stage}`)}</dt><dd>${t(`stage.${stage}.about`)}</dd>`)}</dl>
      </details>`}
    </section>`;
}

/** The timelines that the recall walked, with the memory that was found in each. */
function Walked({ graph, timelines, openId }) {
  if (!timelines.length) return null;
  return html`
    <section>
      <h2>${t("why.timelines")}</h2>
      ${timelines.map(({ memories, links, retrieved }) => html`
        <ol class="plain walked">${memories.map(({ id }, n) => graph.memories.has(id) && html`
          <li class=${id === retrieved ? "found" : ""}><${MemoryItem} memory=${graph.memories.get(id)} isOpen=${id === openId}
            relation=${n ? links[n - 1].relation : undefined} /></li>`)}</ol>`)}
    </section>`;
}

/** What a past reply was given, and which of it is recalled now. */
function Then({ graph, recalled, recollection, openId }) {
  const now = new Set(recollection.parts.flatMap((part) => part.memories.map((memory) => memory.id)));
  return html`
    <details>
      <summary>${t("why.then", { n: recalled.length, also: recalled.filter((id) => now.has(id)).length })}</summary>
      <ul class="plain">${recalled.map((id) => graph.memories.has(id) && html`
        <li class="then"><${MemoryItem} memory=${graph.memories.get(id)} isOpen=${id === openId} />
          <span class="outcome" data-outcome=${now.has(id) ? "returned" : "over_budget"}>${t(now.has(id) ? "why.then.now" : "why.then.gone")}</span></li>`)}
      </ul>
    </details>`;
}

function Summary({ explanation }) {
  const { candidates, tokens, budget, method, stopped, recollection } = explanation;
  if (stopped) return html`<p role="status">${t(`why.${stopped}`)}</p>`;
  if (!candidates.length) return html`<p role="status">${t("why.empty", { method })}</p>`;
  const values = {
    n: candidates.length,
    returned: candidates.filter((each) => each.part !== null).length,
    tokens: t(budget === null ? "why.tokens" : "why.tokens.of", { n: tokens, budget }),
  };
  const best = recollection.best_relevance;
  const floor = { best: percent(best ?? 0), floor: percent(recollection.min_relevance) };
  return html`
    <p role="status">${t("why.summary", values)}
      ${best !== null && html`<br /><span class="quiet">${t(best < recollection.min_relevance ? "why.floor.below" : "why.floor", floor)}</span>`}</p>`;
}

/** What can be asked here, with the newest replies to begin with. */
const Start = ({ replies }) => html`
  <section class="start">
    <h2>${t("why.start")}</h2>
    <p>${t("why.start.how")}</p>
    ${replies.length > 0 && html`<h3>${t("why.start.replies")}</h3>
      <ul class="plain">${replies.slice(0, MOST_OFFERED).map((turn) => html`
        <li key=${turn.id}><a class="memory-item" href=${linkTo({ reply: turn.id })}><span class="words">${shorten(turn.text, 160)}</span>
          <span class="quiet">${[turn.dated && formatDate(wallTime(turn.at)), t("why.start.recalled", { n: turn.recalled.length })].filter(Boolean).join(" · ")}</span></a></li>`)}</ul>`}
  </section>`;

/** The reply that is explained, after what it replied to. */
const Replied = ({ turns }) => html`
  <ol class="turns">${turns.map((turn) => html`
    <li class=${`turn ${turn.role}`}><span class="quiet">${turn.speaker}</span><p>${turn.text}</p></li>`)}</ol>`;

function Result({ who, graph, params, replies, openId }) {
  const { q, reply, method, budget, as_of } = params;
  const body = { method, as_of, budget: budget ? Number(budget) : undefined, ...(reply ? { reply: Number(reply) } : { dialogue: q }) };
  const key = `explain:${who.user}:${who.agent}:${JSON.stringify(body)}`;
  const explained = useResource(key, () => post(userPath(who, "explain"), body));
  const turn = replies.find((each) => String(each.id) === reply);
  const asked = useResource(turn ? `turns:${who.user}:${who.agent}:before${reply}` : null, async () =>
    (await source.get().sessionTurns(who, turn.session, { after: turn.id + 1, newest_first: true, limit: 2 })).reverse());
  return html`
    ${asked.value && html`<${Replied} turns=${asked.value} />`}
    <${Loaded} from=${explained}>${(explanation) => html`
      <${Summary} explanation=${explanation} />
      ${explanation.recalled.length > 0 && html`<${Then} graph=${graph} ...${explanation} openId=${openId} />`}
      ${explanation.candidates.length > 0 && html`<${Candidates} key=${key} explanation=${explanation} />`}
      <${Walked} graph=${graph} openId=${openId}
        timelines=${explanation.recollection.parts.map((part) => part.timeline).filter(Boolean)} />
      ${explanation.prompt && html`
        <section><h2>${t("why.prompt")}</h2><pre class="prompt">${explanation.prompt}</pre></section>`}`}<//>`;
}

export default function Why({ who, params }) {
  const openId = Number(params.memory) || null;
  const methods = useResource("methods", () => source.get().methods());
  const replies = useResource(who && `replies:${who.user}:${who.agent}`, async () => {
    const { items } = await get(userPath(who, "turns"), { newest_first: true, limit: NEWEST });
    return items.filter((turn) => turn.role === "assistant" && turn.recalled.length > 0);
  });
  return html`<${WithGraph} who=${who} title=${t("nav.why")}>${(graph) => html`
    <div class="split">
      <div class="main-column why">
        <${Loaded} from=${methods}>${(known) => html`<${Loaded} from=${replies}>${(past) => html`
          <${Question} params=${params} replies=${past} methods=${known} />
          ${params.q || params.reply
            ? html`<${Result} who=${who} graph=${graph} params=${params} replies=${past} openId=${openId} />`
            : html`<${Start} replies=${past} />`}`}<//>`}<//>
      </div>
      ${openId && html`<${MemoryPanel} who=${who} graph=${graph} id=${openId} onClose=${() => navigate({ memory: null })} />`}
    </div>`}<//>`;
}
