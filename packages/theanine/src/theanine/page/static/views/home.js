/** Home: what is known of a person, in their own words; what changed, who comes up, what was said last. */
import { Loaded, SidePanel } from "../components/basics.js";
import { ConversationItem, linkToTurn } from "../components/conversation.js";
import { NobodyYet, NothingYet } from "../components/load_graph.js";
import { html } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo, navigate } from "../core/route.js";
import { source } from "../core/source.js";
import { formatDate, t, wallTime } from "../core/texts.js";

const LATEST = 5;
const AREAS = ["about", "home", "work", "people", "health", "likes", "plans", "possessions", "rules"];

const day = (quote) => (quote.dated ? formatDate(wallTime(quote.at)) : t("date.unknown"));

/** Words of the person, as a link to where they were said. */
const Quote = ({ quote, children }) => html`
  <a class="memory-item" href=${linkToTurn(quote)}><span class="words" dir="auto">${quote.text}</span>
    <span class="quiet">${children ?? day(quote)}</span></a>`;

const Before = ({ quotes }) => quotes.map((quote) => html`
  <div class="before" key=${quote.turn}><span class="relation">${t("home.before")}</span><${Quote} quote=${quote} /></div>`);

function Line({ line }) {
  const since = line.dated && t("home.since", { date: formatDate(wallTime(line.since)) });
  const sure = line.is_correction ? t("home.corrected") : line.certainty !== "said" && t(`certainty.${line.certainty}`);
  return html`<li class=${line.certainty === "may be outdated" ? "outdated" : ""}>
    <${Quote} quote=${line}>${[since, sure].filter(Boolean).join(" · ") || t("date.unknown")}<//>
    <${Before} quotes=${line.before} /></li>`;
}

const Area = ({ area, lines }) => html`
  <section class="card">
    <h2>${t(`area.${area}`)}</h2>
    <ul class="plain">${lines.map((line) => html`<${Line} key=${line.turn + line.text} line=${line} />`)}</ul>
  </section>`;

const Changes = ({ changes }) => html`
  <section class="card">
    <h2>${t("home.changes")}</h2>
    <ul class="plain">${changes.map((change) => html`
      <li key=${change.turn}><${Quote} quote=${change} /><${Before} quotes=${[change.before]} /></li>`)}</ul>
  </section>`;

const kindOf = ({ relation, kind }) => relation || t(`entity.${kind}`);

const Entities = ({ entities, open }) => html`
  <section class="card">
    <h2>${t("home.entities")}</h2>
    <ul class="plain entities">${entities.map((entity) => html`
      <li key=${entity.name}><a href=${linkTo({ entity: entity.name })} aria-current=${entity.name === open ? "true" : undefined}>
        <bdi>${entity.name}</bdi> <span class="quiet"><bdi>${kindOf(entity)}</bdi> · ${entity.mentions}</span></a></li>`)}</ul>
  </section>`;

/** A person, place or thing: who it is, and where it was spoken of. */
function EntityPanel({ who, entity }) {
  const turns = useResource(`turns:${who.user}:${who.agent}:${entity.turns}`, () => source.get().turns(who, entity.turns));
  return html`
    <${SidePanel} title=${entity.name} onClose=${() => navigate({ entity: null })}>
      <p class="quiet"><bdi>${[kindOf(entity), ...entity.aliases].join(" · ")}</bdi></p>
      <section><h3>${t("entity.introduced")}</h3><${Quote} quote=${entity.introduced} /></section>
      <section><h3>${t("entity.mentions", { n: entity.mentions })}</h3>
        <${Loaded} from=${turns}>${(found) => html`<ul class="plain">${[...found].sort((a, b) => b.id - a.id).map((turn) => html`
          <li key=${turn.id}><${Quote} quote=${{ ...turn, turn: turn.id }} /></li>`)}</ul>`}<//>
        <p><a href=${linkTo({ q: entity.name }, "find")}>${t("entity.find", { name: entity.name })}</a></p></section>
    <//>`;
}

function Latest({ who }) {
  const latest = useResource(`conversations:${who.user}:${who.agent}:latest`, () => source.get().conversations(who, { limit: LATEST }));
  return html`<${Loaded} from=${latest}>${({ items }) => items.length > 0 && html`
    <section class="card"><h2>${t("home.latest")}</h2>
      <ul class="plain">${items.map((each) => html`<li key=${each.session}><${ConversationItem} conversation=${each} /></li>`)}</ul>
      <p><a href=${linkTo({}, "conversations")}>${t("home.all")}</a></p></section>`}<//>`;
}

function Content({ who, profile, params }) {
  const areas = AREAS.map((area) => [area, profile.lines.filter((line) => line.area === area)]).filter(([, lines]) => lines.length);
  const entity = profile.entities.find(({ name }) => name === params.entity);
  const isKnown = areas.length > 0 || profile.entities.length > 0;
  return html`
    <div class="split">
      <div class="main-column home">
        <h1><bdi>${profile.user}</bdi></h1>
        <p class="quiet">${t(isKnown ? "home.about" : "home.nothing")}</p>
        <div class="home-cards">
          ${areas.map(([area, lines]) => html`<${Area} key=${area} area=${area} lines=${lines} />`)}
          ${profile.changes.length > 0 && html`<${Changes} changes=${profile.changes} />`}
          ${profile.entities.length > 0 && html`<${Entities} entities=${profile.entities} open=${params.entity} />`}
          <${Latest} who=${who} />
        </div>
      </div>
      ${params.entity && (entity ? html`<${EntityPanel} key=${entity.name} who=${who} entity=${entity} />`
        : html`<${SidePanel} title=${params.entity} onClose=${() => navigate({ entity: null })}><p>${t("entity.gone", { name: params.entity })}</p><//>`)}
    </div>`;
}

export default function Home({ who, params }) {
  const months = useResource(who && `months:${who.user}:${who.agent}`, () => source.get().months(who));
  const profile = useResource(who && `profile:${who.user}:${who.agent}`, () => source.get().profile(who));
  if (!who) return html`<h1 class="hidden">${t("nav.home")}</h1><${NobodyYet} />`;
  if (months.value?.length === 0) return html`<h1 class="hidden">${t("nav.home")}</h1><${NothingYet} who=${who} />`;
  return html`${!profile.value && html`<h1 class="hidden">${t("nav.home")}</h1>`}<${Loaded} from=${profile}>${(value) => html`
    <${Content} who=${who} profile=${value} params=${params} />`}<//>`;
}
