// A compaction before it happens: how small, with which focus, what it would lose, and what to keep of that.

import { useState } from "../vendor/htm-preact.js";
import { act } from "../api.js";
import { Told, Trust, Turn, html, number, plural, useDoing } from "../ui.js";
import { Kept, Lost } from "./report.js";

export function Compacting({ session, by, done }) {
  const [focus, setFocus] = useState("");
  const [target, setTarget] = useState("");
  const [preview, setPreview] = useState(null);
  const doing = useDoing();
  const wish = { focus: focus || null, target_tokens: target ? Number(target) : null };
  const look = () =>
    doing
      .run(() => act(session, "preview", wish), (value) => (value.preview ? "" : "There is nothing to gain now; give a smaller target."))
      .then((value) => value && setPreview(value.preview));
  const compact = () =>
    doing
      .run(() => act(session, "compact", wish), (value) => (value.compaction ? "" : "There is nothing to gain now; give a smaller target."))
      .then((value) => value?.compaction && done());
  const asked = (event) => {
    event.preventDefault();
    look();
  };
  return html`<form class="card compacting" aria-label="compact" onSubmit=${asked}>
    <label>What matters now <input type="text" value=${focus} placeholder="the failing test in parser.py" onInput=${(event) => setFocus(event.target.value)} /></label>
    <label>Down to, in tokens <input type="number" min="1" step="1" value=${target} placeholder="half" onInput=${(event) => setTarget(event.target.value)} /></label>
    <p class="row"><button disabled=${doing.busy}>Preview</button><button type="button" class="main" disabled=${doing.busy} onClick=${compact}>Compact now</button></p>
    <p class="quiet small">${by ? `Written by ${by}, and checked; if it fails, by code.` : "Written by code, without a model, and checked."}</p>
    <${Told} told=${doing.told} />
    ${preview && html`<${Preview} session=${session} preview=${preview} look=${look} />`}
  </form>`;
}

function Preview({ session, preview, look }) {
  const { told, busy, run } = useDoing(look);
  const [asked, ask] = useState(null);
  // The person sees the very text and whose it is before it is kept: as a fact, never as a rule.
  const show = (one) => run(() => act(session, "keep", { text: one.text, source: one.source }), () => "").then((value) => value && ask({ ...value, text: one.text }));
  const keep = () =>
    run(() => act(session, "keep", { text: asked.text, source: asked.source, passage: asked.passage }), (value) => (value.kept ? `Kept verbatim as ${value.kept}.` : "The text has changed; look again.")).then(() => ask(null));
  const beside = (one) => html`<span class="row">
    <button type="button" class="small" disabled=${busy} onClick=${() => show(one)} aria-label=${`keep verbatim the passage of ${one.source} that says ${one.text}`}>Keep verbatim…</button>
  </span>`;
  return html`<section class="preview" aria-label="preview">
    <h4>It would go from ${number(preview.before)} to ${number(preview.after)} tokens</h4>
    <p class="quiet small">${preview.condensed ? `${preview.condensed} into a digest of ${plural(preview.claims, "line")} and ${plural(preview.rules, "rule")}` : "no digest"}; ${plural(preview.smaller, "message")} shown smaller. Nothing has happened yet.</p>
    <${Kept} kept=${preview.report.kept} />
    ${preview.report.lost.length > 0 && html`<h4>Would be lost from view</h4><${Lost} session=${session} lost=${preview.report.lost} beside=${beside} />`}
    ${asked && html`<div class="card" role="group" aria-label="keep this passage"><p>Keep this passage of <${Turn} session=${session} id=${asked.source} /> as a fact? <${Trust} trust=${asked.trust} /></p>
      <blockquote>${asked.passage}</blockquote>
      <p class="row"><button type="button" class="main" disabled=${busy} onClick=${keep}>Keep</button><button type="button" onClick=${() => ask(null)}>Cancel</button></p></div>`}
    <${Told} told=${told} />
  </section>`;
}
