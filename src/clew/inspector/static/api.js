// Requests to the server: everything is JSON; a failure is an Error with the server's message.
//
// The access token is in the address after the #, and is stored per tab. Every request sends it in a header.
// A cookie would be sent to the servers of all other ports of this computer.

const KEY = "clew-token";
const WAIT = 400; // milliseconds for another tab to answer
const tabs = new BroadcastChannel(KEY);

// Remove it from the address bar and the history.
function brought() {
  const [, token, place] = /^#token=([\w-]+)(.*)$/.exec(location.hash) ?? [];
  if (!token) return false;
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, "", `/${place ? `#${place}` : ""}`);
  return true;
}

brought();
addEventListener("hashchange", () => brought() && location.reload());

// A tab without the token asks other tabs of this server for it. If the answer comes after the first requests were
// sent without it, the page reloads.
let late = false;
tabs.onmessage = ({ data }) => {
  const token = sessionStorage.getItem(KEY);
  if (data === "asked" && token) tabs.postMessage({ token });
  if (!data.token || token) return;
  sessionStorage.setItem(KEY, data.token);
  if (late) location.reload();
};

const known = new Promise((resolve) => {
  if (sessionStorage.getItem(KEY)) return resolve();
  tabs.addEventListener("message", ({ data }) => data.token && resolve());
  setTimeout(() => {
    late = true;
    resolve();
  }, WAIT);
  return tabs.postMessage("asked");
});

async function request(address, options = {}) {
  await known;
  const headers = { ...options.headers, "x-clew-token": sessionStorage.getItem(KEY) ?? "" };
  return fetch(address, { ...options, headers });
}

const AGAIN = 2000; // milliseconds before reconnecting to a server that went away

async function answer(response) {
  const text = await response.text();
  const result = read(text) ?? { error: text.trim() || response.statusText || "the server did not answer" };
  if (!response.ok) throw new Error(result.error || response.statusText);
  return result;
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export async function get(what, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null));
  return answer(await request(`/api/${what}?${asked}`));
}

export async function act(session, does, more = {}) {
  const body = JSON.stringify({ session, does, ...more });
  const headers = { "content-type": "application/json" };
  return answer(await request("/api/act", { method: "POST", headers, body }));
}

// Calls back with each line of a streamed response.
async function lines(response, onLine) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (left + value).split("\n");
    left = whole.pop();
    for (const line of whole) if (line) onLine(line);
  }
}

// Calls back each time the session has grown, by any process; returns a function that stops it.
export function follow(session, grown) {
  const stop = new AbortController();
  const listen = async () => {
    try {
      const response = await request(`/api/follow?${new URLSearchParams({ session })}`, { signal: stop.signal });
      if (!response.ok) return;
      await lines(response, (line) => grown(Number(line.replace(/^data: /, ""))));
    } catch {
      // The server or this page went away; the signal shows which.
    }
    if (!stop.signal.aborted) setTimeout(listen, AGAIN);
  };
  listen();
  return () => stop.abort();
}

// Sends a message to the model; calls back with each event of the turn.
export async function say(session, text, auto, onEvent) {
  const body = JSON.stringify({ session, text, auto });
  const response = await request("/api/say", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!response.ok) return answer(response);
  return lines(response, (line) => onEvent(JSON.parse(line)));
}
