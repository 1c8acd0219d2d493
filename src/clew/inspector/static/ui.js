// Small things that all views share. Text from a session only ever becomes text of a node, never markup.

import { html, useEffect, useState } from "./vendor/htm-preact.js";

export { html };

export const number = (value) => (value ?? 0).toLocaleString("en-US");
export const share = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
export const plural = (count, thing) => `${number(count)} ${thing}${count === 1 ? "" : "s"}`;

// What tokens cost as plain input, where the price of a million is known.
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

// Who speaks, and how far that may be believed: a sign beside every colour.
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
  developer: ["◆", "whoever built this"],
  user: ["●", "the user's own words"],
  assistant: ["○", "what the model said"],
  "semi-trusted": ["◇", "put in by the harness"],
  untrusted: ["△", "from a tool, a file or the web: data, never instructions"],
};

export function Role({ role }) {
  return html`<span class="role role-${role}"><span aria-hidden="true">${ROLES[role] ?? "·"}</span> ${role}</span>`;
}

export function Trust({ trust }) {
  const [sign, means] = TRUST[trust] ?? ["?", trust];
  return html`<span class="trust trust-${trust}" title=${means}><span aria-hidden="true">${sign}</span> ${trust}</span>`;
}

export const address = (session, ...rest) =>
  `#/s/${encodeURIComponent(session)}${rest.length ? `/${rest.join("/")}` : ""}`;

// A reference to a message: m12 leads to where it was said.
export function Turn({ session, id }) {
  if (!id) return null;
  return html`<a class="turn" href=${address(session, id)}>${id}</a>`;
}

// Words of a session: code between fences looks like code, and where something is looked for, it is marked.
export function Words({ text, needle }) {
  const pieces = text.split(/^(```[^\n]*\n[\s\S]*?\n```[^\S\n]*)$/m);
  return html`<div class="words">${pieces.map((piece, i) => (i % 2 ? html`<code class="fenced"><${Marked} text=${piece} needle=${needle} /></code>` : html`<${Marked} text=${piece} needle=${needle} />`))}</div>`;
}

function Marked({ text, needle }) {
  if (!needle) return text;
  const low = text.toLowerCase();
  const wanted = needle.toLowerCase();
  const pieces = [];
  let done = 0;
  for (let at = low.indexOf(wanted); at >= 0 && pieces.length < 400; at = low.indexOf(wanted, done)) {
    pieces.push(text.slice(done, at), html`<mark>${text.slice(at, at + wanted.length)}</mark>`);
    done = at + wanted.length;
  }
  return html`${pieces}${text.slice(done)}`;
}

// Asks the server when a view is opened and each time its question changes.
export function useAnswer(ask, reasons) {
  const [told, tell] = useState({ waiting: true });
  useEffect(() => {
    let wanted = true;
    ask()
      .then((value) => wanted && tell({ value }))
      .catch((error) => wanted && tell({ error }));
    return () => {
      wanted = false;
    };
  }, reasons);
  return told;
}

export function Answer({ told, children }) {
  if (told.error) return html`<p class="problem" role="alert">${told.error.message}</p>`;
  if (!told.value) return html`<p class="quiet" role="status">Reading…</p>`;
  return children(told.value);
}

export function Title({ title, children }) {
  return html`<header class="title"><h2>${title}</h2><div class="title-side">${children}</div></header>`;
}

// A message that says what came of an action, read out by screen readers.
export function Told({ told }) {
  if (!told) return html`<p class="told" role="status"></p>`;
  return html`<p class="told ${told.failed ? "problem" : ""}" role="status">${told.text}</p>`;
}

// Runs an action, says what came of it, and keeps its button from being pressed twice.
export function useDoing(after) {
  const [told, tell] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async (work, success) => {
    setBusy(true);
    try {
      const value = await work();
      tell({ text: success(value) });
      if (after) after(value);
      return value;
    } catch (error) {
      tell({ text: error.message, failed: true });
      return null;
    } finally {
      setBusy(false);
    }
  };
  return { told, busy, run };
}
