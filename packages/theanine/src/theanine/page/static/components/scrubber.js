/** What was known on a date, and a second date to compare it with. */
import { html, useId } from "../core/html.js";
import { linkTo, navigate } from "../core/route.js";
import { formatDate, formatTime, t } from "../core/texts.js";
import { compare, countKnown, findStops } from "../timeline/knowledge.js";

/** Return a time as it stands in the address. */
const write = (time) => new Date(time).toISOString().slice(0, 19);

/** Return the times of an address: `{ asOf, earlier, isPast }`; `earlier` is null without a comparison. */
export function readTimes(graph, params) {
  const read = (text) => {
    const time = text ? Date.parse(`${text.length === 10 ? `${text}T23:59:59` : text}Z`) : NaN;
    return Number.isNaN(time) ? null : time;
  };
  const [at, other] = [read(params.at), read(params.with)];
  const asOf = Math.max(at ?? graph.to, other ?? -Infinity);
  const earlier = other === null ? null : Math.min(at ?? graph.to, other);
  return { asOf: Math.min(asOf, graph.to), earlier, isPast: at !== null && at < graph.to };
}

/** Return the two times between which the page tells what changed, or null. */
export function readPeriod(graph, params) {
  const { asOf, earlier, isPast } = readTimes(graph, params);
  if (earlier !== null) return { earlier, later: asOf };
  return isPast ? { earlier: asOf, later: graph.to } : null;
}

function Slider({ label, stops, time, onTime }) {
  const id = useId();
  let index = stops.findLastIndex((stop) => stop <= time);
  if (index < 0) index = 0;
  return html`
    <label class="slider" for=${id}><span>${label}</span>
      <input id=${id} type="range" min="0" max=${stops.length - 1} step="1" value=${index}
        aria-valuetext=${formatTime(stops[index])}
        onInput=${(event) => onTime(stops[Number(event.currentTarget.value)])} />
      <output for=${id}>${formatDate(stops[index])}</output>
    </label>`;
}

/** The sliders of dates, and in words what was known then and has changed since. */
export function Scrubber({ graph, params }) {
  if (!graph.isDated || graph.firstDate === graph.to) return null;
  const stops = findStops(graph);
  const { asOf, isPast } = readTimes(graph, params);
  const period = readPeriod(graph, params);
  const at = params.at ? Date.parse(`${params.at}Z`) : graph.to;
  const go = (changes) => navigate(changes, { replace: true });
  const set = (name) => (time) =>
    go({ [name]: name === "at" && time === stops.at(-1) ? null : write(time) });
  const counts = period && compare(graph, period.earlier, period.later);
  return html`
    <div class="scrubber" role="group" aria-label=${t("scrubber")}>
      <${Slider} label=${t("scrubber.at")} stops=${stops} time=${at} onTime=${set("at")} />
      ${params.with
        ? html`<${Slider} label=${t("scrubber.with")} stops=${stops} time=${Date.parse(`${params.with}Z`)} onTime=${set("with")} />
          <button type="button" onClick=${() => go({ with: null, changes: null })}>${t("scrubber.one")}</button>`
        : html`<button type="button" onClick=${() => go(isPast ? { at: null, with: params.at } : { with: write(stops[Math.floor((stops.length - 1) / 2)]) })}>${t("scrubber.compare")}</button>`}
      ${counts && html`
        <p role="status">
          ${!params.with && html`${t("scrubber.known", { n: countKnown(graph, asOf) })} `}
          <a href=${linkTo({ changes: 1, memory: null, topic: null, session: null, turn: null })}>
            ${t("scrubber.changes", { added: counts.added.length, changed: counts.changed.length + counts.gone.length })}</a>
        </p>`}
      ${(isPast || params.with) && html`<button type="button" onClick=${() => go({ at: null, with: null, changes: null })}>${t("scrubber.today")}</button>`}
    </div>`;
}
