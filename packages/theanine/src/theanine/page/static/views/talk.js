/** Talk: a chat with what was recalled next to each reply. */
import { ErrorBox, Loaded, notify } from "../components/basics.js";
import { graphKey, useGraph } from "../components/load_graph.js";
import { titleOfConversation } from "../components/conversation.js";
import { MemoryItem, MemoryPanel } from "../components/memory.js";
import { Someone } from "../components/someone.js";
import { get, post, postForEvents, Problem, userPath } from "../core/api.js";
import { html, useEffect, useId, useRef, useState } from "../core/html.js";
import { reload, useResource } from "../core/resource.js";
import { linkTo, navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { formatDate, t, wallTime } from "../core/texts.js";

/** What was recalled for a reply that is listed at first. */
const FIRST = 3;

/** How threads of this page begin, and conversations among which they are looked for. */
const OWN = "page-";
const LISTED = 100;

const newThread = () => `${OWN}${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`;
const threadPath = (who, thread, rest) => userPath(who, `threads/${encodeURIComponent(thread)}/${rest}`);

const wordsOf = (text) => new Set(text.toLowerCase().match(/\p{L}{3,}/gu) ?? []);

/** Return items, those first that share the most words with a text; words of few items count more. */
function sortByWords(items, text) {
  const wanted = wordsOf(text);
  const shared = items.map((item) => [...wordsOf(item.words)].filter((word) => wanted.has(word)));
  const counts = new Map();
  for (const word of shared.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const scores = new Map(items.map((item, n) => [item, shared[n].reduce((sum, word) => sum + 1 / counts.get(word), 0)]));
  return [...items].sort((a, b) => scores.get(b) - scores.get(a));
}

/**
 * What a reply was given: memories and, of a `reply` that was just made, turns without a memory
 * yet; what is about the words of the reply and of its question comes first.
 */
function Recalled({ turn, asked, reply, graph, openId }) {
  const [isAll, setAll] = useState(false);
  const memories = turn.recalled.map((id) => graph.memories.get(id)).filter(Boolean);
  const parts = reply?.recollection.parts ?? [];
  const known = new Set(parts.flatMap((part) => part.memories.flatMap((memory) => memory.source_turns)));
  const quotes = parts.flatMap((part) => part.source_turns).filter((each) => !known.has(each.id))
    .map(({ id, speaker, text }) => ({ id: `t${id}`, speaker, words: text }));
  const found = sortByWords([...memories, ...quotes], `${asked} ${turn.text}`);
  const items = found.map((item) => html`
    <li key=${item.id}>${item.speaker === undefined ? html`<${MemoryItem} memory=${item} isOpen=${item.id === openId} />`
      : html`<p class="memory-item">${item.words} <span class="quiet">${item.speaker}</span></p>`}</li>`);
  return html`
    <aside class="recalled" aria-label=${t("talk.recalled", { n: items.length })}>
      <p class="quiet recalled-line" dir="auto">${t("talk.recalled", { n: items.length })}${found.length > 0 && html`: <bdi>${found[0].words}</bdi>`}</p>
      <p class="quiet"><a href=${linkTo({ reply: turn.id }, "why")}>${t("talk.why")}</a></p>
      <ul class="plain">${isAll ? items : items.slice(0, FIRST)}</ul>
      ${!isAll && items.length > FIRST && html`
        <button type="button" onClick=${() => setAll(true)}>${t("why.more", { n: items.length - FIRST })}</button>`}
    </aside>`;
}

/** The talks that were begun on this page, the newest first; each goes on where it was left. */
function Earlier({ who, thread, onOpen }) {
  const latest = useResource(`conversations:${who.user}:${who.agent}:talks`, () => source.get().conversations(who, { limit: LISTED }));
  const talks = latest.value?.items.filter((each) => each.thread?.startsWith(OWN) && each.thread !== thread) ?? [];
  if (!talks.length) return null;
  return html`
    <details class="earlier"><summary>${t("talk.list", { n: talks.length })}</summary>
      <ul class="plain">${talks.map((each) => html`<li key=${each.session}>
        <a class="memory-item" href=${linkTo({ thread: each.thread, memory: null })} onClick=${onOpen}><span class="words" dir="auto">${titleOfConversation(each)}</span>
          <span class="quiet">${each.dated ? formatDate(wallTime(each.started_at)) : t("date.unknown")} · ${t("messages", { n: each.turn_count })}</span></a></li>`)}</ul>
    </details>`;
}

const Bubble = ({ role, speaker, text, model = "local", children }) => html`
  <li class="exchange"><div class=${`turn ${role}`}><span class="quiet">${model === "local" ? speaker : `${speaker} · ${model}`}</span><p>${text}</p></div>${children}</li>`;

function Composer({ busy, onSend, onStop }) {
  const id = useId();
  const form = useRef(null);
  const submit = (event) => {
    event.preventDefault();
    const { text } = event.currentTarget.elements;
    if (busy || !text.value.trim()) return;
    onSend(text.value.trim());
    text.value = "";
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.current.requestSubmit();
  };
  return html`
    <form class="composer" ref=${form} onSubmit=${submit}>
      <label class="hidden" for=${id}>${t("talk.message")}</label>
      <textarea id=${id} name="text" rows="2" placeholder=${t("talk.message")} onKeyDown=${onKeyDown} />
      ${busy ? html`<button type="button" onClick=${onStop}>${t("talk.stop")}</button>`
        : html`<button class="primary">${t("talk.send")}</button>`}
    </form>`;
}

function Conversation({ who, thread, graph, openId }) {
  const key = thread ? `thread:${who.user}:${who.agent}:${thread}` : null;
  const turns = useResource(key, () => get(threadPath(who, thread, "turns")));
  const [live, setLive] = useState(null); // { heard, text }: what is not among the turns yet
  const [problem, setProblem] = useState(null);
  const [replies, setReplies] = useState(new Map()); // of this visit, by turn
  const [isEnding, setEnding] = useState(false);
  const stop = useRef(null);
  const end = useRef(null);
  const said = thread ? turns.value ?? [] : [];
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [said.length, live]);
  useEffect(() => () => stop.current?.abort(), [thread]);

  const reply = async (name, heard) => {
    stop.current = new AbortController();
    let text = "";
    let replied = null;
    setProblem(null);
    setLive({ heard, text });
    try {
      if (heard) await post(threadPath(who, name, "hear"), { content: heard });
      for await (const event of postForEvents(threadPath(who, name, "reply"), { stream: true }, { signal: stop.current.signal })) {
        if (event.problem) throw new Problem(event.problem);
        if (event.reply) replied = event.reply;
        else setLive({ heard, text: text += event.piece });
      }
    } catch (error) {
      if (error.name !== "AbortError") setProblem(error);
    }
    const logged = await get(threadPath(who, name, "turns"));
    if (replied) setReplies((all) => new Map(all).set(logged.at(-1).id, replied));
    navigate({ thread: name });
    reload(`thread:${who.user}:${who.agent}:${name}`);
    setLive((now) => now && { ...now, until: logged.length });
  };
  const isReplying = live !== null && live.until === undefined;
  const isShown = live !== null && !(said.length >= live.until);

  const finish = async () => {
    setEnding(true);
    try {
      const reports = await post(threadPath(who, thread, "end"), { remember: true });
      const n = reports.reduce((sum, report) => sum + report.memories, 0);
      notify(t("talk.remembered", { n }));
      reload(graphKey(who));
      navigate({ thread: null, memory: null });
      setLive(null);
    } catch (error) {
      setProblem(error);
    }
    setEnding(false);
  };
  return html`
    <div class="main-column talk">
      <div class="talk-head">
        <h1>${t("nav.talk")}</h1>
        ${thread && html`<a class="button" href=${linkTo({ thread: null, memory: null })} onClick=${() => setLive(null)}>${t("talk.new")}</a>`}
        ${said.length > 0 && html`<button type="button" disabled=${isReplying || isEnding} onClick=${finish}>
          ${t(isEnding ? "talk.ending" : "talk.end")}</button>`}
      </div>
      ${!said.length && !live && html`<p class="quiet">${t("talk.about")}</p>`}
      <${Earlier} who=${who} thread=${thread} onOpen=${() => setLive(null)} />
      <div role="log" aria-label=${t("nav.talk")} aria-busy=${isReplying}><ol class="plain exchanges">
        ${said.map((turn, n) => html`
          <${Bubble} key=${turn.id} ...${turn} model=${replies.get(turn.id)?.made_by}>${turn.role === "assistant" && html`
            <${Recalled} turn=${turn} asked=${said[n - 1]?.text ?? ""} graph=${graph} reply=${replies.get(turn.id)} openId=${openId} />`}<//>`)}
        ${isShown && live.heard && html`<${Bubble} key="heard" role="user" speaker=${who.user} text=${live.heard} />`}
        ${isShown && html`<${Bubble} key="reply" role="assistant" speaker=${t("talk.assistant")} text=${live.text || "…"} />`}
      </ol></div>
      ${problem && html`<${ErrorBox} problem=${problem} retry=${thread && said.at(-1)?.role === "user" && (() => reply(thread, ""))} />`}
      <div ref=${end} />
      <${Composer} busy=${isReplying} onSend=${(text) => reply(thread ?? newThread(), text)} onStop=${() => stop.current.abort()} />
    </div>`;
}

export default function Talk({ who, params }) {
  const openId = Number(params.memory) || null;
  const loaded = useGraph(who);
  if (!who) return html`<${Someone} />`;
  return html`${!loaded.value && html`<h1 class="hidden">${t("nav.talk")}</h1>`}<${Loaded} from=${loaded}>${(graph) => html`
    <div class="split">
      <${Conversation} who=${who} thread=${params.thread} graph=${graph} openId=${openId} />
      ${openId && html`<${MemoryPanel} who=${who} graph=${graph} id=${openId} onClose=${() => navigate({ memory: null })} />`}
    </div>`}<//>`;
}
