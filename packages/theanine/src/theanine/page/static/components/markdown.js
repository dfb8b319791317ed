/**
 * What was said, as it was written: paragraphs, code, lists, tables, quotations and emphasis of
 * Markdown. Anything else stays as it is, and nothing of it can become markup of the page.
 */
import { html } from "../core/html.js";
import { splitAtWords } from "../core/words.js";
import { t } from "../core/texts.js";

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|__[^_\n]+__|(?<![\w*])\*[^*\s][^*\n]*\*(?!\w)|!?\[[^\]\n]*\]\([^()\s]+\))/;
const LINK = /^(!?)\[([^\]]*)\]\(([^()\s]+)\)$/;
const FENCE = /^ {0,3}(```+|~~~+)\s*(\S*)/;
const LIST = /^\s*(?:[-*+]|\d{1,4}[.)])\s+/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** A text with the words of a search marked in it. */
export const Marked = ({ text, query = "", isStem }) =>
  splitAtWords(text, query, isStem).map((piece, at) => (at % 2 ? html`<mark>${piece}</mark>` : piece));

function Inline({ text, query }) {
  return text.split(INLINE).map((piece, at) => {
    if (at % 2 === 0) return html`<${Marked} text=${piece} query=${query} />`;
    if (piece[0] === "`") return html`<code>${piece.slice(1, -1)}</code>`;
    const link = LINK.exec(piece);
    if (link) {
      const [, isImage, label, address] = link;
      if (isImage) return html`<span class="attachment">${t("turn.image", { label })}</span>`;
      return /^https?:/i.test(address) ? html`<a href=${address} target="_blank" rel="noreferrer noopener">${label || address}</a>` : piece;
    }
    return piece.startsWith("**") || piece.startsWith("__")
      ? html`<strong><${Marked} text=${piece.slice(2, -2)} query=${query} /></strong>`
      : html`<em><${Marked} text=${piece.slice(1, -1)} query=${query} /></em>`;
  });
}

const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

/** Return the blocks of a text, each `{ kind, lines }`. */
export function readBlocks(text) {
  const blocks = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const fence = FENCE.exec(lines[at]);
    const last = blocks.at(-1);
    if (fence) {
      const own = [];
      for (at++; at < lines.length && !lines[at].trim().startsWith(fence[1]); at++) own.push(lines[at]);
      blocks.push({ kind: "code", lines: own });
    } else if (!lines[at].trim()) {
      blocks.push({ kind: "break", lines: [] });
    } else if (lines[at].includes("|") && TABLE_RULE.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      const own = [lines[at]];
      for (at += 2; at < lines.length && lines[at].includes("|"); at++) own.push(lines[at]);
      at--;
      blocks.push({ kind: "table", lines: own });
    } else {
      const heading = /^#{1,6}\s+/.exec(lines[at]);
      const kind = heading ? "heading" : LIST.test(lines[at]) ? "list" : /^\s*>/.test(lines[at]) ? "quote" : "text";
      if (last?.kind === kind && kind !== "heading") last.lines.push(lines[at]);
      else blocks.push({ kind, lines: [heading ? lines[at].slice(heading[0].length) : lines[at]] });
    }
  }
  return blocks.filter(({ kind }) => kind !== "break");
}

export function Markdown({ text, query }) {
  const inline = (line) => html`<${Inline} text=${line} query=${query} />`;
  return html`<div class="prose" dir="auto">${readBlocks(text).map(({ kind, lines }) => {
    if (kind === "code") return html`<pre dir="ltr" tabindex="0" aria-label=${t("turn.code")} role="region"><code><${Marked} text=${lines.join("\n")} query=${query} /></code></pre>`;
    if (kind === "heading") return html`<p class="said-heading" dir="auto">${inline(lines[0])}</p>`;
    if (kind === "quote") return html`<blockquote dir="auto">${inline(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n"))}</blockquote>`;
    if (kind === "list") return html`<ul dir="auto" class="said-list">${lines.map((line) => html`<li>${inline(line.trim())}</li>`)}</ul>`;
    if (kind === "table") {
      const [head, ...rows] = lines.map(cells);
      return html`<div class="table-frame" tabindex="0" role="region" aria-label=${t("turn.table")}><table>
        <thead><tr>${head.map((cell) => html`<th scope="col" dir="auto">${inline(cell)}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td dir="auto">${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`;
    }
    return html`<p dir="auto">${inline(lines.join("\n"))}</p>`;
  })}</div>`;
}
