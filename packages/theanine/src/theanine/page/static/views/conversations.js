/** Conversations: all that was said, by month, and each to read as it was. */
import { Loaded } from "../components/basics.js";
import { ConversationItem, titleOfConversation } from "../components/conversation.js";
import { entitiesByTurn, EntityLink, useProfile } from "../components/known.js";
import { NobodyYet, NothingYet, useGraph } from "../components/load_graph.js";
import { Markdown } from "../components/markdown.js";
import { MemoryPanel } from "../components/memory.js";
import { MonthBars, monthTime, nameOfMonth } from "../components/months.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { saidSince } from "../core/live.js";
import { linkTo, navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { useStore } from "../core/store.js";
import { describeOwnEnd, formatDate, formatDatePart, formatMonth, formatTime, t, wallTime } from "../core/texts.js";

/** Turns that are loaded at once, conversations likewise. */
const MOST = 100;
/** Turns before the one that a link leads to. */
const BEFORE = 20;
const DAY = 86_400_000;

/** A bar for each month that has conversations, as high as it has many; and a day to jump to. */
function Months({ months, chosen, day }) {
  const id = useId();
  const bars = [...months].reverse().map(({ month, conversations }) => ({ month, count: conversations, label: t("conversations", { n: conversations }) }));
  return html`
    <div class="months-bar">
      <${MonthBars} months=${bars} isChosen=${(month) => month === chosen} label=${t("conversations.months")}
        link=${(month) => linkTo({ month: month || "none", day: null })} />
      <span class="jump"><label class="field-label" for=${id}>${t("conversations.day")}</label>
        <input id=${id} type="date" value=${day ?? ""} onChange=${(event) => event.currentTarget.value
          && navigate({ day: event.currentTarget.value, month: null })} /></span>
    </div>`;
}

/** Return the month of an address: its own, that of a day or the nearest to it, or the newest. */
function chooseMonth(months, { month, day }) {
  if (month) return month === "none" ? "" : month;
  const dated = months.filter((each) => each.month);
  if (!day || !dated.length) return months[0].month;
  const distance = (each) => Math.abs(monthTime(each.month) - monthTime(day.slice(0, 7)));
  return dated.reduce((a, b) => (distance(b) < distance(a) ? b : a)).month;
}

function List({ who, months, params }) {
  const month = chooseMonth(months, params);
  const [pages, setPages] = useState([undefined]);
  useEffect(() => setPages([undefined]), [month]);
  return html`
    <div class="main-column">
      <h1>${t("nav.conversations")}</h1>
      <p class="quiet">${t("conversations", { n: months.reduce((sum, each) => sum + each.conversations, 0) })}</p>
      <${Months} months=${months} chosen=${month} day=${params.day} />
      ${pages.map((cursor, at) => html`<${Page} key=${`${month} ${cursor}`} who=${who} month=${month} cursor=${cursor} day=${params.day}
        isFirst=${!at} onMore=${at + 1 === pages.length && ((next) => setPages([...pages, next]))} />`)}
    </div>`;
}

const monthOf = ({ dated, started_at }) => (dated ? started_at.slice(0, 7) : "");

/** A page of conversations from a month on, in months. */
function Page({ who, month, cursor, day, isFirst, onMore }) {
  const page = useResource(`conversations:${who.user}:${who.agent}:${month}:${cursor ?? ""}`,
    () => source.get().conversations(who, { month, cursor, limit: MOST }));
  const list = useRef(null);
  const wanted = day && wallTime(`${day}T00:00:00`);
  const distance = ({ started_at }) => Math.abs(Math.floor(wallTime(started_at) / DAY) * DAY - wanted);
  const near = day && isFirst && page.value?.items.length && page.value.items.reduce((a, b) => (distance(b) <= distance(a) ? b : a)).session;
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [near]);
  return html`<${Loaded} from=${page}>${({ items, next }) => html`
    <ul class="plain conversations" ref=${list}>${items.map((each, at) => html`
      <li key=${each.session}>
        ${(at ? monthOf(items[at - 1]) !== monthOf(each) : isFirst) && html`<h2 class="month-title">${nameOfMonth(monthOf(each))}</h2>`}
        <${ConversationItem} conversation=${each} isNear=${each.session === near} /></li>`)}</ul>
    ${next && onMore && html`<button type="button" onClick=${() => onMore(next)}>${t("show_more")}</button>`}`}<//>`;
}

