// Chat on the same session, with the same loop as the terminal. Compaction is never hidden: a notice says why.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { act, get, say } from "../api.js";
import { Answer, Title, address, html, number, useAnswer } from "../ui.js";
import { Marker, Message } from "./message.js";

const SHOWN = 30;

export function Chat({ session, head }) {
  const { now, busy, send } = useTurn(session);
  const told = useAnswer(() => last(session), [session, busy ? 0 : head]);
  const about = useAnswer(() => get("about"), []);
  const [wish, setWish] = useState(null);
  const auto = wish ?? about.value?.auto ?? false;
  const end = useRef(null);
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [told.value, now]);
  return html`<${Title} title="Chat">
      <label class="quiet"><input type="checkbox" checked=${auto} onChange=${(event) => setWish(event.target.checked)} /> compact by itself when it is time</label>
    <//>
    <div class="talk" role="log" aria-label="conversation">
      <${Answer} told=${told}>${(rows) => rows.map((row) => html`<${Row} key=${row.seq} row=${row} session=${session} />`)}<//>
      ${now.map((one) => html`<${Happening} one=${one} session=${session} />`)}
      <div ref=${end}></div>
    </div>
    <${Speak} session=${session} busy=${busy} send=${(text) => send(text, auto)} />`;
}

async function last(session) {
  const { messages } = await get("size", { session });
  return (await get("page", { session, first: Math.max(1, messages - SHOWN + 1), count: SHOWN })).rows;
}

function Row({ row, session }) {
  return row.event ? html`<${Marker} row=${row} session=${session} />` : html`<${Message} row=${row} session=${session} />`;
}

// A turn: what happens is drawn as it comes; once it is over the log has it, and the rows above show it.
function useTurn(session) {
  const [now, setNow] = useState([]);
  const [busy, setBusy] = useState(false);
  const send = async (text, auto) => {
    setBusy(true);
    setNow([{ is: "you", text }]);
    let stays = [];
    try {
      await say(session, text, auto, (one) => {
        if (["warned", "failed", "stopped", "compacted"].includes(one.is)) stays = [...stays, one];
        setNow((before) => added(before, one));
      });
    } catch (error) {
      stays = [{ is: "failed", text: error.message }];
    }
    setNow(stays);
    setBusy(false);
  };
  return { now, busy, send };
}

function added(before, one) {
  const end = before.at(-1);
  if (one.is === "delta" && end?.is === "delta" && end.thinking === one.thinking) return [...before.slice(0, -1), { ...end, text: end.text + one.text }];
  if (one.is === "done") return before.filter((other) => other.call_id !== one.call_id).concat(one);
  return one.is === "taken" || one.is === "said" ? before : [...before, one];
}

function Happening({ one, session }) {
  switch (one.is) {
    case "you":
      return html`<article class="message of-user"><div class="words">${one.text}</div></article>`;
    case "delta":
      return html`<article class="message of-assistant" aria-busy="true"><div class="words ${one.thinking ? "quiet" : ""}">${one.text}</div></article>`;
    case "tool":
      return html`<p class="marker">▸ ${one.name}</p>`;
    case "done":
      return html`<p class="marker">${one.is_error ? "✗" : "✓"} ${one.name} <span class="quiet excerpt">${one.text}</span></p>`;
    case "wanted":
      return html`<${Wanted} one=${one} session=${session} />`;
    case "compacted":
      return html`<${Notice} one=${one} session=${session} />`;
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
    <p class="quiet">Kept: ${one.kept}. ${one.left?.length ? `Left: ${one.left.join("; ")}.` : ""}</p>
    ${one.digest && html`<a class="chip" href=${address(session, "digests", one.digest)}>≡ ${one.digest}</a> `}
    ${one.seq && html`<a href=${address(session, "diff", one.seq)}>before and after</a>`}
  </section>`;
}

function Wanted({ one, session }) {
  const [said, setSaid] = useState(null);
  const answer = (word) => {
    setSaid(word);
    act(session, "answer", { call: one.call_id, answer: word }).catch(() => setSaid(null));
  };
  return html`<section class="card" role="alertdialog" aria-label="leave is asked for">
    <p><strong>May it?</strong> <code>${one.what}</code></p>
    ${one.against.map((rule) => html`<p class="problem">A rule stands against it: ${rule}</p>`)}
    ${said
      ? html`<p class="quiet">You said ${said}.</p>`
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
    <textarea rows="2" aria-label="your words" placeholder="Say something. Enter sends, Shift+Enter begins a new line." value=${text}
      onInput=${(event) => setText(event.target.value)} onKeyDown=${pressed}></textarea>
    ${busy ? html`<button onClick=${() => act(session, "stop")}>Stop</button>` : html`<button class="main" onClick=${go} disabled=${!text.trim()}>Send</button>`}
  </div>`;
}
