/** Home: what is known of a person, in their own words; what changed, who comes up, what was said last. */
import { Loaded } from "../components/basics.js";
import { ConversationItem } from "../components/conversation.js";
import { Before, EntityLink, Folded, Line, Quote, useProfile } from "../components/known.js";
import { NobodyYet, NothingYet } from "../components/load_graph.js";
import { html } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo } from "../core/route.js";
import { source } from "../core/source.js";
import { t } from "../core/texts.js";

const LATEST = 5;
/** Lines of a card that are shown at first, and of names. */
const LINES = 6;
const NAMES = 30;
const AREAS = ["about", "home", "work", "people", "health", "likes", "plans", "possessions", "rules"];

const Area = ({ area, lines, entities }) => html`
  <section class="card">
    <h2>${t(`area.${area}`)}</h2>
    <ul class="plain"><${Folded} items=${lines} most=${LINES}>${(line) => html`<${Line} key=${line.turn + line.text} line=${line} entities=${entities} />`}<//></ul>
  </section>`;

const Changes = ({ changes }) => html`
  <section class="card">
    <h2>${t("home.changes")}</h2>
    <ul class="plain"><${Folded} items=${changes} most=${LINES}>${(change) => html`
      <li key=${change.turn + change.before.text}><${Quote} quote=${change} /><${Before} quotes=${[change.before]} /></li>`}<//></ul>
  </section>`;

const Entities = ({ entities }) => html`
  <section class="card">
    <h2>${t("home.entities")}</h2>
    <ul class="plain entities"><${Folded} items=${entities} most=${NAMES}>${(entity) => html`
      <li key=${entity.name}><${EntityLink} entity=${entity}> · ${entity.mentions}<//></li>`}<//></ul>
  </section>`;

function Latest({ who }) {
  const latest = useResource(`conversations:${who.user}:${who.agent}:latest`, () => source.get().conversations(who, { limit: LATEST }));
  return html`<${Loaded} from=${latest}>${({ items }) => items.length > 0 && html`
    <section class="card"><h2>${t("home.latest")}</h2>
      <ul class="plain">${items.map((each) => html`<li key=${each.session}><${ConversationItem} conversation=${each} /></li>`)}</ul>
      <p><a href=${linkTo({}, "conversations")}>${t("home.all")}</a></p></section>`}<//>`;
}

function Content({ who, profile }) {
  const areas = AREAS.map((area) => [area, profile.lines.filter((line) => line.area === area)]).filter(([, lines]) => lines.length);
  const isKnown = areas.length > 0 || profile.entities.length > 0;
  return html`
    <div class="main-column home">
      <h1><bdi>${profile.user}</bdi></h1>
      <p class="quiet">${t(isKnown ? "home.about" : "home.nothing")}</p>
      <div class="home-cards">
        ${areas.map(([area, lines]) => html`<${Area} key=${area} area=${area} lines=${lines} entities=${profile.entities} />`)}
        ${profile.changes.length > 0 && html`<${Changes} changes=${profile.changes} />`}
        ${profile.entities.length > 0 && html`<${Entities} entities=${profile.entities} />`}
        <${Latest} who=${who} />
      </div>
    </div>`;
}

export default function Home({ who }) {
  const months = useResource(who && `months:${who.user}:${who.agent}`, () => source.get().months(who));
  const profile = useProfile(who);
  if (!who) return html`<h1 class="hidden">${t("nav.home")}</h1><${NobodyYet} />`;
  if (months.value?.length === 0) return html`<h1 class="hidden">${t("nav.home")}</h1><${NothingYet} who=${who} />`;
  return html`${!profile.value && html`<h1 class="hidden">${t("nav.home")}</h1>`}<${Loaded} from=${profile}>${(value) => html`
    <${Content} who=${who} profile=${value} />`}<//>`;
}