const merge = (a, b) => [...new Map([...a, ...b].map((turn) => [turn.id, turn])).values()].sort((x, y) => x.id - y.id);

/**
 * The turns of a session around one, or from its beginning; more of them are loaded where the end of
 * what is shown comes into sight.
 */
function useTurns(who, session, turn) {
  const key = `turns:${who.user}:${who.agent}:of:${session}:${turn ?? ""}`;
  const read = (bounds) => source.get().sessionTurns(who, session, { limit: MOST, ...bounds });
  const first = useResource(key, async () => {
    const from = turn ? Number(turn) : 1;
    const [after, before] = await Promise.all([
      read({ after: from - 1 }),
      turn ? read({ after: from, newest_first: true, limit: BEFORE }) : [],
    ]);
    return { turns: merge(before, after), isFirst: !turn || before.length < BEFORE, isLast: after.length < MOST };
  });
  const [more, setMore] = useState(null);
  const base = first.value;
  const state = more && more.base === base ? more : { base, ...base };
  const extend = async (isLater) => {
    const found = await read(isLater ? { after: state.turns.at(-1)?.id ?? 0 } : { after: state.turns[0].id, newest_first: true });
    const end = { [isLater ? "isLast" : "isFirst"]: found.length < MOST };
    // Both ends may be extended at once.
    setMore((now) => ({ ...state, ...(now?.base === base && now), turns: merge(now?.base === base ? now.turns : state.turns, found), ...end }));
  };
  const said = useStore(saidSince);
  const seen = useRef(said);
  useEffect(() => {
    if (seen.current !== said && state.isLast) extend(true);
    seen.current = said;
  }, [said]);
  return { first, state, extend };
}

/** Loads more when it comes into sight; a button, for keys and where nothing is watched. */
function More({ label, onMore, state }) {
  const button = useRef(null);
  const [busy, setBusy] = useState(false);
  const load = useRef(null);
  load.current = () => {
    if (busy) return;
    setBusy(true);
    onMore().finally(() => setBusy(false));
  };
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && load.current());
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [state]);
  return html`<button type="button" class="more-turns" ref=${button} disabled=${busy} onClick=${() => load.current()}>${label}</button>`;
}

function Said({ turn, previous, places, entities, isSource, query, openId }) {
  const time = wallTime(turn.at);
  const ends = describeOwnEnd(turn.metadata, turn.at);
  const isNewDay = turn.dated && (!previous || formatDate(wallTime(previous.at)) !== formatDate(time));
  return html`
    ${isNewDay && html`<li class="day" key=${`day ${turn.id}`}><h2>${formatDatePart(time, { weekday: "long", day: "numeric", month: "long", year: "numeric" })}</h2></li>`}
    <li id=${`turn-${turn.id}`} class=${`said ${turn.role}${isSource ? " source" : ""}`} tabindex=${isSource ? -1 : undefined}>
      <p class="quiet"><bdi>${turn.speaker}</bdi>${turn.dated && html` · <time datetime=${turn.at}>${formatDatePart(time, { hour: "2-digit", minute: "2-digit" })}</time>`}${
        ends && ` · ${ends}`}${turn.notes?.corrects && html` · ${t("turn.corrects", { id: turn.notes.corrects })}`}</p>
      <${Markdown} text=${turn.text} query=${query} />
      ${turn.attachment && html`<p class="attachment" dir="auto">${t("turn.image", { label: turn.attachment })}</p>`}
      ${entities.length > 0 && html`<ul class="plain entities" aria-label=${t("turn.entities")}>${entities.map((entity) => html`
        <li key=${entity.name}><${EntityLink} entity=${entity} /></li>`)}</ul>`}
      ${places.length > 0 && html`<ul class="plain places" aria-label=${t("turn.memories")}>${places.map(({ memory, words }) => html`
        <li key=${memory}><a href=${linkTo({ memory })} aria-current=${memory === openId ? "true" : undefined} dir="auto"
          ><span class="relation">${t("turn.remembered")}</span> ${words === turn.text ? "" : words}</a></li>`)}</ul>`}
    </li>`;
}

