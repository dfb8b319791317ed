"use strict";
/* Charts with axes are drawn by uPlot on a canvas, in the colors of the style sheet. Bars and
   histograms are plain elements, so that they can be focused, read aloud and clicked. */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColor = (index) => `--s${index % 8}`;
const runColor = (index) => `var(${seriesColor(index)})`;

/** A colored patch with the name of a run. */
function legendKey(index, name) {
  const key = make("span", undefined, "key"), patch = make("i");
  patch.style.background = runColor(index);
  key.append(patch, name);
  return key;
}

const drawnCharts = new Set();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawnCharts.forEach((redraw) => redraw()));

/** A box that holds a uPlot of its own width; `build` returns {options, data}. */
function chart(height, label, build) {
  const box = make("div", undefined, "chart");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", label);
  let plot = null;
  const redraw = () => {
    const width = Math.round(box.clientWidth);
    if (!width) return;
    plot?.destroy();
    const { options, data } = build();
    plot = new uPlot({ width, height, cursor: { drag: { x: false, y: false } }, ...options }, data, box);
  };
  new ResizeObserver(() => {
    if (Math.round(box.clientWidth) !== plot?.width) redraw();
  }).observe(box);
  drawnCharts.add(redraw);
  return box;
}

const tickText = (value, end) => (value === null ? "" : end > 10 ? number(value) : String(+value.toPrecision(3)));

function axes(across, { ticks, xEnd, yEnd }) {
  const stroke = css("--dim"), font = "12px system-ui, sans-serif";
  return [
    {
      label: across, stroke, font, labelFont: font, labelSize: 18, size: 26, grid: { show: false }, ticks: { show: false },
      ...(ticks && { splits: () => ticks, filter: (_plot, splits) => splits }),
      values: (_plot, values) => values.map((value) => tickText(value, xEnd)),
    },
    {
      stroke, font, size: 46, grid: { stroke: css("--line"), width: 1 }, ticks: { show: false },
      values: (_plot, values) => values.map((value) => tickText(value, yEnd)),
    },
  ];
}

const interval = (point) => `${figure(point.mean)} [${figure(point.low)}, ${figure(point.high)}], n ${number(point.n)}`;

/** Means with their intervals as bands: series of {name, color, quiet, points: [{x, mean, low, high, n}]}.
    A quiet series is a dashed line without a band. `to` is the end of the upper axis. */
function lineChart(series, { across, up, ticks, log = false, from = 0, to, height = 300 }) {
  const xs = [...new Set(series.flatMap(({ points }) => points.map((point) => point.x)))].sort((a, b) => a - b);
  const end = to ?? nice(most(series.flatMap(({ points }) => points.map((point) => point.high))));
  return chart(height, `${up} by ${across}`, () => {
    const lines = [{ label: across, value: (_plot, x) => (x === null ? "–" : number(x)) }], data = [xs], bands = [];
    for (const { name, color, quiet, points } of series) {
      const at = new Map(points.map((point) => [point.x, point]));
      const column = (key) => xs.map((x) => at.get(x)?.[key] ?? null);
      const stroke = css(quiet ? "--dim" : color ?? "--mark");
      lines.push({
        label: name, stroke, width: quiet ? 1.5 : 2, dash: quiet ? [3, 4] : undefined, spanGaps: true,
        points: { show: !quiet, size: 7, fill: stroke },
        value: (_plot, _value, _series, index) => (index === null || !at.has(xs[index]) ? "–" : interval(at.get(xs[index]))),
      });
      data.push(column("mean"));
      if (quiet) continue;
      bands.push({ series: [lines.length, lines.length + 1], fill: `${stroke}2e` });
      for (const bound of ["high", "low"]) {
        lines.push({ label: bound, class: "bound", stroke: "transparent", points: { show: false }, spanGaps: true });
        data.push(column(bound));
      }
    }
    const pad = log ? 0 : 0.5;
    const scales = {
      x: { time: false, distr: log ? 3 : 1, range: log ? [xs[0], xs.at(-1)] : [xs[0] - pad, xs.at(-1) + pad] },
      y: { range: [from, end] },
    };
    return { options: { scales, series: lines, bands, axes: axes(across, { ticks: ticks ?? xs, xEnd: xs.at(-1), yEnd: end }) }, data };
  });
}

