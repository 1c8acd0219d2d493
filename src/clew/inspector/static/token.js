// The access token: it is in the address after the #, and is stored per tab. Every request sends it in a header.
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

export async function request(address, options = {}) {
  await known;
  const headers = { ...options.headers, "x-clew-token": sessionStorage.getItem(KEY) ?? "" };
  return fetch(address, { ...options, headers });
}
