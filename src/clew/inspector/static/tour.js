// A short tour with the shipped example: from a line to its source, a preview, an undo.

import { useEffect, useState } from "./vendor/htm-preact.js";
import { address, html } from "./ui.js";

const KEY = "clew-tour";

const STEPS = [
  { title: "A digest", place: ["digests"], shows: "claims", text: "Half of this session no longer fits into the window. clew replaced it by this digest; the log keeps every message. Rules are quoted word for word." },
  { title: "From a line to its source", place: ["digests", "d1", "d1.2"], shows: "sources", text: "Choose any line: the message it comes from opens below it, between its neighbours, with the quoted words marked." },
  { title: "Preview a compaction", place: ["digests", "new"], shows: "compacting", text: "Press Preview. It changes nothing, and says which turns, findings, files and rules would leave the view. You can keep any of them word for word." },
  { title: "Undo", place: ["digests"], shows: "controls", text: "Press Undo: the model sees every message again. A compaction is an event in the log, so an undo is exact, and it can be redone." },
  { title: "That is all", place: ["timeline"], shows: "plot", text: "The timeline shows how full the window was, and each compaction as a step. Press 0 for your own sessions: what did your tool lose?" },
];

const known = () => JSON.parse(sessionStorage.getItem(KEY) ?? "null");

export function start(session) {
  sessionStorage.setItem(KEY, JSON.stringify({ session, step: 0 }));
  location.hash = address(session, ...STEPS[0].place);
}

// Scrolls to the part of the page that a step speaks of, as soon as it is there.
function showPart(name) {
  const look = () => {
    const part = document.querySelector(`main .${name}`);
    part?.scrollIntoView({ block: "start" });
    return part;
  };
  const timer = setInterval(() => look() && clearInterval(timer), 100);
  return () => clearInterval(timer);
}

export function Tour({ now }) {
  const [, redraw] = useState(0);
  const tour = known();
  const shown = tour && tour.session === now.session ? STEPS[tour.step] : null;
  document.body.dataset.tour = shown?.shows ?? "";
  useEffect(() => (shown ? showPart(shown.shows) : undefined), [shown]);
  if (!shown) return null;
  const go = (step) => {
    if (step < STEPS.length) sessionStorage.setItem(KEY, JSON.stringify({ ...tour, step }));
    else sessionStorage.removeItem(KEY);
    if (step < STEPS.length) location.hash = address(tour.session, ...STEPS[step].place);
    redraw((count) => count + 1);
  };
  const last = tour.step === STEPS.length - 1;
  return html`<aside class="tour" role="dialog" aria-label="tour">
    <p class="quiet small">Tour, ${tour.step + 1} of ${STEPS.length}</p>
    <h2>${shown.title}</h2>
    <p>${shown.text}</p>
    <p class="row"><button class="main" onClick=${() => go(tour.step + 1)}>${last ? "Finish" : "Next"}</button>
      ${tour.step > 0 && html`<button onClick=${() => go(tour.step - 1)}>Back</button>`}
      ${!last && html`<button class="plain" onClick=${() => go(STEPS.length)}>End the tour</button>`}</p>
  </aside>`;
}
