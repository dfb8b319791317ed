"use strict";
/** Curves over a logarithmic axis: series of {name, points: [{x, mean, low, high, n}], style}.
    `from` is where the other axis begins; it ends at 1. A quiet series has no band and no points. */
function curves(series, { across, up, ticks, from = 0, height = 300 }) {
  return plot(height, (svg, width) => {
    const at = axes(svg, width, height, { x: { from: ticks[0], end: ticks.at(-1), ticks, label: number, log: true }, y: { from, end: 1 }, across, up });
    for (const { name, points, style, quiet } of series) {
      const line = (key) => points.map((point) => `${at.x(point.x)},${at.y(point[key])}`);
      const group = draw("g", { style: style ?? "", class: quiet ? "quiet" : "curve" });
      if (!quiet) group.append(draw("path", { class: "band", d: `M${[...line("high"), ...line("low").reverse()].join("L")}Z` }));
      group.append(draw("path", { class: "line", d: `M${line("mean").join("L")}` }));
      for (const point of quiet ? [] : points) {
        const spot = draw("g"), place = { cx: at.x(point.x), cy: at.y(point.mean) };
        spot.append(draw("title", {}, `${name}, ${number(point.x)}: ${range(point)}, n ${number(point.n)}`));
        spot.append(draw("circle", { class: "near", ...place, r: 11 }), draw("circle", { class: "spot", ...place, r: 4 }));
        group.append(spot);
      }
      svg.append(group);
    }
  });
}

const range = (one) => `${figure(one.mean)} [${figure(one.low)}, ${figure(one.high)}]`;
const signed = (value) => `${value < 0 ? "−" : value > 0 ? "+" : ""}${figure(Math.abs(value))}`;

/** Bars to both sides of 0: rows of {name, mean, low, high, sure, note}. */
function changes(rows) {
  const made = make("div", undefined, "bars changes");
  const [low, high] = [least([0, ...rows.map((row) => row.low)]), most([0.001, ...rows.map((row) => row.high)])];
  const place = (value) => (100 * (value - low)) / (high - low);
  for (const row of rows) {
    const track = make("div", undefined, "track"), lane = make("div"), bar = make("b"), whisker = make("u"), zero = make("i");
    bar.style.left = `${place(Math.min(0, row.mean))}%`;
    bar.style.width = `${Math.abs(place(row.mean) - place(0))}%`;
    bar.className = row.sure ? "" : "pale";
    whisker.style.left = `${place(row.low)}%`;
    whisker.style.width = `${place(row.high) - place(row.low)}%`;
    zero.style.left = `${place(0)}%`;
    lane.title = `${row.name}: ${signed(row.mean)} [${signed(row.low)}, ${signed(row.high)}]`;
    lane.append(bar, whisker, zero);
    track.append(lane);
    const value = make("span", signed(row.mean), "value");
    value.append(make("small", ` ${row.note}`));
    made.append(make("span", row.name, "name"), track, value);
  }
  return made;
}

/** A plot with its title, and the same figures as a table for who can't see it. */
function drawn(title, note, plotted, headings, rows) {
  const made = make("figure", undefined, "card"), caption = make("figcaption"), name = make("h3", title);
  if (note) name.append(make("small", ` ${note}`));
  caption.append(name);
  made.append(caption, plotted, figures(title, headings, rows));
  return made;
}

/** The figures behind a plot, to open. */
function figures(title, headings, rows) {
  const made = make("details", undefined, "figures"), inside = make("div", undefined, "table");
  const summary = make("summary", "The figures");
  summary.append(make("span", ` of ${title}`, "unseen"));
  inside.append(table(headings, rows));
  made.append(summary, inside);
  return made;
}
