// clew for opencode: rules and state of the work stay in view across compactions. `clew uninstall opencode` removes it.
import { spawn } from "node:child_process";

const CLEW = ["clew"];
const MS = 20_000;

function clew(event) {
  return new Promise((resolve) => {
    try {
      const child = spawn(CLEW[0], [...CLEW.slice(1), "hook", "opencode"], { timeout: MS });
      let out = "";
      child.stdout.on("data", (data) => (out += data));
      child.on("error", () => resolve({}));
      child.on("close", () => {
        try {
          resolve(JSON.parse(out));
        } catch {
          resolve({}); // nothing said: opencode goes on by itself
        }
      });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify(event));
    } catch {
      resolve({});
    }
  });
}

export const Clew = async ({ client, directory }) => {
  const reminders = new Map(); // by session: what was in view before its last compaction

  async function exported(id) {
    const messages = (await client.session.messages({ path: { id } })).data ?? [];
    return { info: { id, directory, projectID: "" }, messages };
  }

  return {
    config: async (config) => {
      config.mcp ??= {};
      config.mcp.clew ??= { type: "local", command: [...CLEW, "mcp"], enabled: true };
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      const own = { hook_event_name: "compacting", session_id: sessionID, cwd: directory };
      const said = await exported(sessionID).then((all) => clew({ ...own, export: all }), () => ({}));
      if (said.context) output.context.push(said.context);
      if (said.reminder) reminders.set(sessionID, said.reminder);
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID) return;
      if (!reminders.has(sessionID)) {
        const said = await clew({ hook_event_name: "resumed", session_id: sessionID, cwd: directory });
        reminders.set(sessionID, said.reminder ?? "");
      }
      if (reminders.get(sessionID)) output.system.push(reminders.get(sessionID));
    },
  };
};
