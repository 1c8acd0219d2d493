// The transcript. Only the pages around the visible part are in the document: pages are added and removed at both
// ends while the visible part keeps its position. The slider is the scroll bar of the whole session.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { get } from "../api.js";
import { Title, Waiting, address, html, number, plural, useAnswer } from "../ui.js";
import { Message, Marker } from "./message.js";
import { Search } from "./search.js";

const PAGE = 40;
const MOST_PAGES = 5;
const NEAR = 900; // pixels from an end at which the next page is fetched

export function Transcript({ session, head, at, visit }) {
  const list = useList(session, at, visit);
  const [needle, setNeedle] = useState(null);
  const [listing, listTurns] = useState(false); // on a narrow screen the outline is behind a button
  useGrown(list, head);
  useListKeys(list);
  return html`<${Title} title="Transcript">
      <button class="outline-toggle" aria-expanded=${listing} onClick=${() => listTurns(!listing)}>Turns</button>
      <${Search} session=${session} total=${list.total} go=${list.go} found=${setNeedle} />
    <//>
    ${list.problem && html`<p class="problem" role="alert">${list.problem}</p>`}
    <div class="reader ${listing ? "listing" : ""}">
      <${Outline} session=${session} head=${head} top=${list.ended ? list.total : list.top} go=${(to) => {
        listTurns(false);
        list.go(to);
      }} />
      <div class="pages" ref=${list.box} onScroll=${list.scrolled} tabindex="0" role="feed" aria-label="messages" aria-busy=${list.busy}>
        ${!list.pages.length && !list.problem && html`<${Waiting} />`}
        ${list.pages.flatMap((page) => page.rows).map((row) => html`<${Row} key=${row.seq} row=${row} session=${session} list=${list} needle=${needle} />`)}
      </div>
      <${Position} list=${list} />
    </div>`;
}

function Row({ row, session, list, needle }) {
  if (row.event) return html`<${Marker} row=${row} session=${session} />`;
  const name = `m${row.number}`;
  return html`<${Message} row=${row} session=${session} visibility=${list.visibility[name]} here=${list.at === name} needle=${needle} />`;
}

// The outline: the user's turns, and where the session was compacted.
function Outline({ session, head, top, go }) {
  const result = useAnswer(() => get("outline", { session }), [session, head]);
  const rows = result.value?.rows;
  const turns = rows?.filter((one) => one.text) ?? [];
  const now = turns.findLast((one) => one.number <= top)?.number ?? turns[0]?.number;
  const box = useRef(null);
  useEffect(() => box.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [now]);
  return html`<nav class="outline" aria-label="turns" ref=${box}>
    <h3>${turns.length ? plural(turns.length, "turn") : "Turns"}</h3>
    ${result.waiting && html`<${Waiting} />`}
    ${result.error && html`<p class="problem">${result.error.message}</p>`}
    ${rows === null && html`<p class="quiet small">The session is too long to list its turns.</p>`}
    <ol>${rows?.map((one) => html`<li key=${one.seq}><${OutlineRow} session=${session} one=${one} now=${now} go=${go} /></li>`)}</ol>
  </nav>`;
}

function OutlineRow({ session, one, now, go }) {
  if (!one.text) return html`<a class="cut" href=${address(session, "digests", one.cut)}>≡ compacted${one.cut ? `, ${one.cut}` : ""}</a>`;
  return html`<button class="plain" aria-current=${one.number === now ? "true" : null} title=${`m${one.number}`} onClick=${() => go(one.number)}><span>${one.text}</span></button>`;
}

// The position in the whole session, and jumping to another one. A dragged or typed value is kept until it is
// released, because arriving pages redraw this.
function Position({ list }) {
  const [dragged, drag] = useState(null);
  const [typed, type] = useState(null);
  const shown = dragged ?? list.top;
  const jump = (event) => {
    drag(null);
    type(null);
    if (event.target.value) list.go(Number(event.target.value));
  };
  return html`<div class="position">
    <input type="range" class="scrubber" min="1" max=${Math.max(1, list.total)} value=${shown}
      aria-label="position in the session" aria-valuetext=${`message ${shown} of ${list.total}`}
      onInput=${(event) => drag(Number(event.target.value))} onChange=${jump} />
    <label class="jump">message
      <input type="number" min="1" max=${Math.max(1, list.total)} value=${typed ?? shown} aria-label="go to message"
        onInput=${(event) => type(event.target.value)} onChange=${jump} />
    </label>
    <span class="quiet">of ${number(list.total)}</span>
  </div>`;
}

// The pages that are in the document ------------------------------------------------------------------