function Reading({ who, detail: { conversation, places }, params }) {
  const { turn, q } = params;
  const { session } = conversation;
  const { first, state, extend } = useTurns(who, session, turn);
  const column = useRef(null);
  const openId = Number(params.memory) || null;
  const byTurn = new Map();
  for (const place of places) for (const id of place.turns) byTurn.set(id, [...(byTurn.get(id) ?? []), place]);
  const entities = entitiesByTurn(useProfile(who).value);
  const loaded = Boolean(first.value);
  const top = useRef(null);
  useLayoutEffect(() => {
    const target = turn && column.current?.querySelector(`#turn-${Number(turn)}`);
    if (!target) return;
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  }, [loaded, turn]);
  // What is added above must not move what is being read.
  const firstId = state.turns?.[0]?.id;
  useLayoutEffect(() => {
    const { id, height } = top.current ?? {};
    if (id > firstId && column.current) column.current.scrollTop += column.current.scrollHeight - height;
    top.current = column.current && { id: firstId, height: column.current.scrollHeight };
  });
  const month = conversation.dated ? conversation.started_at.slice(0, 7) : "none";
  return html`
    <div class="main-column reading" ref=${column} tabindex="0" role="region" aria-label=${titleOfConversation(conversation)}>
      <header class="reading-head">
        <a class="button" href=${linkTo({ month, session: null, turn: null, memory: null, q: null })}><span class="back" aria-hidden="true">←</span> ${conversation.dated ? formatMonth(monthTime(month)) : t("nav.conversations")}</a>
        <a class="button" href=${linkTo({ session, q: null }, "find")}>${t("conversation.find")}</a>
      </header>
      <h1 dir="auto">${titleOfConversation(conversation)}</h1>
      <p class="quiet">${[conversation.dated ? formatTime(wallTime(conversation.started_at)) : t("date.unknown"),
        conversation.speakers.join(", "), t("messages", { n: conversation.turn_count }),
        !conversation.remembered && t("conversation.waiting")].filter(Boolean).join(" · ")}</p>
      <${Loaded} from=${first}>${() => html`
        ${!state.isFirst && html`<${More} label=${t("conversation.earlier")} state=${state} onMore=${() => extend(false)} />`}
        <ol class="plain said-list-of-turns">${state.turns.map((each, at) => html`
          <${Said} key=${each.id} turn=${each} previous=${state.turns[at - 1]} places=${byTurn.get(each.id) ?? []} entities=${entities.get(each.id) ?? []}
            isSource=${each.id === Number(turn)} query=${q} openId=${openId} />`)}</ol>
        ${!state.isLast && html`<${More} label=${t("conversation.later")} state=${state} onMore=${() => extend(true)} />`}`}<//>
    </div>`;
}

/** The graph is only loaded for a memory that is opened. */
function Memory({ who, id }) {
  const graph = useGraph(who);
  return html`<${Loaded} from=${graph}>${(value) => html`
    <${MemoryPanel} who=${who} graph=${value} id=${id} onClose=${() => navigate({ memory: null })} />`}<//>`;
}

function Conversation({ who, params }) {
  const detail = useResource(`conversation:${who.user}:${who.agent}:${params.session}`, () => source.get().conversation(who, Number(params.session)));
  const isShown = detail.value && !detail.problem;
  return html`
    ${!isShown && html`<h1 class="hidden">${t("nav.conversations")}</h1>`}
    <div class="split">
      <${Loaded} from=${detail}>${(value) => html`<${Reading} key=${params.session} who=${who} detail=${value} params=${params} />`}<//>
      ${params.memory && html`<${Memory} who=${who} id=${Number(params.memory)} />`}
    </div>`;
}

function All({ who, params }) {
  const months = useResource(`months:${who.user}:${who.agent}`, () => source.get().months(who));
  return html`${!months.value?.length && html`<h1 class="hidden">${t("nav.conversations")}</h1>`}<${Loaded} from=${months}>${(value) => (value.length
    ? html`<${List} who=${who} months=${value} params=${params} />` : html`<${NothingYet} who=${who} />`)}<//>`;
}

export default function Conversations({ who, params }) {
  if (!who) return html`<h1 class="hidden">${t("nav.conversations")}</h1><${NobodyYet} />`;
  return params.session ? html`<${Conversation} who=${who} params=${params} />` : html`<${All} who=${who} params=${params} />`;
}
