// What left the view at a compaction, and the result of the checks.

import { useState } from "../vendor/htm-preact.js";
import { Turn, html, number, plural, share } from "../ui.js";

const MATTERS = { rule: "rules", "open item": "open items", decision: "decisions", "earlier goal": "earlier goals", value: "exact values" };
const FIRST = 8;

export function Kept({ kept }) {
  return html`<div class="table-box"><table class="kept">
    <thead><tr><th>of what the model saw</th><th class="num">in view</th><th class="num">one step away</th><th class="num">only in the log</th></tr></thead>
    <tbody>${kept.map(
      (one) => html`<tr><td>${MATTERS[one.matter]}</td><td class="num">${number(one.visible)} of ${number(one.before)} <span class="quiet">${share(one.visible, one.before)}</span></td>
        <td class="num">${number(one.reachable)}</td><td class="num">${number(one.gone)}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

export function Left({ session, report }) {
  const [open, show] = useState(false);
  const values = report.lost.filter((one) => one.matter === "value");
  return html`<section class="card left" aria-label="what left">
    <h3>What left the view <span class="quiet">the model no longer sees it; the log has all of it</span></h3>
    <${Kept} kept=${report.kept} />
    ${report.kept_values.length > 0 &&
    html`<details><summary>${report.kept_values.length} exact values kept by the digest or an excerpt</summary><p class="small">${report.kept_values.join(", ")}</p></details>`}
    <${Lost} session=${session} lost=${report.lost.filter((one) => one.matter !== "value")} />
    ${values.length > 0 && html`<details onToggle=${(event) => show(event.currentTarget.open)}><summary>More: ${plural(values.length, "exact value")} that left</summary>${open && html`<${Lost} session=${session} lost=${values} />`}</details>`}
  </section>`;
}

export function Lost({ session, lost, beside }) {
  const [all, showAll] = useState(false);
  const shown = all ? lost : lost.slice(0, FIRST);
  return html`<ul class="lost">
      ${shown.map(
        (one) => html`<li><span class="excerpt">${one.text}</span>
          <${Turn} session=${session} id=${one.source} />${one.reachable ? html`<span class="quiet small">named by a line that was kept</span>` : ""}
          ${beside?.(one)}</li>`,
      )}
    </ul>
    ${lost.length > FIRST && html`<button class="plain" onClick=${() => showAll(!all)}>${all ? "Show fewer" : `Show all ${number(lost.length)}`}</button>`}`;
}

export function Report({ one }) {
  const { report, attempts, usage } = one;
  const verdict = report.accepted ? "✓ accepted" : report.refused ? "✗ refused" : "! to be repaired";
  return html`<section class="card report" aria-label="checks">
    <h3>Checks <span class="quiet">${verdict}, by code that did not write it</span></h3>
    <ul class="checks">${report.checks.map((check) => html`<li><${Check} check=${check} /></li>`)}</ul>
    ${attempts.length > 0 && html`<h4>Attempts</h4>
      <ul class="attempts">${attempts.map((attempt) => html`<li>${attempt.author}: ${attempt.outcome}${(attempt.misses ?? []).map((miss) => html`<span class="quiet small block">${miss}</span>`)}</li>`)}</ul>`}
    ${usage.calls > 0 && html`<p class="quiet">${plural(usage.calls, "call")}, ${number(usage.input_tokens)} tokens read, ${number(usage.output_tokens)} written.</p>`}
  </section>`;
}

function Check({ check }) {
  const against = check.findings.filter((finding) => finding.level !== "note");
  const title = html`<span class="sign ${against.length ? "bad" : "good"}" aria-hidden="true">${against.length ? "!" : "✓"}</span><strong>${check.name}</strong> <span class="quiet">${check.what}</span>`;
  if (!check.findings.length) return html`<p>${title}</p>`;
  return html`<details open=${against.length > 0}>
    <summary>${title} <span class="quiet">${plural(check.findings.length, "finding")}</span></summary>
    <ul>${check.findings.map((finding) => html`<li><span class="matter">${finding.level}</span> ${finding.subject ? `${finding.subject}: ` : ""}${finding.what} <span class="quiet">${finding.why}</span></li>`)}</ul>
  </details>`;
}
