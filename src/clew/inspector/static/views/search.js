// Searching the transcript: the server looks for a moment and says how far it came, so a long session never blocks.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { html, number, plural } from "../ui.js";

export function Search({ session, total, go, found }) {
  const [words, setWords] = useState("");
  const [told, tell] = useState(null);
  const asked = useRef(0); // how often something was asked: an answer that comes after the next question is none
  const box = useRef(null);
  useSlash(box);
  const show = (what) => {
    asked.current += 1;
    tell(what);
  };
  const jump = (to) => {
    const there = to >= 1 && to <= total;
    show(there ? null : { problem: `There is no such message: there are ${number(total)}.` });
    found("");
    if (there) go(to);
  };
  const look = async (q, after, before) => {
    const own = ++asked.current;
    const answer = await get("search", { session, q, after }).then(
      (more) => ({ ...more, found: [...before, ...more.found], words: q }),
      (error) => ({ problem: error.message }),
    );
    if (own === asked.current) tell(answer);
  };
  const submitted = (event) => {
    event.preventDefault();
    const named = /^m(\d+)$/.exec(words.trim());
    if (named) return jump(Number(named[1]));
    found(words);
    return words ? look(words, 0, []) : show(null);
  };
  const close = () => {
    show(null);
    found("");
    setWords("");
  };
  return html`<form class="search" role="search" onSubmit=${submitted}>
    <input ref=${box} type="search" value=${words} placeholder="Search, or m12" aria-label="search the transcript"
      onInput=${(event) => setWords(event.target.value)} />
    <button>Search</button>
    ${told?.problem && html`<section class="found card"><p class="problem" role="alert">${told.problem} <button type="button" class="plain" onClick=${close}>Close</button></p></section>`}
    ${told?.found && html`<${Found} told=${told} go=${go} more=${() => look(told.words, told.upto, told.found)} close=${close} />`}
  </form>`;
}

function useSlash(box) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.key !== "/" || /INPUT|TEXTAREA/.test(event.target.tagName)) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function Found({ told, go, more, close }) {
  const done = told.upto >= told.messages;
  return html`<section class="found card" aria-label="what was found">
    <p role="status">${plural(told.found.length, "message")} with “${told.words}”${done ? "" : `, looked at ${number(told.upto)} of ${number(told.messages)}`}
      <button type="button" class="plain" onClick=${close}>Close</button></p>
    <ol>
      ${told.found.map(
        (one) => html`<li><button type="button" class="plain" onClick=${() => go(one.number)}><strong>m${one.number}</strong> ${one.around}</button></li>`,
      )}
    </ol>
    ${!done && html`<button type="button" onClick=${more}>Go on</button>`}
  </section>`;
}
