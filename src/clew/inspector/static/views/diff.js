// What a compaction changed: the context before and after, block by block.

import { get } from "../api.js";
import { Answer, Role, Title, Turn, address, html, money, number, plural, share, useAnswer } from "../ui.js";
import { css } from "./context.js";

const SIGNS = {
  kept: ["=", () => "unchanged"],
  smaller: ["◐", () => "shortened"],
  condensed: ["→", (digest) => `condensed into ${digest}`],
  dropped: ["×", () => "left the view"],
  new: ["+", () => "new"],
};

export function Diff({ session, seq }) {
  const result = useAnswer(() => get("diff", { session, seq }), [session, seq]);
  return html`<${Title} title="Before and after">
      <a href=${address(session, "context", Number(seq) - 1)}>the map before</a> <a href=${address(session, "context", seq)}>the map after</a>
    <//>
    <${Answer} result=${result}>${(diff) => html`<${Sides} diff=${diff} /><${Rows} session=${session} rows=${diff.rows} />`}<//>`;
}

function Sides({ diff }) {
  const { before, after } = diff;
  return html`<section class="card sides" aria-label="both sides">
    ${[["before", before], ["after", after]].map(
      ([name, side]) => html`<div class="side-of">
        <h3>${name}</h3>
        <p class="big"><strong>${number(side.tokens)}</strong> tokens <span class="quiet">${plural(side.messages, "message")}</span>
          ${money(side.tokens, diff.price) && html`<span class="price">${money(side.tokens, diff.price)} a request</span>`}</p>
        <div class="bar">${Object.entries(side.regions).map(
          ([region, tokens]) => html`<span class=${css(region)} style=${{ width: `${(100 * tokens) / Math.max(before.tokens, 1)}%` }} title=${`${region}: ${number(tokens)} tokens`}></span>`,
        )}</div>
      </div>`,
    )}
    <p class="saved">${share(before.tokens - after.tokens, before.tokens)} smaller: ${number(before.tokens - after.tokens)} tokens left the window, none left the log.</p>
  </section>`;
}

// Consecutive rows with the same change are one group; changed groups are open, unchanged ones collapsed.
function groups(rows) {
  const found = [];
  for (const row of rows) {
    const last = found.at(-1);
    if (last && last.does === row.does && last.why === (row.does === "condensed" ? row.why : last.why)) last.rows.push(row);
    else found.push({ does: row.does, why: row.does === "condensed" ? row.why : "", rows: [row] });
  }
  return found;
}

const sum = (rows, side) => rows.reduce((total, row) => total + row[side], 0);

function Rows({ session, rows }) {
  return html`<section class="card" aria-label="block by block">
    <h3>Block by block</h3>
    ${groups(rows).map((group) => html`<${Group} session=${session} group=${group} />`)}
  </section>`;
}

function Group({ session, group }) {
  const [sign, means] = SIGNS[group.does];
  const count = group.rows.length;
  return html`<details class="group does-${group.does}" open=${group.does !== "kept" && count <= 12}>
    <summary>
      <span class="sign" aria-hidden="true">${sign}</span>
      <span class="what">${plural(count, "block")} ${means(group.why)}</span>
      <span class="num">${number(sum(group.rows, "before"))} → ${number(sum(group.rows, "after"))}</span>
    </summary>
    <ul>${group.rows.map((row) => html`<li><${Row} session=${session} row=${row} /></li>`)}</ul>
  </details>`;
}

function Row({ session, row }) {
  const name = row.id.startsWith("d")
    ? html`<a class="chip" href=${address(session, "digests", row.id)}>≡ ${row.id}</a>`
    : html`<${Turn} session=${session} id=${row.id} />`;
  return html`<span class="row-name">${name}</span><${Role} role=${row.role} />
    <span class="excerpt">${row.text}${row.does === "smaller" || row.does === "dropped" ? html` <em class="quiet">${row.why}</em>` : ""}</span>
    <span class="num">${number(row.before)} → ${number(row.after)}</span>`;
}
