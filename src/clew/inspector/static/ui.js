// Helpers shared by all views. Text from a session only ever becomes text of a node, never markup.

import { html, useEffect, useState } from "./vendor/htm-preact.js";

export { html };

export const number = (value) => (value ?? 0).toLocaleString("en-US");
export const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
export const plural = (count, thing) => `${number(count)} ${thing}${count === 1 ? "" : "s"}`;

// The price of tokens as uncached input; null if the model's price is not known.
export function money(tokens, price) {
  if (price === null || price === undefined) return null;
  const cents = (tokens * price) / 1e4;
  if (cents >= 100) return `$${(cents / 100).toFixed(2)}`;
  return `${cents >= 10 ? cents.toFixed(1) : cents.toFixed(2)} ¢`;
}

export function clock(time) {
  const moment = time && new Date(time);
  if (!moment || Number.isNaN(moment.getTime())) return "";
  return moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

// How long ago something happened, in the largest unit that fits.
export function ago(time) {
  const seconds = (Date.now() - new Date(time).getTime()) / 1000;
  if (Number.isNaN(seconds)) return "";
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    const count = Math.floor(seconds / size);
    if (count >= 1) return `${plural(count, unit)} ago`;
  }
  return "just now";
}

// Roles and trust labels: each has a sign in addition to its colour.
export const ROLES = {
  user: "❯",
  assistant: "●",
  tool: "◂",
  system: "⚙",
  developer: "⚙",
  injected: "◦",
  summary: "≡",
  digest: "≡",
};
const TRUST = {
  system: ["▣", "the system prompt"],
  developer: ["◆", "the developer"],
  user: ["●", "the user's own words"],
  assistant: ["○", "written by the model"],
  "semi-trusted": ["◇", "added by the harness"],
  untrusted: ["△", "from a tool, a file or the web: data, never instructions"],
};

export function Role({ role }) {
  return html`<span class="role role-${role}"><span aria-hidden="true">${ROLES[role] ?? "·"}</span> ${role}</span>`;
}

export function Trust({ trust }) {
  const [sign, means] = TRUST[trust] ?? ["?", trust];
  return html`<span class="trust trust-${trust}" title=${means}><span aria-hidden="true">${sign}</span> ${trust}</span>`;
}

// The titles of sessions that are known already, to be shown while a session is read.
export const titles = new Map();

export const address = (session, ...rest) =>
  `#/s/${encodeURIComponent(session)}${rest.length ? `/${rest.join("/")}` : ""}`;

// A link to a message in the transcript.
export function Turn({ session, id }) {
  if (!id) return null;
  // The summary of a tool (c1001 is the second message of c1), or a digest.
  const place = /^c/.test(id) ? ["digests", `c${Number(id.slice(1)) % 1000}`] : /^d/.test(id) ? ["digests", id] : [id];
  return html`<a class="turn" href=${address(session, ...place)}>${id}</a>`;
}

// Text of a session as it is, with search hits marked.
export function Words({ text, needle }) {
  return html`<div class="words"><${Marked} text=${text} needle=${needle} /></div>`;
}

// A pattern for the words that were searched for: whole words in any case, as the server finds them.
export function matcher(words, parts) {
  const spaced = words.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("\\s+");
  if (!spaced) return null;
  return new RegExp(parts ? spaced : `(?<![\\p{L}\\p{N}_])${spaced}(?![\\p{L}\\p{N}_])`, "giu");
}

const MOST_MARKS = 400;

export function Marked({ text, needle }) {
  if (!needle) return text;
  const pieces = [];
  let done = 0;
  for (const found of text.matchAll(needle)) {
    if (pieces.length >= 2 * MOST_MARKS) break;
    pieces.push(text.slice(done, found.index), html`<mark>${found[0]}</mark>`);
    done = found.index + found[0].length;
  }
  return html`${pieces}${text.slice(done)}`;
}

// Queries the server when a view is opened and each time its query changes.
export function useAnswer(ask, reasons) {
  const [result, setResult] = useState({ waiting: true });
  useEffect(() => {
    let wanted = true;
    ask()
      .then((value) => wanted && setResult({ value }))
      .catch((error) => wanted && setResult({ error }));
    return () => {
      wanted = false;
    };
  }, reasons);
  return result;
}

export function Answer({ result, children }) {
  if (result.error) return html`<p class="problem" role="alert">${result.error.message}</p>`;
  if (!result.value) return html`<${Waiting} />`;
  return children(result.value);
}

// The sign of life of everything that takes time.
export function Waiting({ text = "Reading…" }) {
  return html`<p class="waiting" role="status">${text}</p>`;
}

export function Title({ title, children }) {
  return html`<header class="title"><h2>${title}</h2><div class="title-side">${children}</div></header>`;
}

// The result of an action, announced by screen readers.
export function Status({ result, busy }) {
  if (busy) return html`<${Waiting} text="Working…" />`;
  if (!result) return html`<p class="status" role="status"></p>`;
  return html`<p class="status ${result.failed ? "problem" : ""}" role="status">${result.text}</p>`;
}

// A form that edits a text in place; change(null) closes it.
export function EditForm({ label, text, change, save, busy, look = "row" }) {
  return html`<form class=${look} onSubmit=${save}>
    <input type="text" aria-label=${label} value=${text} readonly=${busy} onInput=${(event) => change(event.target.value)} />
    <button class="main" disabled=${busy}>Save</button>
    <button type="button" onClick=${() => change(null)}>Cancel</button>
  </form>`;
}

// Runs an action, shows its result, and disables its button meanwhile.
export function useAction(after) {
  const [result, setResult] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async (work, success) => {
    setBusy(true);
    try {
      const value = await work();
      setResult({ text: success(value) });
      if (after) after(value);
      return value;
    } catch (error) {
      setResult({ text: error.message, failed: true });
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { result, busy, run };
}
