/** Words on a canvas: their widths, measured once, and how they break into lines. */

// Scripts without spaces break anywhere.
const UNITS = /[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]+|\s+/gu;
const MOST_CACHED = 20_000;
/** Characters of a text that are looked at; no card shows more. */
const READ = 600;

export class Words {
  /** @param {CanvasRenderingContext2D} context measures in the font that it has */
  constructor(context) {
    this.context = context;
    this.widths = new Map();
    this.lines = new Map();
  }

  /** Return the width of a text in a font. */
  width(font, text) {
    let widths = this.widths.get(font);
    if (!widths) this.widths.set(font, (widths = new Map()));
    let width = widths.get(text);
    if (width === undefined) {
      if (widths.size > MOST_CACHED) widths.clear();
      if (this.context.font !== font) this.context.font = font;
      widths.set(text, (width = this.context.measureText(text).width));
    }
    return width;
  }

  /**
   * Return a text in at most `most` lines of a width, the first one `indent` shorter; the last one
   * ends in … if words are left.
   */
  wrap(font, text, width, most, indent = 0) {
    const key = `${font}|${Math.round(width / 4)}|${most}|${Math.round(indent)}|${text}`;
    let lines = this.lines.get(key);
    if (!lines) {
      if (this.lines.size > MOST_CACHED) this.lines.clear();
      this.lines.set(key, (lines = this.#break(font, text.slice(0, READ), Math.round(width / 4) * 4 - 4, most, indent)));
    }
    return lines;
  }

  #break(font, text, width, most, indent) {
    const lines = [];
    let line = "";
    let used = indent;
    const units = text.match(UNITS) ?? [];
    for (let i = 0; i < units.length; i++) {
      const unit = /^\s/.test(units[i]) ? " " : units[i];
      const size = this.width(font, unit);
      if (used + size <= width || (!line && used === 0)) {
        if (unit === " " && !line) continue;
        line += unit;
        used += size;
        continue;
      }
      if (lines.length + 1 === most) {
        lines.push(this.#cut(font, `${line}${unit}`, width - (lines.length ? 0 : indent)));
        return lines;
      }
      lines.push(line.trimEnd());
      line = unit === " " ? "" : unit;
      used = line ? size : 0;
    }
    if (line.trim()) lines.push(used > width ? this.#cut(font, line, width - (lines.length ? 0 : indent)) : line.trimEnd());
    return lines;
  }

  /** Return as much of a text as fits with … after it. */
  #cut(font, text, width) {
    const room = width - this.width(font, "…");
    let cut = text.trimEnd();
    while (cut && this.width(font, cut) > room) {
      const space = cut.lastIndexOf(" ");
      cut = space > cut.length / 2 ? cut.slice(0, space) : cut.slice(0, -1);
    }
    return `${cut.replace(/[\s,;.–-]+$/, "")}…`;
  }
}
