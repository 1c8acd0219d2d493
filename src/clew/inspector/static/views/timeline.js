// The timeline: tokens by region, the compaction threshold, compactions, and the cost of calls.

import { get } from "../api.js";
import { Plot, area, axes, bars, cuts, frameOf, limitLine } from "../plot.js";
import { Answer, Title, Turn, address, clock, html, money, number, plural, share, useAnswer } from "../ui.js";

export function Timeline({ session, head }) {
  const result = useAnswer(() => get("timeline", { session }), [session, head]);
  return html`<${Title} title="Timeline" />
    <${Answer} result=${result}>${(line) => html`<${Drawn} session=${session} line=${line} />`}<//>`;
}

function Drawn({ session, line }) {
  if (line.x.length < 2) return html`<p class="quiet">Too little has happened to draw.</p>`;
  return html`<section class="card" aria-label="tokens over the session">
      <h3>Tokens the model saw <span class="quiet">by message, stacked by region${line.model ? `, ${line.model}` : ""}</span></h3>
      <${Plot} draw=${(width, height) => growth(line, width, height)} label=${`tokens from message ${line.x[0]} to ${line.x.at(-1)}`} />
      <ul class="legend">
        ${line.regions.map((one) => html`<li><i class="swatch region-${one.region.replaceAll(" ", "-")}"></i>${one.region}</li>`)}
        ${limits(line).map((limit) => html`<li><i class="line ${limit.look}"></i>${number(limit.tokens)} tokens, ${limit.name}</li>`)}
        ${line.events.length > 0 && html`<li><i class="line cut"></i>compaction or undo, see below</li>`}
        ${line.price !== null && html`<li class="quiet">${money(1e6, line.price)} for a million tokens, so ${money(peak(line), line.price)} for the fullest request</li>`}
      </ul>
      ${!line.counted && html`<p class="quiet">This session is long: the plot shows the recorded budgets.</p>`}
    </section>
    <${Events} session=${session} events=${line.events} />
    <${Calls} session=${session} calls=${line.calls} />`;
}

const totals = (line) => line.x.map((_, i) => line.regions.reduce((sum, one) => sum + one.tokens[i], 0));
const peak = (line) => Math.max(...totals(line));

// The upper end of the scale: 6 % above the curve, or above the threshold unless that would flatten the curve.
function top(line) {
  const highest = peak(line);
  const { compact } = line.marks;
  return 1.06 * (highest > compact / 2 ? Math.max(highest, compact) : highest);
}

// The thresholds that are within the scale.
function limits(line) {
  const all = [
    { name: line.limit || "at which clew compacts", tokens: line.marks.compact, look: "compact" },
    { name: "at which clew warns", tokens: line.marks.warn, look: "warn" },
  ];
  return all.filter((limit) => limit.tokens > 0 && limit.tokens <= top(line));
}

// Each region is stacked on those before it; the highest is drawn first, and each next one over it.
function growth(line, width, height) {
  const frame = frameOf(width, height, [line.x[0], line.x.at(-1)], top(line));
  const sums = line.x.map(() => 0);
  const layers = line.regions.map((one) => {
    one.tokens.forEach((tokens, i) => {
      sums[i] += tokens;
    });
    return area(frame, line.x, [...sums], `var(--region-${one.region.replaceAll(" ", "-")}, var(--quiet))`);
  });
  return html`${axes(frame)}${layers.reverse()}
    ${limits(line).map((limit) => limitLine(frame, limit.tokens, limit.look))}${cuts(frame, line.events)}`;
}

// The same as a table, for screen readers.
function Events({ session, events }) {
  if (!events.length) return html`<p class="quiet">Nothing was compacted.</p>`;
  return html`<section class="card" aria-label="changes of the context">
    <h3>Changes</h3>
    <div class="table-box"><table class="list events">
      <thead><tr><th>what</th><th>at</th><th>why</th><th class="num">tokens</th><th>when</th></tr></thead>
      <tbody>${events.map(
        (one) => html`<tr>
          <td>${one.name ? html`<a class="chip" href=${address(session, "digests", one.name)}>≡ ${one.name}</a>` : one.kind}</td>
          <td><a href=${address(session, `m${Math.max(1, one.x)}`)}>m${one.x}</a></td>
          <td class="excerpt">${one.trigger ? `${one.trigger}: ` : ""}${one.reason}</td>
          <td class="num"><${Sizes} session=${session} one=${one} /></td>
          <td class="when">${clock(one.time)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;
}

// The tokens before and after a compaction; one by clew leads to its differences.
function Sizes({ session, one }) {
  if (!one.before) return null;
  const sizes = `${number(one.before)} → ${number(one.after)}`;
  return one.kind === "tool_compaction" ? sizes : html`<a href=${address(session, "diff", one.seq)}>${sizes}</a>`;
}

// Tokens of a call: read from the cache, written to it, and uncached.
const LAYERS = [
  ["--cache-plain", (call) => Math.max(call.input_tokens, call.read + call.written)],
  ["--cache-write", (call) => call.read + call.written],
  ["--cache-read", (call) => call.read],
];

function callBars(calls, width, height) {
  const most = Math.max(...calls.map(LAYERS[0][1]));
  const frame = frameOf(width, height, [0.5, calls.length + 0.5], 1.06 * most);
  return html`${axes(frame)}${LAYERS.map(([colour, tokens]) => bars(frame, calls.map(tokens), `var(${colour})`))}`;
}

function Calls({ session, calls }) {
  if (!calls.length) return html`<p class="quiet">No model calls are recorded.</p>`;
  const sum = (field) => calls.reduce((total, call) => total + call[field], 0);
  const read = sum("input_tokens");
  const dollars = sum("dollars");
  const cost = calls.some((call) => call.dollars === null) ? "" : `, $${dollars.toFixed(dollars < 1 ? 4 : 2)} in all`;
  const missed = calls.filter((call) => call.missed > 0);
  return html`<section class="card" aria-label="calls">
    <h3>Calls <span class="quiet">${plural(calls.length, "call")}, ${number(read)} tokens read, ${share(sum("read"), read)} of them from the cache${cost}</span></h3>
    <${Plot} draw=${(width, height) => callBars(calls, width, height)} height=${200} label="what each call read, from the cache or not" />
    <ul class="legend"><li><i class="swatch cache-read"></i>read from the cache</li><li><i class="swatch cache-write"></i>written to it</li><li><i class="swatch cache-plain"></i>uncached</li></ul>
    ${missed.length > 0 &&
    html`<h4>Misses</h4><ul class="lost">${missed.map(
      (call) => html`<li><span class="matter">${call.cause}</span><span class="excerpt">${call.why}</span>
        <span>${number(call.missed)} tokens</span><${Turn} session=${session} id=${`m${Math.max(1, call.x)}`} /></li>`,
    )}</ul>`}
  </section>`;
}
