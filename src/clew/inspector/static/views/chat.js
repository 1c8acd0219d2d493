// Chat on the session, with the same loop as the terminal. Every compaction is announced by a notice.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { act, get, say } from "../api.js";
import { Answer, Title, address, html, number, useAnswer } from "../ui.js";
import { Marker, Message } from "./message.js";

const SHOWN = 30;

export function Chat({ session, head }) {
  const { turn, send } = useTurn(session);
  const result = useAnswer(async () => ({ rows: await last(session), ended: turn.ended }), [session, turn.busy ? 0 : head, turn.ended]);
  const about = useAnswer(() => get("about"), []);
  const [chosen, choose] = useState(null); // compact automatically? null: use the server's setting
  const { before, now } = drawn(turn, result.value);
  const end = useRef(null);
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [result.value, turn]);
  return html`<${Title} title="Chat">
      <label class="quiet"><input type="checkbox" checked=${chosen ?? about.value?.auto ?? false} disabled=${!about.value} onChange=${(event) => choose(event.target.checked)} /> compact automatically</label>
    <//>
    <div class="talk" role="log" aria-label="conversation">
      <${Answer} result=${result}>${() => before.map((row) => html`<${Row} key=${row.seq} row=${row} session=${session} />`)}<//>
      ${now.map((one) => html`<${TurnEvent} one=${one} session=${session} />`)}
      <div ref=${end}></div>
    </div>
    <${Speak} session=${session} busy=${turn.busy} send=${(text) => send(text, chosen, before.at(-1)?.seq)} />`;
}

async function last(session) {
  const { messages } = await get("size", { session });
  return (await get("page", { session, first: Math.max(1, messages - SHOWN + 1), count: SHOWN })).rows;
}

function Row({ row, session }) {
  return row.event ? html`<${Marker} row=${row} session=${session} />` : html`<${Message} row=${row} session=${session} />`;
}

const STAYS = new Set(["warned", "failed", "stopped", "compacted", "output", "typed"]); // events that are not rows of the log

// A turn: its events are drawn as they arrive; afterwards its messages are in the log and shown as rows.
function useTurn(session) {
  const [turn, change] = useState({ busy: false, ended: 0, since: 0, now: [] });
  const send = async (text, auto, since = Infinity) => {
    change(({ ended }) => ({ busy: true, ended, since, now: [{ is: /^[/!]/.test(text) ? "typed" : "you", text }] }));
    const onEvent = (one) => change((turn) => ({ ...turn, now: added(turn.now, one) }));
    try {
      await say(session, text, auto, onEvent);
    } catch (error) {
      onEvent({ is: "failed", text: error.message });
    }
    change((turn) => ({ ...turn, busy: false, ended: turn.ended + 1 }));
  };
  return { turn, send };
}

// Rows of the log, and the events below them. Nothing is shown twice, and the events of a turn stay until its rows
// have arrived.
function drawn(turn, result) {
  const rows = result?.rows ?? [];
  if (!turn.busy && result?.ended === turn.ended) return { before: rows, now: turn.now.filter((one) => STAYS.has(one.is)) };
  return { before: rows.filter((row) => row.seq <= turn.since), now: turn.now };
}

// The events of a turn after one more: pieces of a reply are joined, a result replaces its call.
function added(before, one) {
  const end = before.at(-1);
  if (one.is === "delta" && end?.is === "delta" && end.thinking === one.thinking) return [...before.slice(0, -1), { ...end, text: end.text + one.text }];
  if (one.is === "done") return before.filter((other) => other.call_id !== one.call_id).concat(one);
  return one.is === "user" || one.is === "reply" ? before : [...before, one];
}

function TurnEvent({ one, session }) {
  switch (one.is) {
    case "you":
      return html`<article class="message of-user"><div class="words">${one.text}</div></article>`;
    case "delta":
      return html`<article class="message of-assistant" aria-busy="true"><div class="words ${one.thinking ? "quiet" : ""}">${one.text}</div></article>`;
    case "tool":
      return html`<p class="marker">▸ ${one.name}</p>`;
    case "done":
      return html`<p class="marker">${one.is_error ? "✗" : "✓"} ${one.name} <span class="quiet excerpt">${one.text}</span></p>`;
    case "approval":
      return html`<${Approval} one=${one} session=${session} />`;
    case "compacted":
      return html`<${Notice} one=${one} session=${session} />`;
    case "typed":
      return html`<p class="marker"><code>${one.text}</code></p>`;
    case "output":
      return html`<pre class="card output" role="status">${one.text}</pre>`;
    case "stopped":
      return html`<p class="marker" role="status">Stopped.</p>`;
    default:
      return html`<p class="marker ${one.is === "failed" ? "problem" : ""}" role="status">${one.text} ${one.advice && html`<span class="quiet">${one.advice}</span>`}</p>`;
  }
}

function Notice({ one, session }) {
  return html`<section class="card notice" role="status" aria-label="compacted">
    <p><span class="marker-name">Compacted</span> ${one.why}</p>
    <p>${number(one.tokens_before)} → ${number(one.tokens_after)} tokens; ${one.done}</p>
    <p class="quiet">Kept: ${one.kept}. ${one.left?.length ? `Dropped: ${one.left.join("; ")}.` : ""}</p>
    ${one.digest && html`<a class="chip" href=${address(session, "digests", one.digest)}>≡ ${one.digest}</a> `}
    ${one.seq && html`<a href=${address(session, "diff", one.seq)}>before and after</a>`}
  </section>`;
}

function Approval({ one, session }) {
  const [said, setSaid] = useState(null);
  const answer = (word) => {
    setSaid(word);
    act(session, "answer", { call: one.call_id, answer: word }).catch(() => setSaid(null));
  };
  return html`<section class="card" role="alertdialog" aria-label="approval">
    <p><strong>Allow?</strong> <code>${one.what}</code></p>
    ${one.against.map((rule) => html`<p class="problem">A rule forbids it: ${rule}</p>`)}
    ${said
      ? html`<p class="quiet">You answered ${said}.</p>`
      : html`<p class="row"><button class="main" onClick=${() => answer("yes")}>Yes</button><button onClick=${() => answer("always")}>Always in this session</button><button onClick=${() => answer("no")}>No</button></p>`}
  </section>`;
}

function Speak({ session, busy, send }) {
  const [text, setText] = useState("");
  const go = () => {
    if (!text.trim() || busy) return;
    send(text.trim());
    setText("");
  };
  const pressed = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    go();
  };
  return html`<div class="speak">
    <textarea rows="2" aria-label="your message" placeholder="Enter sends, Shift+Enter starts a new line; /help lists the commands." value=${text}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed}></textarea>
    ${busy ? html`<button onClick=${() => act(session, "stop")}>Stop</button>` : html`<button class="main" onClick=${go} disabled=${!text.trim()}>Send</button>`}
  </div>`;
}
