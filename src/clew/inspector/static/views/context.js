// The context map: what the model sees, block by block, at any point in time.

import { useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Answer, Role, Title, Trust, Turn, address, clock, html, money, number, plural, share, useAnswer } from "../ui.js";

export function ContextMap({ session, head, seq }) {
  const result = useAnswer(() => get("map", { session, seq }), [session, seq, seq ? 0 : head]);
  const past = useAnswer(() => get("compactions", { session }), [session, head]);
  const steps = [...(past.value?.compactions ?? []), ...(past.value?.by_tool ?? [])].sort((a, b) => a.seq - b.seq);
  return html`<${Title} title="What the model sees" />
    <${Answer} result=${result}>${(map) => html`<${WindowMap} session=${session} map=${map} steps=${steps} />`}<//>`;
}

function WindowMap({ session, map, steps }) {
  const [chosen, choose] = useState(null);
  const block = map.blocks.find((one) => one.id === chosen);
  return html`<${Time} session=${session} map=${map} steps=${steps} />
    <${Fill} map=${map} />
    <section class="card thread" aria-label="the blocks, oldest first">
      <h3>The thread <span class="quiet">each block as wide as its tokens, oldest first</span></h3>
      <${Thread} map=${map} chosen=${chosen} choose=${choose} />
      ${block ? html`<${Block} session=${session} block=${block} price=${map.price} />` : html`<p class="quiet">Point at a block, or use Tab, to see its content.</p>`}
    </section>
    <${Blocks} session=${session} map=${map} />`;
}

// Through time ----------------------------------------------------------------------------------------

// The dragged position is kept until its map has arrived; maps requested on the way are ignored.
function Time({ session, map, steps }) {
  const [dragged, drag] = useState(null);
  const moving = useRef(false); // whether the dragged position has not been requested yet
  useEffect(() => {
    if (dragged === null) return undefined;
    moving.current = true;
    const timer = setTimeout(() => {
      const there = dragged >= map.last ? address(session, "context") : address(session, "context", dragged);
      moving.current = false;
      if (location.hash !== there) location.hash = there;
      else if (dragged === map.seq) drag(null);
    }, 120);
    return () => clearTimeout(timer);
  }, [dragged]);
  useEffect(() => {
    if (!moving.current) drag(null);
  }, [map.seq]);
  const earlier = steps.findLast((one) => one.seq <= map.seq && one.seq - 1 !== map.seq);
  const later = steps.find((one) => one.seq > map.seq);
  const at = dragged ?? map.seq;
  return html`<div class="time card">
    <label for="time">${map.seq === map.last && dragged === null ? "As it is now" : `As it was after event ${number(at)}`}</label>
    <input id="time" type="range" min="1" max=${map.last} value=${at} onInput=${(event) => drag(Number(event.target.value))}
      aria-valuetext=${`event ${at} of ${map.last}`} />
    <span class="ticks" aria-hidden="true">${steps.map((one) => html`<i class=${one.undone ? "undone" : ""} style=${{ left: `${(100 * (one.seq - 1)) / Math.max(1, map.last - 1)}%` }}></i>`)}</span>
    <span class="facts">
      <span>message ${number(map.messages)} of ${number(map.total_messages)}</span><span>${clock(map.time)}</span>
      ${earlier && html`<a href=${address(session, "context", earlier.seq === map.seq ? earlier.seq - 1 : earlier.seq)}>◂ ${earlier.seq === map.seq ? `before ${earlier.name}` : `after ${earlier.name}`}</a>`}
      ${later && html`<a href=${address(session, "context", later.seq)}>after ${later.name} ▸</a>`}
      ${map.seq < map.last && html`<a href=${address(session, "context")}>now</a>`}
    </span>
  </div>`;
}

// The window ------------------------------------------------------------------------------------------

export const css = (region) => `region-${region.replaceAll(" ", "-")}`;

