// Search in the transcript: the server searches for a limited time and returns how far it got.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { html, number, plural } from "../ui.js";

export function Search({ session, total, go, found }) {
  const [words, setWords] = useState("");
  const [result, setResult] = useState(null);
  const asked = useRef(0); // the number of the last request: answers to earlier ones are ignored
  const box = useRef(null);
  useSlash(box);
  const show = (what) => {
    asked.current += 1;
    setResult(what);
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
    if (own === asked.current) setResult(answer);
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
    ${result?.problem && html`<section class="found card"><p class="problem" role="alert">${result.problem} <button type="button" class="plain" onClick=${close}>Close</button></p></section>`}
    ${result?.found && html`<${Found} result=${result} go=${go} more=${() => look(result.words, result.upto, result.found)} close=${close} />`}
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

function Found({ result, go, more, close }) {
  const done = result.upto >= result.messages;
  return html`<section class="found card" aria-label="what was found">
    <p role="status">${plural(result.found.length, "message")} with “${result.words}”${done ? "" : `, searched ${number(result.upto)} of ${number(result.messages)}`}
      <button type="button" class="plain" onClick=${close}>Close</button></p>
    <ol>
      ${result.found.map(
        (one) => html`<li><button type="button" class="plain" onClick=${() => go(one.number)}><strong>m${one.number}</strong> ${one.around}</button></li>`,
      )}
    </ol>
    ${!done && html`<button type="button" onClick=${more}>Continue</button>`}
  </section>`;
}
