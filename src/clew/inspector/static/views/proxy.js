// The conversations that pass through a proxy in this process, as they go (`clew proxy --inspect`).

import { useEffect, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { address, ago, html, number, plural } from "../ui.js";

const AGAIN = 2000; // milliseconds between two looks

export function ProxyStatus() {
  const [value, setValue] = useState(null);
  useEffect(() => {
    let timer = null;
    let ended = false;
    const look = async () => {
      const found = await get("proxy").catch(() => null);
      if (ended) return;
      setValue(found);
      if (!found || found.status) timer = setTimeout(look, AGAIN); // an empty answer: there is no proxy
    };
    look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, []);
  if (!value?.status) return null;
  const rows = Object.entries(value.conversations ?? {}).reverse();
  return html`<section class="card" aria-label="the proxy">
    <h2>Through the proxy</h2>
    <${Counts} value=${value} />
    ${!rows.length && html`<p class="quiet">No conversation yet.</p>`}
    ${rows.length > 0 && html`<${Table} rows=${rows} />`}
  </section>`;
}

function Counts({ value }) {
  const { requests = 0, answered = 0, compacted = 0, failed_open: failed = 0 } = value.counts ?? {};
  const parts = [plural(requests, "request"), `${plural(answered, "compaction")} answered without a model`];
  if (compacted) parts.push(`${number(compacted)} in flight`);
  if (failed) parts.push(`${plural(failed, "error")} of clew, forwarded unchanged`);
  parts.push(`added ${value.overhead_ms?.p50 ?? 0} ms (half of the requests), ${value.overhead_ms?.p99 ?? 0} ms (1 of 100)`);
  return html`<p class="quiet">${parts.join(" · ")}</p>`;
}

const cost = (one, value) => (one.unit === "US dollars" ? `$${value.toFixed(2)}` : `${number(Math.round(value))} tokens`);

function saved(one) {
  const part = one.cost_without ? Math.round(100 * (1 - one.cost / one.cost_without)) : 0;
  return `${part < 0 ? "−" : ""}${Math.abs(part)} %`;
}

const COLUMNS = ["conversation", "model", "requests", "tokens now", "cache reads", "cache writes", "output", "compactions", "cost"];
const ESTIMATED = "estimated: the client's own requests, and a summary by the model for each compaction that clew answered";

function Table({ rows }) {
  return html`<div class="scroll"><table>
    <thead><tr>${COLUMNS.map((name) => html`<th>${name}</th>`)}<th title=${ESTIMATED}>without clew</th><th>saved</th><th>seen</th></tr></thead>
    <tbody>${rows.map(([name, one]) => html`<tr key=${name}>
      <td>${one.session ? html`<a href=${address(one.session, "digests")}>${one.session}</a>` : name}</td>
      <td>${one.model}</td><td>${number(one.requests)}</td><td>${number(one.tokens)}</td>
      <td>${number(one.cache_reads)}</td><td>${number(one.cache_writes)}</td><td>${number(one.output_tokens)}</td>
      <td>${one.compactions ? `${number(one.compactions)} (last: ${number(one.tokens_before)} to ${number(one.tokens_after)})` : "–"}</td>
      <td>${cost(one, one.cost)}</td><td>${cost(one, one.cost_without)}</td><td>${saved(one)}</td><td>${ago(one.seen * 1000)}</td>
    </tr>`)}</tbody>
  </table></div>`;
}