function Fill({ map }) {
  const scale = Math.max(map.window, map.tokens);
  const width = (tokens) => ({ width: `${(100 * tokens) / scale}%` });
  const marks = [
    [map.limit || "at which clew compacts", map.marks.compact, "compact"],
    ["at which clew warns", map.marks.warn, "warn"],
  ].filter(([, at]) => at > 0 && (at < scale || map.limit));
  return html`<section class="card fill" aria-label="how full the window is">
    <p class="big"><strong>${number(map.tokens)}</strong> tokens${" "}
      <span class="quiet">${map.limit ? `${share(map.tokens, map.usable)} of the ${number(map.usable)} ${map.limit}` : `${share(map.tokens, map.usable)} of ${number(map.usable)} usable`}${map.model ? `, ${map.model}` : ""}</span>
      ${map.not_drawn > 0 && html`<span class="quiet">in the last ${plural(map.blocks.length, "message")}; ${number(map.not_drawn)} earlier ones are not counted</span>`}
      ${money(map.tokens, map.price) && html`<span class="price" title="as uncached input">${money(map.tokens, map.price)} a request</span>`}
    </p>
    <div class="bar">
      ${map.regions.map((one) => html`<span class=${css(one.region)} style=${width(one.tokens)} title=${`${one.region}: ${number(one.tokens)} tokens`}></span>`)}
      ${marks.map(([name, at, look]) => html`<i class="mark ${look}" style=${{ left: `${(100 * at) / scale}%` }} title=${`${number(at)} tokens, ${name}`}></i>`)}
    </div>
    ${marks.length > 0 && html`<ul class="legend marks">${marks.map(([name, at, look]) => html`<li><i class="line ${look}"></i>${number(at)} tokens, ${name}</li>`)}</ul>`}
    <table class="regions">
      <thead><tr><th>region</th><th>tokens</th><th>share</th><th>cost</th></tr></thead>
      <tbody>
        ${map.regions.map(
          (one) => html`<tr><td><i class="swatch ${css(one.region)}"></i>${one.region}</td><td>${number(one.tokens)}</td><td>${share(one.tokens, map.tokens)}</td><td>${money(one.tokens, map.price) ?? "–"}</td></tr>`,
        )}
        <tr class="quiet"><td><i class="swatch"></i>${map.limit ? "free until then" : "free until clew compacts"}</td><td>${number(Math.max(0, map.marks.compact - map.tokens))}</td><td></td><td></td></tr>
      </tbody>
    </table>
    ${map.regions.some((one) => one.region === "not in the log") && html`<p class="quiet small">Not in the log: the system prompt, tool definitions and attached files that the tool sends but does not record, as far as the provider reported them.</p>`}
  </section>`;
}

// The blocks ------------------------------------------------------------------------------------------

function Thread({ map, chosen, choose }) {
  const most = Math.max(...map.blocks.map((one) => one.tokens), 1);
  const width = (tokens) => ({ width: `${Math.max(4, Math.round((220 * tokens) / most))}px` });
  return html`<div class="blocks">
    ${map.blocks.map(
      (one) => html`<button class="block ${css(one.region)} ${one.id === chosen ? "chosen" : ""}" style=${width(one.tokens)}
        aria-label=${`${one.id}, ${one.role}, ${number(one.tokens)} tokens`} onMouseEnter=${() => choose(one.id)} onFocus=${() => choose(one.id)}></button>`,
    )}
  </div>
  ${map.not_drawn > 0 && html`<p class="quiet">${number(map.not_drawn)} earlier messages are not drawn.</p>`}`;
}

function Name({ session, block }) {
  if (/^[cd]/.test(block.id)) return html`<a class="chip" href=${address(session, "digests", block.id)}>≡ ${block.id}</a>`;
  return html`<${Turn} session=${session} id=${block.id} />`;
}

function Block({ session, block, price }) {
  return html`<div class="block-about">
    <${Name} session=${session} block=${block} /> <${Role} role=${block.role} /> <${Trust} trust=${block.trust} />
    <span class="tokens">${number(block.tokens)} tokens${price === null ? "" : `, ${money(block.tokens, price)}`}</span>
    ${block.smaller && html`<span class="visibility visibility-smaller">◐ shortened</span>`}
    <p class="excerpt">${block.text}</p>
  </div>`;
}

function Blocks({ session, map }) {
  const [sorted, sort] = useState(false);
  const rows = sorted ? [...map.blocks].sort((a, b) => b.tokens - a.tokens) : map.blocks;
  return html`<section class="card" aria-label="every block">
    <h3>${plural(map.blocks.length, "block")} <button class="plain" onClick=${() => sort(!sorted)}>${sorted ? "in order" : "heaviest first"}</button></h3>
    <div class="table-box"><table class="list">
      <thead><tr><th>block</th><th>who</th><th>says</th><th class="num">tokens</th><th class="num">cost</th></tr></thead>
      <tbody>
        ${rows.map(
          (one) => html`<tr key=${one.id}><td><i class="swatch ${css(one.region)}"></i><${Name} session=${session} block=${one} /></td>
            <td><${Role} role=${one.role} /></td><td class="excerpt">${one.smaller ? "◐ " : ""}${one.text}</td>
            <td class="num">${number(one.tokens)}</td><td class="num">${money(one.tokens, map.price) ?? "–"}</td></tr>`,
        )}
      </tbody>
    </table></div>
  </section>`;
}
