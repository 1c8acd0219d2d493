// clew for OpenClaw: its digest is the compaction, without a model call. `clew uninstall openclaw` removes this folder.
import { spawn } from "node:child_process";

const CLEW = ["clew"];
const MS = 120_000;

function clew(event, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(CLEW[0], [...CLEW.slice(1), "hook", "openclaw"], { signal, timeout: MS });
    let out = "";
    child.stdout.on("data", (data) => (out += data));
    child.on("error", reject);
    child.on("close", () => resolve(out));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
}

export default {
  id: "clew",
  name: "clew",
  register(api) {
    api.registerCompactionProvider({
      id: "clew",
      label: "clew",
      // On an error or without a summary, OpenClaw asks its own model.
      async summarize({ messages, signal, previousSummary }) {
        const event = { hook_event_name: "summarize", messages, previous_summary: previousSummary };
        return JSON.parse(await clew(event, signal)).summary;
      },
    });
  },
};
