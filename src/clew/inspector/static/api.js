// Requests to the server: everything is JSON; a failure is an Error with the server's message.

import { request } from "./token.js";

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
