/**
 * A table; on a phone each row is a block of its cells with their titles. The roles are named, since a
 * browser drops those of a table that is laid out so.
 */
import { html } from "../core/html.js";

/** `columns` are `[title, value, isNumber]`, with `value(row)` what a cell shows. */
export const Table = ({ caption, columns, rows, rowKey }) => html`
  <div class="table" role="region" aria-label=${caption} tabindex="0">
    <table role="table">
      <caption class="hidden">${caption}</caption>
      <thead role="rowgroup"><tr role="row">${columns.map(([title, , isNumber]) => html`
        <th scope="col" role="columnheader" class=${isNumber ? "number" : ""}>${title}</th>`)}</tr></thead>
      <tbody role="rowgroup">${rows.map((row, at) => html`
        <tr role="row" key=${rowKey ? rowKey(row) : at}>${columns.map(([title, value, isNumber], column) => (column
          ? html`<td role="cell" class=${isNumber ? "number" : ""} data-label=${title}>${value(row)}</td>`
          : html`<th scope="row" role="rowheader">${value(row)}</th>`))}</tr>`)}</tbody>
    </table>
  </div>`;