const MAX_DOTS = 3000;
/** Samples as dots {x, y}, with a line through the means of bins of equal size. */
function trendChart(points, across, up) {
  const sorted = [...points].sort((a, b) => a.x - b.x), top = nice(most(sorted.map((point) => point.y)));
  const bins = Math.max(1, Math.min(6, Math.floor(sorted.length / 8)));
  const means = Array.from({ length: bins }, (_, bin) => {
    const part = sorted.slice(Math.floor((bin * sorted.length) / bins), Math.floor(((bin + 1) * sorted.length) / bins));
    return { x: mean(part.map((point) => point.x)), mean: mean(part.map((point) => point.y)) };
  });
  const step = Math.max(1, Math.ceil(sorted.length / MAX_DOTS));
  const rows = [...sorted.filter((_, index) => index % step === 0), ...means].sort((a, b) => a.x - b.x);
  return chart(240, `${up} by ${across}`, () => {
    const text = (_plot, value) => (value === null || value === undefined ? "–" : figure(value, top));
    return {
      options: {
        scales: { x: { time: false }, y: { range: [0, top] } },
        series: [
          { label: across, value: (_plot, x) => (x === null ? "–" : tickText(x, sorted.at(-1).x)) },
          { label: "sample", paths: () => null, points: { show: true, size: 7, fill: `${css("--bar")}80`, stroke: "transparent" }, value: text },
          { label: "mean of the bin", stroke: css("--mark"), width: 2, spanGaps: true, points: { show: true, size: 8, fill: css("--mark") }, value: text },
        ],
        axes: axes(across, { xEnd: sorted.at(-1).x, yEnd: top }),
      },
      data: [rows.map((row) => row.x), rows.map((row) => row.y ?? null), rows.map((row) => row.mean ?? null)],
    };
  });
}

/** One point a run, with its interval: points of {name, color, x, mean, low, high, n}. */
function scatterChart(points, across, up) {
  const sorted = [...points].sort((a, b) => a.x - b.x), xs = sorted.map((point) => point.x);
  const end = { x: nice(most(xs) * 1.05), y: nice(most(points.map((point) => point.high))) };
  const whiskers = (plot) => {
    plot.ctx.save();
    for (const point of sorted) {
      const x = plot.valToPos(point.x, "x", true);
      plot.ctx.strokeStyle = css(point.color);
      plot.ctx.lineWidth = 1.5 * devicePixelRatio;
      plot.ctx.beginPath();
      plot.ctx.moveTo(x, plot.valToPos(Math.max(0, point.low), "y", true));
      plot.ctx.lineTo(x, plot.valToPos(point.high, "y", true));
      plot.ctx.stroke();
    }
    plot.ctx.restore();
  };
  return chart(280, `${up} by ${across}`, () => ({
    options: {
      scales: { x: { time: false, range: [0, end.x] }, y: { range: [0, end.y] } },
      series: [
        { label: across, value: (_plot, x) => (x === null ? "–" : tickText(x, end.x)) },
        ...sorted.map((point, index) => ({
          label: point.name, paths: () => null, stroke: css(point.color),
          points: { show: true, size: 10, fill: css(point.color), stroke: css("--card") },
          value: (_plot, _value, _series, cursor) => (cursor === index ? interval(point) : "–"),
        })),
      ],
      axes: axes(across, { xEnd: end.x, yEnd: end.y }),
      hooks: { draw: [whiskers] },
    },
    data: [xs, ...sorted.map((point) => xs.map((_, index) => (sorted[index] === point ? point.mean : null)))],
  }));
}

/** The distribution of values; choosing a bar calls `pick` with its range. */
function histogram(values, pick, top) {
  const box = make("div"), row = make("div", undefined, "histogram"), ends = make("div", undefined, "ends");
  const unique = [...new Set(values)], binary = unique.every((value) => value === 0 || value === 1);
  const distinct = binary ? [0, 1] : unique.sort((a, b) => a - b);
  const low = Math.min(0, distinct[0]), high = nice(distinct.at(-1));
  const exact = distinct.length <= 11 && distinct.every(Number.isInteger);
  const bins = exact
    ? distinct.map((value) => ({ low: value, high: value, count: 0 }))
    : Array.from({ length: 20 }, (_, i) => ({ low: low + (i * (high - low)) / 20, high: low + ((i + 1) * (high - low)) / 20, count: 0 }));
  for (const value of values) {
    bins[exact ? distinct.indexOf(value) : Math.min(19, Math.floor(((value - low) / (high - low)) * 20))].count += 1;
  }
  const highest = most(bins.map((bin) => bin.count));
  for (const bin of bins) {
    const bar = make("button"), fill = make("i");
    const range = exact ? number(bin.low) : `${figure(bin.low, top)} – ${figure(bin.high, top)}`;
    bar.type = "button";
    bar.title = `${range}: ${plural(bin.count, "sample")}`;
    bar.setAttribute("aria-label", bar.title);
    bar.disabled = !bin.count;
    fill.style.height = `${(100 * bin.count) / highest}%`;
    if (!bin.count) fill.style.visibility = "hidden";
    bar.append(fill);
    bar.addEventListener("click", () => pick(bin.low, bin.high));
    row.append(bar);
  }
  if (exact) box.className = "each";
  ends.append(...(exact ? distinct.map((value) => make("span", number(value))) : [make("span", figure(low, top)), make("span", figure(high, top))]));
  box.append(row, ends);
  return box;
}

