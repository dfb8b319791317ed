/** The marks of time: as many as have room, in steps that a calendar has. */
import { formatDatePart } from "../core/texts.js";

const DAY = 86_400_000;
const APART = 88;

const STEPS = [
  { days: 1 / 24, unit: "hour", by: 1 },
  { days: 1 / 4, unit: "hour", by: 6 },
  { days: 1, unit: "day", by: 1 },
  { days: 2, unit: "day", by: 2 },
  { days: 7, unit: "day", by: 7 },
  { days: 14, unit: "day", by: 14 },
  { days: 30.4, unit: "month", by: 1 },
  { days: 91.3, unit: "month", by: 3 },
  { days: 182.6, unit: "month", by: 6 },
  { days: 365.25, unit: "year", by: 1 },
  { days: 1826, unit: "year", by: 5 },
  { days: 3652, unit: "year", by: 10 },
];

function floor(time, { unit, by }) {
  const date = new Date(time);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === "year") return Date.UTC(year - (year % by), 0);
  if (unit === "month") return Date.UTC(year, month - (month % by));
  if (unit === "day") return by === 1 ? Math.floor(time / DAY) * DAY : Date.UTC(year, month);
  const step = (by * DAY) / 24;
  return Math.floor(time / step) * step;
}

function following(time, { unit, by }) {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === "year") return Date.UTC(year + by, 0);
  if (unit === "month") return Date.UTC(year, month + by);
  if (unit === "hour") return time + (by * DAY) / 24;
  const next = Date.UTC(year, month, day + by);
  const lastOfMonth = Date.UTC(year, month + 1);
  // Weeks begin with the month, so that the marks of two months are alike.
  return by > 1 && lastOfMonth - next < (by / 2) * DAY ? lastOfMonth : Math.min(next, lastOfMonth);
}

function label(time, step) {
  const date = new Date(time);
  if (step.unit === "year") return formatDatePart(time, { year: "numeric" });
  if (step.unit === "month") {
    return formatDatePart(time, date.getUTCMonth() === 0 ? { year: "numeric" } : { month: "short" });
  }
  if (step.unit === "hour" && date.getUTCHours() !== 0) {
    return formatDatePart(time, { hour: "2-digit", minute: "2-digit" });
  }
  return formatDatePart(time, date.getUTCDate() === 1 ? { month: "long" } : { day: "numeric", month: "short" });
}

/**
 * Return the marks from a time to another one that are drawn `perDay` pixels a day: `{ time, label,
 * isMain }`, main where a longer unit begins.
 */
export function findMarks(from, to, perDay) {
  const step = STEPS.find(({ days }) => days * perDay >= APART) ?? STEPS.at(-1);
  const marks = [];
  for (let time = floor(from, step); time <= to; time = following(time, step)) {
    const date = new Date(time);
    const isMain = step.unit === "year" || (step.unit === "month" && date.getUTCMonth() === 0)
      || (step.unit === "day" && date.getUTCDate() === 1) || (step.unit === "hour" && date.getUTCHours() === 0);
    if (time >= from) marks.push({ time, label: label(time, step), isMain });
  }
  return marks;
}
