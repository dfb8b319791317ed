"use strict";
/** How the values spread; a bar chosen gives its range to `pick`. */
function histogram(values, pick, top) {
  const made = make("div"), row = make("div", undefined, "histogram"), ends = make("div", undefined, "ends");
  const found = [...new Set(values)], yesOrNo = found.every((value) => value === 0 || value === 1);
  const distinct = yesOrNo ? [0, 1] : found.sort((a, b) => a - b);
  const low = Math.min(0, distinct[0]), high = nice(distinct.at(-1));
  const bins = distinct.length <= 11 && distinct.every(Number.isInteger)
    ? distinct.map((value) => ({ low: value, high: value, count: 0 }))
    : Array.from({ length: 20 }, (_, i) => ({ low: low + (i * (high - low)) / 20, high: low + ((i + 1) * (high - low)) / 20, count: 0 }));
  const exact = bins[0].low === bins[0].high;
  for (const value of values) {
    const place = exact ? distinct.indexOf(value) : Math.min(19, Math.floor(((value - low) / (high - low)) * 20));
    bins[place].count += 1;
  }
  const full = most(bins.map((bin) => bin.count));
  for (const bin of bins) {
    const bar = make("button"), fill = make("i");
    const range = exact ? number(bin.low) : `${figure(bin.low, top)} – ${figure(bin.high, top)}`;
    bar.type = "button";
    bar.title = `${range}: ${plural(bin.count, "item")}`;
    bar.setAttribute("aria-label", bar.title);
    bar.disabled = !bin.count;
    fill.style.height = `${(100 * bin.count) / full}%`;
    if (!bin.count) fill.style.visibility = "hidden";
    bar.append(fill);
    bar.addEventListener("click", () => pick(bin.low, bin.high));
    row.append(bar);
  }
  if (exact) made.className = "each";
  ends.append(...(exact ? distinct.map((value) => make("span", number(value))) : [make("span", figure(low, top)), make("span", figure(high, top))]));
  made.append(row, ends);
  return made;
}

/** Bars with whiskers: rows of {name, own, values: [{mean, low, high, n}, …]}, one bar a value. Of a
    figure from elsewhere only the mean may be known. `own` marks the row that the others stand beside. */
function bars(rows, top, colour = () => "") {
  const made = make("div", undefined, rows.some((row) => row.values.length > 1) ? "bars many" : "bars");
  const end = nice(most(rows.flatMap((row) => row.values.filter(Boolean).map((one) => one.high ?? one.mean))));
  for (const row of rows) {
    const track = make("div", undefined, "track"), name = make("span", row.name, "name"), value = make("span", undefined, "value");
    name.title = row.name;
    row.values.forEach((one, place) => {
      const lane = make("div");
      if (one) {
        const bar = make("b", undefined, row.own && "own"), whisker = make("u");
        bar.style.width = `${(100 * Math.max(0, one.mean)) / end}%`;
        if (colour(place)) bar.style.background = colour(place);
        lane.title = `${row.name}: ${figure(one.mean, top)}`;
        lane.append(bar);
        if (one.n) {
          whisker.style.left = `${(100 * Math.max(0, one.low)) / end}%`;
          whisker.style.width = `${(100 * (one.high - Math.max(0, one.low))) / end}%`;
          lane.title += ` [${figure(one.low, top)}, ${figure(one.high, top)}], n ${one.n}`;
          lane.append(whisker);
        }
      }
      track.append(lane);
    });
    const [only] = row.values;
    if (row.values.length === 1) value.append(figure(only.mean, top), make("small", only.n ? ` n ${number(only.n)}` : ""));
    else value.append(make("small", `n ${number(row.values.find(Boolean)?.n ?? 0)}`));
    made.append(name, track, value);
  }
  const ends = make("div", undefined, "ends");
  ends.append(make("span", "0"), make("span", String(end)));
  made.append(make("span"), ends, make("span"));
  return made;
}

const EDGE = { left: 46, right: 14, top: 12, bottom: 34 };

