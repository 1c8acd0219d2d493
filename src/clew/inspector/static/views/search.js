// Search in the transcript. The server searches for a limited time and returns how far it got; the page asks on until
// the whole session is searched or there are enough hits.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Marked, html, matcher, number, plural } from "../ui.js";

const ENOUGH = 200;

export function Search({ session, total, go, found }) {
  const [words, setWords] = useState("");
  const [parts, setParts] = useState(false);
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
    found(null);
    if (there) go(to);
  };
  const look = async (q, after, before) => {
    const own = ++asked.current;
    let answer = { found: before, upto: after, messages: total };
    for (let wanted = before.length + ENOUGH; own === asked.current; ) {
      setResult({ ...answer, words: q, searching: true });
      const more = await get("search", { session, q, after: answer.upto, parts: parts ? 1 : null }).catch((error) => ({ problem: error.message }));
      if (own !== asked.current) return;
      if (more.problem) return setResult(more);
      answer = { ...more, found: [...answer.found, ...more.found], words: q };
      if (more.upto >= more.messages || answer.found.length >= wanted) return setResult(answer);
    }
  };
  const submitted = (event) => {
    event.preventDefault();
    const named = /^m(\d+)$/.exec(words.trim());
    if (named) return jump(Number(named[1]));
    found(matcher(words, parts));
    return words.trim() ? look(words, 0, []) : show(null);
  };
  const close = () => {
    show(null);
    found(null);
    setWords("");
  };
  return html`<form class="search" role="search" onSubmit=${submitted}>
    <input ref=${box} type="search" value=${words} placeholder="Search, or m12" aria-label="search the transcript"
      onInput=${(event) => setWords(event.target.value)} />
    <label class="quiet small"><input type="checkbox" checked=${parts} onChange=${(event) => setParts(event.target.checked)} /> parts of words</label>
    <button>Search</button>
    ${result?.problem && html`<section class="found card"><p class="problem" role="alert">${result.problem} <button type="button" class="plain" onClick=${close}>Close</button></p></section>`}
    ${result?.found && html`<${Found} result=${result} go=${go} needle=${matcher(result.words, parts)} more=${() => look(result.words, result.upto, result.found)} close=${close} />`}
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

function Found({ result, go, needle, more, close }) {
  const done = result.upto >= result.messages;
  const hits = result.found.reduce((sum, one) => sum + one.count, 0);
  const progress = `, ${result.searching ? "searching… " : "searched "}${number(result.upto)} of ${number(result.messages)}`;
  return html`<section class="found card" aria-label="what was found">
    <p role="status" class=${result.searching ? "waiting" : ""}>${plural(hits, "hit")} in ${plural(result.found.length, "message")} with “${result.words}”${done ? "" : progress}
      <button type="button" class="plain" onClick=${close}>Close</button></p>
    <ol>
      ${result.found.map(
        (one) => html`<li><button type="button" class="plain" onClick=${() => go(one.number)}>
          <strong>m${one.number}</strong> <span class="quiet">${one.role}</span> <${Marked} text=${one.around} needle=${needle} />
          ${one.count > 1 && html`<span class="quiet small"> ${number(one.count)} hits</span>`}
        </button></li>`,
      )}
    </ol>
    ${!done && !result.searching && html`<button type="button" onClick=${more}>Continue</button>`}
  </section>`;
}
