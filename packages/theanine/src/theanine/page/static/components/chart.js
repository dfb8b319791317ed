/** Bars over days, stacked, as an SVG: its colors are those of the styles. */
import { html } from "../core/html.js";
import { formatDatePart } from "../core/texts.js";

const COLORS = 7;
const colorOf = (at) => `color-${Math.min(at, COLORS - 1)}`;

/** Return the least of 1, 2 or 5 times a power of ten that is at least `value`. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return power * [1, 2, 5, 10].find((each) => each * power >= value * 0.999999);
}

/**
 * `days` are UTC days in ms; `series` are `{ name, values }`; `format` writes a value. What it shows
 * is also in a table beside it, so it is hidden from screen readers.
 */
export function DayChart({ days, series, format }) {
  const top = roundUp(Math.max(...days.map((_, day) => series.reduce((sum, { values }) => sum + values[day], 0))));
  const bars = days.flatMap((_, day) => {
    let height = 0;
    return series.map(({ values }, at) => {
      const part = (100 * values[day]) / top;
      height += part;
      return part > 0 && html`<rect x=${day + 0.15} width="0.7" y=${100 - height} height=${part} class=${colorOf(at)} />`;
    });
  });
  const label = (ms) => html`<span>${formatDatePart(ms, { day: "numeric", month: "short" })}</span>`;
  return html`
    <div class="chart" aria-hidden="true">
      <div class="chart-values">${[top, top / 2, 0].map((value) => html`<span>${format(value)}</span>`)}</div>
      <svg viewBox=${`0 0 ${days.length} 100`} preserveAspectRatio="none">${bars}</svg>
      <div class="chart-days">${label(days[0])}${label(days[Math.floor(days.length / 2)])}${label(days.at(-1))}</div>
    </div>
    <p class="legend" aria-hidden="true">${series.map(({ name }, at) => html`
      <span><i class=${`swatch ${colorOf(at)}`}></i>${name}</span>`)}</p>`;
}
