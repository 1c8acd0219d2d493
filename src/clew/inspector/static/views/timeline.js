// The timeline: tokens by region, the compaction threshold, compactions, and the cost of calls.

import { useEffect, useRef } from "../vendor/htm-preact.js";
import uPlot from "../vendor/uplot.js";
import { get } from "../api.js";
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
      <${Plot} options=${() => growth(line)} data=${stacked(line)} again=${line} label=${`tokens from message ${line.x[0]} to ${line.x.at(-1)}`} />
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

// Each region is drawn on top of those before it.
function stacked(line) {
  const sums = line.x.map(() => 0);
  const layers = line.regions.map((one) => one.tokens.map((tokens, i) => (sums[i] += tokens)));
  return [line.x, ...layers.reverse()]; // the highest first: each next one is painted over it
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const thousands = (_, values) => values.map((value) => (value >= 1000 ? `${value / 1000}k` : value));

function axes() {
  const look = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  return [{ ...look, size: 30, grid: { show: false } }, { ...look, size: 56, values: thousands }];
}

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

function growth(line) {
  return {
    scales: { x: { time: false }, y: { range: [0, top(line)] } },
    axes: axes(),
    cursor: { points: { show: false } },
    legend: { show: false },
    series: [{}, ...line.regions.map((one) => layer(one.region)).reverse()],
    hooks: { draw: [(plot) => drawLimits(plot, line), (plot) => cuts(plot, line)] },
  };
}

function layer(region) {
  const fill = colour(`--region-${region.replaceAll(" ", "-")}`) || colour("--quiet");
  return { fill, stroke: fill, width: 1, points: { show: false } };
}

function drawLimits(plot, line) {
  const { left, width } = plot.bbox;
  for (const limit of limits(line)) {
    const y = plot.valToPos(limit.tokens, "y", true);
    stroke(plot, [left, y], [left + width, y], limit.look === "compact" ? "--compaction" : "--quiet", [6, 4]);
  }
}

// Every cut is a line; its name goes into the first row with room, or is omitted.
function cuts(plot, line) {
  const { ctx, bbox } = plot;
  const rows = [[], [], []];
  ctx.font = `${11 * devicePixelRatio}px system-ui`;
  ctx.textAlign = "left";
  for (const one of line.events) {
    const x = plot.valToPos(one.x, "x", true);
    stroke(plot, [x, bbox.top], [x, bbox.top + bbox.height], "--ink", [2, 3]);
    const name = one.name || one.kind;
    const width = ctx.measureText(name).width;
    const gap = 4 * devicePixelRatio;
    const left = x + gap + width > bbox.left + bbox.width ? x - gap - width : x + gap;
    const row = rows.findIndex((taken) => taken.every(([from, to]) => to + gap < left || from > left + width + gap));
    if (row < 0) continue;
    rows[row].push([left, left + width]);
    ctx.fillStyle = colour("--ink");
    ctx.fillText(name, left, bbox.top + 12 * (row + 1) * devicePixelRatio);
  }
}

function stroke({ ctx }, from, to, name, dash) {
  ctx.save();
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map((one) => one * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.restore();
}

function Plot({ options, data, again, label, height = 320 }) {
  const box = useRef(null);
  useEffect(() => {
    const draw = () => new uPlot({ ...options(), width: box.current.clientWidth, height }, data, box.current);
    let plot = draw();
    const redraw = () => {
      plot.destroy();
      plot = draw();
    };
    const sized = new ResizeObserver(() => plot.setSize({ width: box.current.clientWidth, height }));
    sized.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", redraw);
    return () => {
      sized.disconnect();
      dark.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [again]);
  return html`<div class="plot" ref=${box} role="img" aria-label=${label}></div>`;
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

function bars(count) {
  const paths = uPlot.paths.bars({ size: [0.8, 40] });
  const series = LAYERS.map(([name]) => ({ fill: colour(name), stroke: colour(name), paths, points: { show: false } }));
  const [x, y] = axes();
  const whole = { ...x, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000] };
  return { scales: { x: { time: false, range: [0.5, count + 0.5] } }, axes: [whole, y], legend: { show: false }, series: [{}, ...series] };
}

function Calls({ session, calls }) {
  if (!calls.length) return html`<p class="quiet">No model calls are recorded.</p>`;
  const sum = (field) => calls.reduce((total, call) => total + call[field], 0);
  const data = [calls.map((_, i) => i + 1), ...LAYERS.map(([, height]) => calls.map(height))];
  const read = sum("input_tokens");
  const dollars = sum("dollars");
  const cost = calls.some((call) => call.dollars === null) ? "" : `, $${dollars.toFixed(dollars < 1 ? 4 : 2)} in all`;
  const missed = calls.filter((call) => call.missed > 0);
  return html`<section class="card" aria-label="calls">
    <h3>Calls <span class="quiet">${plural(calls.length, "call")}, ${number(read)} tokens read, ${share(sum("read"), read)} of them from the cache${cost}</span></h3>
    <${Plot} options=${() => bars(calls.length)} data=${data} again=${calls} height=${200} label="what each call read, from the cache or not" />
    <ul class="legend"><li><i class="swatch cache-read"></i>read from the cache</li><li><i class="swatch cache-write"></i>written to it</li><li><i class="swatch cache-plain"></i>uncached</li></ul>
    ${missed.length > 0 &&
    html`<h4>Misses</h4><ul class="lost">${missed.map(
      (call) => html`<li><span class="matter">${call.cause}</span><span class="excerpt">${call.why}</span>
        <span>${number(call.missed)} tokens</span><${Turn} session=${session} id=${`m${Math.max(1, call.x)}`} /></li>`,
    )}</ul>`}
  </section>`;
}
