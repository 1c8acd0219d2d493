// The frame of all views: navigation, keys and routing by the address: #/ is the list of sessions, #/s/NAME/m12 a
// message of a session, #/s/NAME/VIEW/… another view of it.

import { html, render, useEffect, useLayoutEffect, useState } from "./vendor/htm-preact.js";
import { follow, get } from "./api.js";
import { Waiting, address, number, plural, titles, useAnswer } from "./ui.js";
import { Sessions } from "./views/sessions.js";
import { Transcript } from "./views/transcript.js";
import { ContextMap } from "./views/context.js";
import { Diff } from "./views/diff.js";
import { Digests } from "./views/digests.js";
import { Timeline } from "./views/timeline.js";
import { Ledger } from "./views/ledger.js";
import { Memory } from "./views/memory.js";
import { Chat } from "./views/chat.js";
import { Tour } from "./tour.js";

const VIEWS = [
  ["transcript", "Transcript", "1"],
  ["context", "Context", "2"],
  ["digests", "Compactions", "3"],
  ["timeline", "Timeline", "4"],
  ["ledger", "Rules and work", "5"],
  ["memory", "Memory", "6"],
  ["chat", "Chat", "7"],
];

function place() {
  const [, mark, session, ...rest] = location.hash.replace(/^#/, "").split("/");
  if (mark !== "s" || !session) return { view: "sessions" };
  const [view = "transcript", ...more] = rest;
  const name = decodeURIComponent(session);
  if (/^m\d+$/.test(view)) return { session: name, view: "transcript", more: [view] };
  return { session: name, view, more };
}

function usePlace() {
  const [now, go] = useState(place());
  useEffect(() => {
    const moved = () => go(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return now;
}

function useHead(session) {
  const [result, setResult] = useState({ head: 0 });
  useEffect(() => (session ? follow(session, (head) => setResult({ session, head })) : undefined), [session]);
  return result.session === session ? result.head : 0; // ignore the head of the previous session
}

const TYPING = new Set(["INPUT", "TEXTAREA", "SELECT"]);

function useKeys(session, help) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || TYPING.has(event.target.tagName)) return;
      const view = VIEWS.find(([, , key]) => key === event.key);
      if (view && session) location.hash = address(session, view[0]);
      else if (event.key === "0") location.hash = "#/";
      else if (event.key === "?") help((shown) => !shown);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [session]);
}

function View({ now, head }) {
  const [first] = now.more ?? [];
  const shared = { session: now.session, head };
  switch (now.view) {
    case "sessions":
      return html`<${Sessions} />`;
    case "context":
      return html`<${ContextMap} ...${shared} seq=${first} />`;
    case "diff":
      return html`<${Diff} ...${shared} seq=${first} />`;
    case "digests":
      return html`<${Digests} ...${shared} name=${first} claim=${now.more[1]} />`;
    case "timeline":
      return html`<${Timeline} ...${shared} />`;
    case "ledger":
      return html`<${Ledger} ...${shared} />`;
    case "memory":
      return html`<${Memory} ...${shared} />`;
    case "chat":
      return html`<${Chat} ...${shared} />`;
    default:
      return html`<${Transcript} ...${shared} at=${first} visit=${now} />`;
  }
}

// What every view of a session begins with: its title, and how much of it the model sees now.
function Header({ session, head }) {
  const result = useAnswer(() => get("session", { session }), [session, head]);
  const one = result.value;
  if (!one) return html`<header class="about" aria-label="the session"><h1>${titles.get(session) ?? session}</h1>${!result.error && html`<${Waiting} text="Reading the session…" />`}</header>`;
  const compactions = one.by_tool + one.by_clew;
  const by = one.by_clew ? (one.by_tool ? `, ${number(one.by_tool)} by its tool` : "") : one.by_tool ? " by its tool" : "";
  const sure = one.unlisted ? "as the provider reported, with the system prompt and tools" : "estimated from the messages of the log";
  return html`<header class="about" aria-label="the session">
    <div><h1 title=${session}>${one.title}</h1>
      <p class="facts">
        ${one.tool && html`<span>${one.tool}</span>`}${one.model && html`<span class="model">${one.model}</span>`}
        <span>${plural(one.messages, "message")}</span>
        ${one.copy && html`<span title="your file is only read; what you try here is gone when the server stops">a copy: your file is only read</span>`}
      </p></div>
    ${one.now !== null &&
    html`<p class="figure now" title=${sure}><strong>${number(one.now)}</strong><span class="unit">tokens the model sees now${one.unlisted ? "" : ", estimated"}
      ${one.whole > one.now && html`<span class="whole">${number(one.whole)} in the whole conversation</span>`}</span></p>`}
    <p class="figure"><strong>${number(compactions)}</strong><span class="unit">${compactions === 1 ? "compaction" : "compactions"}${by}</span></p>
  </header>`;
}

function Side({ now, help }) {
  const about = useAnswer(() => get("about"), []);
  const current = now.view === "diff" ? "digests" : now.view;
  useEffect(() => {
    // On a phone the views are one row that scrolls.
    const row = document.querySelector(".side ul");
    const link = row?.querySelector("[aria-current]");
    if (link) row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.clientWidth) / 2;
  }, [now.session, current]);
  return html`<nav class="side" aria-label="views">
    <a class="brand" href="#/"><img src="/static/clew.svg" alt="" width="22" height="22" />clew</a>
    ${now.session && html`<p class="session-name" title=${now.session}>${now.session}</p>`}
    ${about.value?.note && html`<p class="note small">${about.value.note}</p>`}
    ${now.session &&
    html`<ul>
      ${VIEWS.map(
        ([name, title, key]) =>
          html`<li>
            <a href=${address(now.session, name)} aria-current=${current === name ? "page" : null}>
              ${title}<kbd aria-hidden="true">${key}</kbd>
            </a>
          </li>`,
      )}
    </ul>`}
    <button class="plain keys" onClick=${() => help((shown) => !shown)}>Keys<kbd aria-hidden="true">?</kbd></button>
  </nav>`;
}

const KEYS = [
  ["1 … 7", "open a view of the session"],
  ["0", "the list of sessions"],
  ["j  k", "next, previous message"],
  ["g  G", "first, last message"],
  ["/", "search the transcript"],
  ["Enter", "open or collapse the focused element"],
  ["?", "show this list"],
];

function Help({ close }) {
  useLayoutEffect(() => {
    const pressed = (event) => event.key === "Escape" && close();
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return html`<aside class="help" role="dialog" aria-label="keys">
    <h2>Keys</h2>
    <dl>
      ${KEYS.map(([key, means]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${means}</dd></div>`)}
    </dl>
    <button autofocus onClick=${close}>Close</button>
  </aside>`;
}

function App() {
  const now = usePlace();
  const head = useHead(now.session);
  const [helping, help] = useState(false);
  useKeys(now.session, help);
  useEffect(() => {
    document.title = now.session ? `${now.session} · clew` : "clew";
    if (now.session) scrollTo(0, 0); // not where the list of sessions was
  }, [now.session]);
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Side} now=${now} help=${help} />
    <${Tour} now=${now} />
    <main id="main" tabindex="-1" class="view-${now.view}">
      ${now.session && html`<${Header} key=${now.session} session=${now.session} head=${head} />`}
      <${View} key=${`${now.session}/${now.view}`} now=${now} head=${head} />
    </main>
    ${helping && html`<${Help} close=${() => help(false)} />`}`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

document.querySelector("body > .waiting")?.remove();
render(html`<${App} />`, document.body);
