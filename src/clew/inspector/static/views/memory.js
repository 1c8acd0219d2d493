// Memory: notes kept across sessions, and a search of all messages.

import { useState } from "../vendor/htm-preact.js";
import { act, get } from "../api.js";
import { Answer, EditForm, Role, Title, Status, Trust, address, clock, html, number, plural, useAnswer, useAction } from "../ui.js";

export function Memory({ session, head }) {
  const [version, renew] = useState(0);
  const result = useAnswer(() => get("notes", { session }), [session, head, version]);
  return html`<${Title} title="Memory" />
    <${Recall} session=${session} />
    <${Answer} result=${result}>${(kept) => html`<${Notes} session=${session} kept=${kept} done=${() => renew((now) => now + 1)} />`}<//>`;
}

// Recall ----------------------------------------------------------------------------------------------

function Recall({ session }) {
  const [words, setWords] = useState("");
  const [found, setFound] = useState(null);
  const { result, busy, run } = useAction();
  const look = async (event) => {
    event.preventDefault();
    const value = await run(() => get("recall", { session, q: words }), (hits) => plural(hits.hits.length, "hit"));
    if (value) setFound(value.hits);
  };
  const best = Math.max(...(found ?? []).map((hit) => hit.score), 0.001);
  return html`<section class="card recall" aria-label="recall">
    <h3>Recall <span class="quiet">all messages, including those that left the window</span></h3>
    <form class="row" role="search" onSubmit=${look}>
      <input type="search" aria-label="what to recall" placeholder="a question, words, a path, an error" value=${words} onInput=${(event) => setWords(event.target.value)} />
      <button class="main" disabled=${busy || !words.trim()}>Recall</button>
    </form>
    <${Status} result=${result} busy=${busy} />
    ${found && html`<ol class="hits">${found.map((hit) => html`<li><${Hit} session=${session} hit=${hit} best=${best} /></li>`)}</ol>`}
  </section>`;
}

function Hit({ session, hit, best }) {
  return html`<header>
      <${Found} session=${session} hit=${hit} />
      <${Role} role=${hit.role} /><${Trust} trust=${hit.trust} />
      <span class="score" title="score relative to the other hits"><i style=${{ width: `${Math.max(2, (60 * Math.max(0, hit.score)) / best)}px` }}></i>${hit.score.toFixed(2)}</span>
      <span class="quiet small">${[...hit.exact.map((one) => `“${one}” exactly`), hit.terms.length ? `words: ${hit.terms.slice(0, 8).join(", ")}` : ""].filter(Boolean).join("; ")}</span>
    </header>
    <p class="excerpt">${hit.text}</p>`;
}

function Found({ session, hit }) {
  if (/^m\d+$/.test(hit.ref)) return html`<a class="turn" href=${address(session, hit.ref)}>${hit.ref}</a>`;
  const [digest] = hit.ref.split(".");
  if (/^d\d+$/.test(digest)) return html`<a class="turn" href=${address(session, "digests", digest, hit.ref)}>${hit.ref}</a>`;
  return html`<span class="ref">${hit.ref}</span>`;
}

// Notes -----------------------------------------------------------------------------------------------

const ORDER = ["quarantined", "proposed", "approved", "retired", "forgotten"];
const TITLES = {
  quarantined: ["In quarantine", "from an untrusted source; check it first"],
  proposed: ["Proposed", "proposed by an agent; waits for your approval"],
  approved: ["Approved", "shown to a model if relevant"],
  retired: ["Retired", "replaced by a newer note"],
  forgotten: ["Forgotten", "kept in the log"],
};

function Notes({ session, kept, done }) {
  const action = useAction(done);
  return html`<section class="card notes" aria-label="notes">
    <h3>Notes <span class="quiet">${number(kept.notes.length)}</span></h3>
    ${kept.conflicts.map((one) => html`<p class="problem small">⚠ ${one}</p>`)}
    ${ORDER.map((status) => html`<${Group} session=${session} status=${status} notes=${kept.notes.filter((note) => note.status === status)} action=${action} />`)}
    <${Status} result=${action.result} busy=${action.busy} />
    <${NewNote} session=${session} action=${action} />
  </section>`;
}

function Group({ session, status, notes, action }) {
  if (!notes.length) return null;
  const [title, means] = TITLES[status];
  const list = html`<ul>${notes.map((note) => html`<li key=${note.id}><${Note} session=${session} note=${note} action=${action} /></li>`)}</ul>`;
  if (status === "retired" || status === "forgotten") return html`<details><summary>${title} <span class="quiet">${number(notes.length)}, ${means}</span></summary>${list}</details>`;
  return html`<h4>${title} <span class="quiet">${means}</span></h4>${list}`;
}

const ACTIONS = {
  quarantined: [["note_approve", "Approve"], ["note_reject", "Reject"]],
  proposed: [["note_approve", "Approve"], ["note_reject", "Reject"]],
  approved: [["note_forget", "Forget"]],
};

function Note({ session, note, action }) {
  const [editing, edit] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    const more = { text: editing, key: note.key, category: note.category, scope: note.scope };
    if (await action.run(() => act(session, "note_add", more), (value) => `${value.note.id} replaces it.`)) edit(null);
  };
  if (editing !== null) return html`<${EditForm} label=${`the note ${note.id}`} text=${editing} change=${edit} save=${save} busy=${action.busy} />`;
  const change = (does) => action.run(() => act(session, does, { note: note.id }), (value) => `${note.id} is ${value.note.status}.`);
  return html`<p class="note-text"><span class="ref">${note.id}</span> ${!note.text.startsWith(note.key) && html`<strong>${note.key}</strong> `}${note.text}</p>
    <p class="facts"><${Trust} trust=${note.trust} />
    <span>${note.category.replaceAll("_", " ")}</span><span>${note.scope}</span><span>${clock(note.created)}</span>
    ${note.why && html`<span>${note.why}</span>`}
    <span class="row">
      ${(ACTIONS[note.status] ?? []).map(
        ([does, title]) => html`<button class="small" disabled=${action.busy} aria-label="${title} note ${note.id}" onClick=${() => change(does)}>${title}</button>`,
      )}
      ${note.status === "approved" && html`<button class="small" aria-label="Edit note ${note.id}" onClick=${() => edit(note.text)}>Edit</button>`}
    </span></p>`;
}

function NewNote({ session, action }) {
  const [words, setWords] = useState("");
  const [scope, setScope] = useState("workspace");
  const add = async (event) => {
    event.preventDefault();
    if (await action.run(() => act(session, "note_add", { text: words, scope }), (value) => `${value.note.id} is kept.`)) setWords((now) => (now === words ? "" : now));
  };
  return html`<form class="row" onSubmit=${add}>
    <input type="text" aria-label="a new note" placeholder="Something to know next time" value=${words} onInput=${(event) => setWords(event.target.value)} />
    <select aria-label="scope" value=${scope} onChange=${(event) => setScope(event.target.value)}>
      <option value="session">this session</option>
      <option value="workspace">this workspace</option>
      <option value="global">everywhere</option>
    </select>
    <button class="main" disabled=${action.busy || !words.trim()}>Keep</button>
  </form>`;
}
