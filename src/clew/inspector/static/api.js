// Talking to the server: everything is JSON, and what goes wrong is an Error that says so in words.

async function answer(response) {
  const told = await response.json().catch(() => ({ error: response.statusText || "the server gave no answer" }));
  if (!response.ok) throw new Error(told.error || response.statusText);
  return told;
}

export async function get(what, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null));
  return answer(await fetch(`/api/${what}?${asked}`));
}

export async function act(session, does, more = {}) {
  const body = JSON.stringify({ session, does, ...more });
  const headers = { "content-type": "application/json" };
  return answer(await fetch("/api/act", { method: "POST", headers, body }));
}

// Calls back each time the session has grown, whoever appends to it; returns how to stop.
export function follow(session, grown) {
  const source = new EventSource(`/api/follow?${new URLSearchParams({ session })}`);
  source.onmessage = (event) => grown(Number(event.data));
  return () => source.close();
}

// Says something to the model; calls back with each thing that happens until it is done.
export async function say(session, text, auto, happened) {
  const body = JSON.stringify({ session, text, auto });
  const response = await fetch("/api/say", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!response.ok) return answer(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    const lines = (left + value).split("\n");
    left = lines.pop();
    for (const line of lines) if (line) happened(JSON.parse(line));
  }
}
