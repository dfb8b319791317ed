/** What is known of a person as several views show it: words with their place, and who comes up. */
import { linkToTurn } from "./conversation.js";
import { html, useState } from "../core/html.js";
import { useResource } from "../core/resource.js";
import { linkTo } from "../core/route.js";
import { source } from "../core/source.js";
import { formatDate, t, wallTime } from "../core/texts.js";
import { splitWords } from "../core/words.js";

/** The profile of a user as `useResource` gives it; a file has none. */
export const useProfile = (who) =>
  useResource(who && !source.get().isFile ? `profile:${who.user}:${who.agent}` : null, () => source.get().profile(who));

export const dayOf = (quote) => (quote.dated ? formatDate(wallTime(quote.at)) : t("date.unknown"));

/** The first of some items, and a button for the others. */
export function Folded({ items, most, children }) {
  const [isAll, setAll] = useState(false);
  const hidden = items.length - most;
  return html`${(isAll ? items : items.slice(0, most)).map(children)}${!isAll && hidden > 0 && html`
    <li class="unfold"><button type="button" onClick=${() => setAll(true)}>${t("more", { n: hidden })}</button></li>`}`;
}

/** Words of the person, as a link to where they were said. */
export const Quote = ({ quote, children }) => html`
  <a class="memory-item" href=${linkToTurn(quote)}><span class="words" dir="auto">${quote.text}</span>
    <span class="quiet">${children ?? dayOf(quote)}</span></a>`;

const BEFORE = 1;

/** What held before, the latest first. */
export const Before = ({ quotes }) => quotes.length > 0 && html`
  <ul class="plain before"><${Folded} items=${quotes} most=${BEFORE}>${(quote) => html`
    <li key=${quote.turn}><span class="relation">${t("home.before")}</span><${Quote} quote=${quote} /></li>`}<//></ul>`;

/** Who is meant where a line says "my sister" without the name. */
const findMeant = (line, entities) => entities.filter(({ name, relation }) =>
  relation && !line.text.includes(name) && splitWords(line.text).some((word) => word.replace(/[^\p{L}-]/gu, "") === relation.toLowerCase()));

/** A line of the profile: the words, since when, how sure it is, what it was before, and of whom it tells. */
export function Line({ line, entities = [] }) {
  const meant = line.area === "people" ? findMeant(line, entities) : [];
  const since = line.dated && t("home.since", { date: formatDate(wallTime(line.since)) });
  const sure = line.is_correction ? t("home.corrected") : line.certainty !== "said" && t(`certainty.${line.certainty}`);
  return html`<li class=${line.certainty === "may be outdated" ? "outdated" : ""}>
    <${Quote} quote=${line}>${[since, sure].filter(Boolean).join(" · ") || t("date.unknown")}<//>
    ${meant.length > 0 && html`<ul class="plain entities">${meant.map((entity) => html`<li key=${entity.name}><${EntityLink} entity=${entity} /></li>`)}</ul>`}
    <${Before} quotes=${line.before} /></li>`;
}

/** Who or what an entity is, in a word or two. */
export const kindOf = ({ relation, kind }) => relation || t(`entity.${kind}`);

/** A person, place or thing, as a link to its page. */
export const EntityLink = ({ entity, children }) => html`
  <a href=${linkTo({ entity: entity.name }, "entity")}><bdi>${entity.name}</bdi> <span class="quiet"><bdi>${kindOf(entity)}</bdi>${children}</span></a>`;

/** Return who and what comes up in each turn, by the turn's number. */
export function entitiesByTurn(profile) {
  const found = new Map();
  for (const entity of profile?.entities ?? []) {
    for (const turn of entity.turns) found.set(turn, [...(found.get(turn) ?? []), entity]);
  }
  return found;
}
