// Talking to the server: everything is JSON, and what goes wrong is an Error that says so in words.

import { request } from "./token.js";

const AGAIN = 2000; // milliseconds until a server that went away is asked again

async function answer(response) {
  const text = await response.text();
  const told = read(text) ?? { error: text.trim() || response.statusText || "the server gave no answer" };
  if (!response.ok) throw new Error(told.error || response.statusText);
  return told;
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

// Calls back with each line of an answer that comes in pieces.
async function lines(response, told) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (left + value).split("\n");
    left = whole.pop();
    for (const line of whole) if (line) told(line);
  }
}

// Calls back each time the session has grown, whoever appends to it; returns how to stop.
export function follow(session, grown) {
  const stop = new AbortController();
  const listen = async () => {
    try {
      const response = await request(`/api/follow?${new URLSearchParams({ session })}`, { signal: stop.signal });
      if (!response.ok) return;
      await lines(response, (line) => grown(Number(line.replace(/^data: /, ""))));
    } catch {
      // The server went away, or this page did: which of the two, the signal tells.
    }
    if (!stop.signal.aborted) setTimeout(listen, AGAIN);
  };
  listen();
  return () => stop.abort();
}

// Says something to the model; calls back with each thing that happens until it is done.
export async function say(session, text, auto, happened) {
  const body = JSON.stringify({ session, text, auto });
  const response = await request("/api/say", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!response.ok) return answer(response);
  return lines(response, (line) => happened(JSON.parse(line)));
}
