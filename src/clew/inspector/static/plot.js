// Plots as SVG: `Plot` measures its width, and `draw` returns the shapes for a width and a height.
//
//   html`<${Plot} label="tokens" draw=${(width, height) => axes(frameOf(width, height, [1, 90], 200_000))} />`
//
// A frame turns values into pixels: frame.x(45) is the middle. Colours are CSS variables, so they follow dark mode.

import { useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { html } from "./ui.js";

const LEFT = 56; // room for a token count
const BOTTOM = 30; // room for a message number
const TOP = 8;
const RIGHT = 8;

export function Plot({ draw, label, height = 320 }) {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const sized = new ResizeObserver(() => setWidth(box.current.clientWidth));
    sized.observe(box.current);
    return () => sized.disconnect();
  }, []);
  return html`<div class="plot" ref=${box} role="img" aria-label=${label}>
    ${width > 0 && html`<svg width=${width} height=${height}>${draw(width, height)}</svg>`}
  </div>`;
}

export function frameOf(width, height, [first, last], most) {
  const right = Math.max(LEFT + 1, width - RIGHT);
  const bottom = height - BOTTOM;
  return {
    left: LEFT,
    right,
    top: TOP,
    bottom,
    first,
    last,
    most,
    x: (value) => LEFT + ((right - LEFT) * (value - first)) / Math.max(1, last - first),
    y: (value) => bottom - ((bottom - TOP) * value) / Math.max(1, most),
  };
}

// Whole numbers at even steps of 1, 2 or 5 times a power of ten, at most `count` of them.
function ticks(from, to, count) {
  let step = 1;
  for (let nth = 0; (to - from) / step > count; nth++) step *= [2, 2.5, 2][nth % 3];
  const found = [];
  for (let value = Math.ceil(from / step) * step; value <= to; value += step) found.push(value);
  return found;
}

const thousands = (value) => (value >= 1000 ? `${value / 1000}k` : value);

export function axes(frame) {
  const across = ticks(frame.first, frame.last, (frame.right - frame.left) / 60);
  const up = ticks(0, frame.most, (frame.bottom - frame.top) / 36);
  return html`${up.map(
    (value) => html`<path class="grid" d="M${frame.left} ${frame.y(value)}H${frame.right}" />
      <text x=${frame.left - 8} y=${frame.y(value) + 4} text-anchor="end">${thousands(value)}</text>`,
  )}
  ${across.map((value) => html`<text x=${frame.x(value)} y=${frame.bottom + 20} text-anchor="middle">${value}</text>`)}`;
}

// The area between the bottom and a curve.
export function area(frame, xs, values, colour) {
  const points = xs.map((x, i) => `${frame.x(x).toFixed(1)} ${frame.y(values[i]).toFixed(1)}`);
  const d = `M${frame.x(xs[0]).toFixed(1)} ${frame.bottom}L${points.join("L")}V${frame.bottom}Z`;
  return html`<path d=${d} style=${{ fill: colour }} />`;
}

// One bar for each value, at 1, 2, 3, …; one path, because there may be thousands.
export function bars(frame, values, colour) {
  const wide = Math.min(40, 0.8 * (frame.x(2) - frame.x(1)));
  const outlines = values.map((value, i) => `M${(frame.x(i + 1) - wide / 2).toFixed(2)} ${frame.bottom}V${frame.y(value).toFixed(1)}h${wide.toFixed(2)}V${frame.bottom}Z`);
  return html`<path d=${outlines.join("")} style=${{ fill: colour }} />`;
}

const LETTER = 7; // pixels: the widest letter of the names at 11 px
const GAP = 4;
const ROWS = 3;

// A line at each event; its name goes into the first row with room, or is omitted.
export function cuts(frame, events) {
  const rows = Array.from({ length: ROWS }, () => []);
  return events.map((event) => {
    const x = frame.x(event.x);
    const name = event.name || event.kind;
    const width = LETTER * name.length;
    const left = x + GAP + width > frame.right ? x - GAP - width : x + GAP;
    const row = rows.findIndex((taken) => taken.every(([from, to]) => to + GAP < left || from > left + width + GAP));
    if (row >= 0) rows[row].push([left, left + width]);
    return html`<path class="cut" d="M${x} ${frame.top}V${frame.bottom}" />
      ${row >= 0 && html`<text class="name" x=${left} y=${frame.top + 12 * (row + 1)}>${name}</text>`}`;
  });
}

export function limitLine(frame, tokens, look) {
  return html`<path class="limit ${look}" d="M${frame.left} ${frame.y(tokens)}H${frame.right}" />`;
}