/** Horizontal bars with intervals: rows of {name, own, values: [{mean, low, high, n}, …]}, one bar a
    value. A published figure has a mean alone. `own` highlights the row of this run. */
function bars(rows, top, color = () => "") {
  const box = make("div", undefined, rows.some((row) => row.values.length > 1) ? "bars many" : "bars");
  const end = nice(most(rows.flatMap((row) => row.values.filter(Boolean).map((point) => point.high ?? point.mean))));
  for (const row of rows) {
    const track = make("div", undefined, "track"), name = make("span", row.name, "name"), value = make("span", undefined, "value");
    name.title = row.name;
    row.values.forEach((point, index) => {
      const lane = make("div");
      if (point) {
        const bar = make("b", undefined, row.own && "own"), whisker = make("u");
        bar.style.width = `${(100 * Math.max(0, point.mean)) / end}%`;
        if (color(index)) bar.style.background = color(index);
        lane.title = `${row.name}: ${figure(point.mean, top)}`;
        lane.append(bar);
        if (point.n) {
          whisker.style.left = `${(100 * Math.max(0, point.low)) / end}%`;
          whisker.style.width = `${(100 * (point.high - Math.max(0, point.low))) / end}%`;
          lane.title += ` [${figure(point.low, top)}, ${figure(point.high, top)}], n ${point.n}`;
          lane.append(whisker);
        }
      }
      track.append(lane);
    });
    const [only] = row.values;
    if (row.values.length === 1) value.append(figure(only.mean, top), make("small", only.n ? ` n ${number(only.n)}` : ""));
    else value.append(make("small", `n ${number(row.values.find(Boolean)?.n ?? 0)}`));
    box.append(name, track, value);
  }
  const ends = make("div", undefined, "ends");
  ends.append(make("span", "0"), make("span", String(end)));
  box.append(make("span"), ends, make("span"));
  return box;
}

const signed = (value, top) => `${value < 0 ? "−" : value > 0 ? "+" : ""}${figure(Math.abs(value), top)}`;

/** Bars to both sides of 0: rows of {name, mean, low, high, significant, note}. */
function differenceBars(rows) {
  const box = make("div", undefined, "bars changes");
  const [low, high] = [least([0, ...rows.map((row) => row.low)]), most([0.001, ...rows.map((row) => row.high)])];
  const position = (value) => (100 * (value - low)) / (high - low);
  for (const row of rows) {
    const track = make("div", undefined, "track"), lane = make("div"), bar = make("b"), whisker = make("u"), zero = make("i");
    bar.style.left = `${position(Math.min(0, row.mean))}%`;
    bar.style.width = `${Math.abs(position(row.mean) - position(0))}%`;
    bar.className = row.significant ? "" : "pale";
    whisker.style.left = `${position(row.low)}%`;
    whisker.style.width = `${position(row.high) - position(row.low)}%`;
    zero.style.left = `${position(0)}%`;
    lane.title = `${row.name}: ${signed(row.mean)} [${signed(row.low)}, ${signed(row.high)}]`;
    lane.append(bar, whisker, zero);
    track.append(lane);
    const value = make("span", signed(row.mean), "value");
    value.append(make("small", ` ${row.note}`));
    box.append(make("span", row.name, "name"), track, value);
  }
  return box;
}

/** A metric's mean with its interval, notes and, if there are values, their distribution. */
function metricCard(name, interval, { top = 1, notes = [], values, pick }) {
  const card = make("article", undefined, "card"), note = make("p", `n ${number(interval.n)}`);
  const value = make("div", interval.n ? figure(interval.mean, top) : "–", "mean");
  if (interval.n) value.append(make("small", `${figure(interval.low, top)} – ${figure(interval.high, top)}`));
  for (const each of notes) note.append(" · ", each);
  card.append(make("h3", name), value, note);
  if (interval.n && values) card.append(histogram(values, pick, top));
  return card;
}

/** The values of a chart as a table that can be opened. */
function valueTable(title, headings, rows) {
  const box = make("details", undefined, "figures"), inside = make("div", undefined, "table"), summary = make("summary", "Values");
  summary.append(make("span", ` of ${title}`, "unseen"));
  inside.append(table(headings, rows));
  box.append(summary, inside);
  return box;
}

/** A chart with its title, and its values as a table for those who can't see it. */
function chartCard(title, note, drawing, headings, rows) {
  const box = make("figure", undefined, "card"), caption = make("figcaption"), name = make("h3", title);
  if (note) name.append(make("small", ` ${note}`));
  caption.append(name);
  box.append(caption, drawing, valueTable(title, headings, rows));
  return box;
}