function useList(session, at, visit) {
  const box = useRef(null);
  const wanted = useRef(null); // the message to scroll to once it is drawn
  const held = useRef(null); // the message that keeps its position while pages change
  const fetching = useRef(false);
  const trips = useRef(0); // counts jumps: only the result of the last one is shown
  const [pages, setPages] = useState([]);
  const [total, setTotal] = useState(0);
  const [top, setTop] = useState(1);
  const [ended, setEnded] = useState(false); // whether the end of the session is in sight
  const [visibility, setVisibility] = useState({});
  const [problem, setProblem] = useState(null);

  const fetchPage = async (first) => {
    fetching.current = true;
    try {
      const page = await get("page", { session, first, count: PAGE });
      setTotal((known) => Math.max(known, page.messages));
      setProblem(null);
      const last = page.first + PAGE - 1;
      get("visibility", { session, first: page.first, last }).then((more) => setVisibility((known) => ({ ...known, ...more }))).catch(() => {});
      return { first: page.first, last: Math.min(last, page.messages), upto: page.seq, rows: page.rows };
    } catch (error) {
      setProblem(error.message);
      return null;
    } finally {
      fetching.current = false;
    }
  };

  // Shows the page with a message, a little before its first message so that there is something above it.
  const go = async (to) => {
    const number = Math.max(1, to);
    const own = ++trips.current;
    const first = Math.max(1, number - (number % PAGE) - (number % PAGE < 8 ? 8 : 0));
    const page = await fetchPage(first);
    if (!page || own !== trips.current) return;
    wanted.current = Math.min(number, page.last);
    setVisibility({});
    setPages([page]);
  };

  // Adds the page after the last one (down) or before the first one.
  const extend = async (down) => {
    if (fetching.current || !pages.length) return;
    const first = down ? pages.at(-1).last + 1 : Math.max(1, pages[0].first - PAGE);
    if (down ? first > total : pages[0].first <= 1) return;
    const page = await fetchPage(first);
    if (!page || !box.current) return;
    if (!down) {
      page.last = pages[0].first - 1;
      page.rows = page.rows.filter((row) => row.seq < pages[0].rows[0].seq);
    }
    setPages((now) => {
      const adjoins = down ? now.at(-1).last + 1 === page.first : page.last + 1 === now[0].first;
      if (!adjoins) return now; // the reader has jumped meanwhile
      held.current = anchor(box.current);
      return down ? [...now, page].slice(-MOST_PAGES) : [page, ...now].slice(0, MOST_PAGES);
    });
  };

  useEffect(() => {
    if (at || !pages.length) go(at ? Number(at.slice(1)) : 1);
  }, [session, visit]);

  useLayoutEffect(() => {
    if (wanted.current !== null && pages.length) bring(box.current, wanted.current);
    else if (held.current) restore(box.current, held.current);
    wanted.current = held.current = null;
    if (pages.length) look();
  }, [pages]);

  // After the pages or the scroll position changed: update the position and the address, fetch what is near.
  const look = () => {
    const element = box.current;
    const first = anchor(element);
    if (first) {
      setTop(first.number);
      if (here(session)) history.replaceState(null, "", address(session, `m${first.number}`));
    }
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    setEnded(below < 4 && pages.at(-1)?.last >= total);
    if (element.scrollTop < NEAR) extend(false);
    if (below < NEAR) extend(true);
  };

  const waiting = useRef(false);
  const scrolled = () => {
    if (waiting.current) return;
    waiting.current = true;
    requestAnimationFrame(() => {
      waiting.current = false;
      if (box.current) look();
    });
  };

  return { at, box, pages, total, setTotal, top, ended, visibility, problem, go, extend, scrolled, setPages, fetchPage, busy: fetching.current };
}

// Whether the address is still this transcript's: do not change it after the reader has left.
function here(session) {
  const own = address(session);
  return location.hash.startsWith(own) && /^(|\/transcript|\/m\d+)$/.test(location.hash.slice(own.length));
}

// The first visible message, and its distance from the upper edge.
function anchor(box) {
  const edge = box.getBoundingClientRect().top;
  for (const article of box.querySelectorAll("article")) {
    const place = article.getBoundingClientRect();
    if (place.bottom > edge + 4) return { number: Number(article.dataset.number), offset: place.top - edge };
  }
  return null;
}

const article = (box, wanted) => box.querySelector(`article[data-number="${wanted}"]`);

function restore(box, { number, offset }) {
  const element = article(box, number);
  if (element) box.scrollTop += element.getBoundingClientRect().top - box.getBoundingClientRect().top - offset;
}

const bring = (box, number) => restore(box, { number, offset: 12 });

// New messages: a reader at the end sees them arrive, including those appended while a page was loading.
function useGrown(list, head) {
  useEffect(() => {
    const last = list.pages.at(-1);
    if (!last || last.last < list.total || last.upto >= head) return;
    list.fetchPage(last.first).then((page) => {
      if (!page) return;
      page.upto = Math.max(page.upto, head);
      list.setPages((now) => (now.at(-1)?.first === page.first ? [...now.slice(0, -1), page] : now));
    });
  }, [head, list.pages]);
}

function useListKeys(list) {
  const now = useRef(list);
  now.current = list;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
      const { box, go, total } = now.current;
      if (event.key === "g") go(1);
      else if (event.key === "G") go(total);
      else if (event.key === "j" || event.key === "k") step(box.current, event.key === "j" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function step(box, by) {
  const all = [...box.querySelectorAll("article")];
  const from = all.indexOf(document.activeElement?.closest("article"));
  const at = from >= 0 ? from + by : all.indexOf(article(box, anchor(box)?.number));
  const next = all[at];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