/** An SVG that is drawn for its own width, and again when that changes. */
function plot(height, drawing) {
  const made = make("div"), svg = draw("svg", { height, role: "img" });
  made.append(svg);
  let before = 0;
  new ResizeObserver(() => {
    const width = Math.round(made.clientWidth);
    if (!width || width === before) return;
    before = width;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`); // on paper it is as wide as there is room
    svg.replaceChildren();
    drawing(svg, width, height);
  }).observe(made);
  return made;
}

/** Axes from 0, or from where they say; gives how x and y are placed. */
function axes(svg, width, height, { x, y, across, up }) {
  const right = width - EDGE.right, bottom = height - EDGE.bottom;
  const scale = x.log ? Math.log : (value) => value;
  const share = (value, low, high) => (value - low) / (high - low || 1);
  const at = {
    x: (value) => EDGE.left + share(scale(value), scale(x.from ?? 0), scale(x.end)) * (right - EDGE.left),
    y: (value) => bottom - share(value, y.from ?? 0, y.end) * (bottom - EDGE.top),
  };
  for (let i = 0; i <= 4; i += 1) {
    const value = (y.from ?? 0) + ((y.end - (y.from ?? 0)) * i) / 4;
    svg.append(draw("line", { class: "grid", x1: EDGE.left, x2: right, y1: at.y(value), y2: at.y(value) }));
    svg.append(draw("text", { x: EDGE.left - 6, y: at.y(value) + 4, "text-anchor": "end" }, y.end > 10 ? number(value) : String(+value.toPrecision(3))));
  }
  const from = x.from ?? 0;
  const ticks = x.ticks ?? [0, 1, 2, 3, 4].map((i) => from + ((x.end - from) * i) / 4);
  for (const value of ticks) {
    svg.append(draw("text", { x: at.x(value), y: bottom + 16, "text-anchor": "middle" }, x.label ? x.label(value) : x.end > 10 ? number(value) : String(+value.toPrecision(3))));
  }
  svg.append(draw("text", { x: (EDGE.left + right) / 2, y: height - 3, "text-anchor": "middle" }, across));
  svg.setAttribute("aria-label", `${up} by ${across}`);
  return at;
}

/** Means over sessions with their intervals: series of {name, points: [{x, mean, low, high, n}]}. */
function lines(series, up, colour = () => "") {
  const all = series.flatMap((one) => one.points);
  const xs = [...new Set(all.map((point) => point.x))].sort((a, b) => a - b);
  const end = nice(most(all.map((point) => point.high)));
  const half = 0.5; // room beside the first and the last
  return plot(190, (svg, width, height) => {
    const at = axes(svg, width, height, { x: { from: xs[0] - half, end: xs.at(-1) + half, ticks: xs, label: String }, y: { end }, across: "session", up });
    series.forEach((one, place) => {
      const style = colour(place) ? `stroke: ${colour(place)}` : "";
      const shift = (place - (series.length - 1) / 2) * 5; // whiskers side by side
      const x = (point) => at.x(point.x) + shift;
      svg.append(draw("path", { class: "path", style, d: one.points.map((p, i) => `${i ? "L" : "M"}${x(p)},${at.y(p.mean)}`).join("") }));
      for (const point of one.points) {
        svg.append(draw("line", { class: "whisker", style, x1: x(point), x2: x(point), y1: at.y(Math.max(0, point.low)), y2: at.y(point.high) }));
        const dot = draw("circle", { class: "point", style: colour(place) ? `fill: ${colour(place)}` : "", cx: x(point), cy: at.y(point.mean), r: 4 });
        dot.append(draw("title", {}, `${one.name}, session ${point.x}: ${figure(point.mean, end)} [${figure(point.low, end)}, ${figure(point.high, end)}], n ${point.n}`));
        svg.append(dot);
      }
    });
  });
}

const DOTS = 3000;
/** Cases as dots of {x, y}, and the means of equally many each. */
function trend(points, across, up) {
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const end = { x: sorted.at(-1).x, y: nice(most(sorted.map((point) => point.y))) };
  const bins = Math.max(1, Math.min(6, Math.floor(sorted.length / 8)));
  const means = Array.from({ length: bins }, (_, i) => {
    const part = sorted.slice(Math.floor((i * sorted.length) / bins), Math.floor(((i + 1) * sorted.length) / bins));
    return { x: mean(part.map((point) => point.x)), y: mean(part.map((point) => point.y)), n: part.length };
  });
  const step = Math.max(1, Math.ceil(sorted.length / DOTS));
  return plot(240, (svg, width, height) => {
    const at = axes(svg, width, height, { x: { from: sorted[0].x, end: end.x }, y: { end: end.y }, across, up });
    for (let i = 0; i < sorted.length; i += step) svg.append(draw("circle", { class: "dot", cx: at.x(sorted[i].x), cy: at.y(sorted[i].y), r: 3.5 }));
    svg.append(draw("path", { class: "path", d: means.map((p, i) => `${i ? "L" : "M"}${at.x(p.x)},${at.y(p.y)}`).join("") }));
    for (const point of means) {
      const dot = draw("circle", { class: "point", cx: at.x(point.x), cy: at.y(point.y), r: 4.5 });
      dot.append(draw("title", {}, `${number(point.x, end.x > 10 ? 0 : 3)}: ${figure(point.y, end.y)}, n ${point.n}`));
      svg.append(dot);
    }
  });
}
