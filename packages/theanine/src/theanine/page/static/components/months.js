/** Months as a strip of bars, oldest first. */
import { html, useLayoutEffect, useRef } from "../core/html.js";
import { formatDatePart, formatMonth, t, wallTime } from "../core/texts.js";

export const monthTime = (month) => wallTime(`${month}-01T00:00:00`);
export const nameOfMonth = (month) => (month ? formatMonth(monthTime(month)) : t("date.none"));

const monthAfter = (month) => {
  const [year, number] = month.split("-").map(Number);
  return number < 12 ? `${month.slice(0, 4)}-${String(number + 1).padStart(2, "0")}` : `${String(year + 1).padStart(4, "0")}-01`;
};

/** Months with those between them, which have nothing. */
function withEmptyMonths(months) {
  const all = [];
  for (const each of months) {
    const before = all.at(-1)?.month;
    if (before && each.month) {
      for (let month = monthAfter(before); month < each.month; month = monthAfter(month)) all.push({ month, count: 0 });
    }
    all.push(each);
  }
  return all;
}

const MonthName = ({ month }) => html`
  <span>${month ? formatDatePart(monthTime(month), { month: "short" }) : "?"}</span>
  <span class="quiet">${month ? month.slice(0, 4) : ""}</span>`;

/**
 * A bar for each of some months, `{ month, count, label }`, as high as it has many; `link(month)` is
 * where it leads. The month without a date is empty. Months between them without anything have a
 * place, and no link.
 */
export function MonthBars({ months, isChosen, label, link }) {
  const strip = useRef(null);
  const most = Math.max(...months.map(({ count }) => count));
  const chosen = months.find(({ month }) => isChosen(month))?.month;
  useLayoutEffect(() => strip.current.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [chosen]);
  return html`
    <nav class="months" ref=${strip} aria-label=${label}>${withEmptyMonths(months).map(({ month, count, label: about }) => (count ? html`
      <a key=${month} href=${link(month)} aria-current=${month === chosen ? "true" : undefined} aria-label=${`${nameOfMonth(month)}: ${about}`}>
        <span class="bar-space"><span class="month-bar" style=${{ height: `${Math.max(6, (100 * count) / most)}%` }}></span></span>
        <${MonthName} month=${month} />
      </a>` : html`
      <span key=${month} class="month"><span class="bar-space"></span><${MonthName} month=${month} /></span>`))}</nav>`;
}
