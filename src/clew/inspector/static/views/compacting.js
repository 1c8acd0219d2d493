// The form for a compaction: target size, focus, and a preview of what would be dropped.

import { useState } from "../vendor/htm-preact.js";
import { act } from "../api.js";
import { Status, Trust, Turn, html, number, plural, useAction } from "../ui.js";
import { Kept, Lost } from "./report.js";

export function Compacting({ session, from, done }) {
  const [focus, setFocus] = useState("");
  const [target, setTarget] = useState("");
  const [preview, setPreview] = useState(null);
  const action = useAction();
  const goal = { focus: focus || null, target_tokens: target ? Number(target) : null };
  const ask = (does) => action.run(() => act(session, does, goal), (value) => (value.preview || value.compaction ? "" : "The view would not become smaller; give a smaller target."));
  const look = () => ask("preview").then((value) => value && setPreview(value.preview));
  const compact = () => ask("compact").then((value) => value?.compaction && done());
  const asked = (event) => {
    event.preventDefault();
    look();
  };
  return html`<form class="card compacting" aria-label="compact" onSubmit=${asked}>
    <label>What matters now <input type="text" value=${focus} placeholder="the failing test in parser.py" onInput=${(event) => setFocus(event.target.value)} /></label>
    <label>Down to, in tokens <input type="number" min="1" step="1" value=${target} placeholder="half" onInput=${(event) => setTarget(event.target.value)} /></label>
    <p class="row"><button class="main" disabled=${action.busy}>Preview</button><button type="button" disabled=${action.busy} onClick=${compact}>Compact now</button></p>
    <p class="quiet small">Starts from ${from === "now" ? "what the model sees now" : "the whole conversation, also what the tool's own compactions took out of the view"}. A preview changes nothing; a compaction can be undone.</p>
    <p class="quiet small">Written by code, without a model, and checked.</p>
    <${Status} result=${action.result} busy=${action.busy} />
    ${preview && html`<${Preview} session=${session} preview=${preview} look=${look} />`}
  </form>`;
}

function Preview({ session, preview, look }) {
  const { result, busy, run } = useAction(look);
  const [asked, ask] = useState(null);
  // The person sees the exact passage and its trust label before it is kept as a fact (never as a rule).
  const show = async ({ text, source }) => {
    const value = await run(() => act(session, "keep", { text, source }), () => "");
    if (value) ask({ ...value, text });
  };
  const keep = async () => {
    const { text, source, passage } = asked;
    const kept = (value) => (value.kept ? `Kept verbatim as ${value.kept}.` : "The text has changed; look again.");
    await run(() => act(session, "keep", { text, source, passage }), kept);
    ask(null);
  };
  const beside = (one) => html`<span class="row">
    <button type="button" class="small" disabled=${busy} onClick=${() => show(one)} aria-label=${`keep verbatim the passage of ${one.source} that says ${one.text}`}>Keep verbatim…</button>
  </span>`;
  const values = preview.report.lost.filter((one) => one.matter === "value");
  const digest = `${preview.condensed} would be replaced by a digest of ${plural(preview.claims, "line")} and ${plural(preview.rules, "rule")}`;
  return html`<section class="preview" aria-label="preview">
    <p class="big"><strong>${number(preview.before)} → ${number(preview.after)}</strong> tokens</p>
    <p class="quiet small">${preview.condensed ? digest : "no digest"}; ${plural(preview.smaller, "message")} shortened. Nothing has changed yet.</p>
    <p class="small" aria-label="cost in prompt cache">Cache: ${preview.price}.</p>
    <${Leaving} session=${session} leaves=${preview.leaves} beside=${beside} />
    ${values.length > 0 && html`<details class="more-values"><summary>More: exact values</summary><${Kept} kept=${preview.report.kept} /><${Lost} session=${session} lost=${values} beside=${beside} /></details>`}
    ${asked && html`<div class="card" role="group" aria-label="keep this passage"><p>Keep this passage of <${Turn} session=${session} id=${asked.source} /> as a fact? <${Trust} trust=${asked.trust} /></p>
      <blockquote>${asked.passage}</blockquote>
      <p class="row"><button type="button" class="main" disabled=${busy} onClick=${keep}>Keep</button><button type="button" onClick=${() => ask(null)}>Cancel</button></p></div>`}
    <${Status} result=${result} busy=${busy} />
  </section>`;
}

const MANY = { turn: "turns", finding: "findings", file: "files", rule: "rules", "open item": "open items", decision: "decisions", "earlier goal": "earlier goals" };

const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0]);

// What would leave the view, in numbers and by name.
function Leaving({ session, leaves, beside }) {
  const present = leaves.filter((one) => one.before);
  const gone = present.filter((one) => one.left);
  const kept = present.filter((one) => !one.left).map((one) => MANY[one.kind]);
  return html`<p class="leaves">${gone.length ? "Would leave the view: " : kept.length ? "" : "There is no finding, file, rule or open item that could be lost."}
      ${gone.map((one, i) => html`${i ? ", " : ""}<strong class="bad">${number(one.left)}</strong> of ${number(one.before)} ${one.before === 1 ? one.kind : MANY[one.kind]}`)}${gone.length ? ". " : ""}
      ${kept.length > 0 && html`<span class="good">All ${listed(kept)} stay${gone.length ? "" : ", whole or as lines of the digest"}.</span>`}</p>
    ${gone.map((one) => html`<details class="gone"><summary>${number(one.left)} ${one.left === 1 ? one.kind : MANY[one.kind]}</summary>
      <${Lost} session=${session} lost=${one.things.map((thing) => ({ ...thing, matter: one.kind }))} beside=${one.kind === "file" ? null : beside} /></details>`)}`;
}
