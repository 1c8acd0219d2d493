// clew for pi: its digest is the compaction, without a model call. `clew uninstall pi` removes this file.
import { spawn } from "node:child_process";

const CLEW = ["clew"];
const MS = 60_000;

function clew(event: object, signal?: AbortSignal): Promise<any> {
  return new Promise((resolve) => {
    try {
      const child = spawn(CLEW[0], [...CLEW.slice(1), "hook", "pi"], { signal, timeout: MS });
      let out = "";
      child.stdout.on("data", (data) => (out += data));
      child.on("error", () => resolve(undefined));
      child.on("close", () => {
        try {
          resolve(JSON.parse(out));
        } catch {
          resolve(undefined); // nothing said: pi goes on by itself
        }
      });
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify(event));
    } catch {
      resolve(undefined);
    }
  });
}

export default function (pi: any) {
  const base = (ctx: any) => ({
    session_id: ctx.sessionManager.getSessionId(),
    transcript_path: ctx.sessionManager.getSessionFile(),
    cwd: ctx.cwd,
  });

  pi.on("session_before_compact", async (event: any, ctx: any) => {
    const { firstKeptEntryId, tokensBefore } = event.preparation;
    const ui = ctx.hasUI ? ctx.ui : undefined; // ctx may be stale when clew has answered
    const said = await clew(
      { ...base(ctx), hook_event_name: "session_before_compact", focus: event.customInstructions },
      event.signal,
    );
    if (!said?.summary) return;
    if (said.line) ui?.notify(said.line, "info");
    return { compaction: { summary: said.summary, firstKeptEntryId, tokensBefore, details: { by: "clew" } } };
  });

  for (const tool of TOOLS) {
    pi.registerTool({
      name: tool.name,
      label: tool.name,
      description: tool.description,
      parameters: tool.inputSchema,
      async execute(_id: string, params: any, signal: any, _update: any, ctx: any) {
        const said = await clew(
          { ...base(ctx), hook_event_name: "tool", name: tool.name, arguments: params },
          signal,
        );
        return { content: [{ type: "text", text: said?.text ?? "clew did not answer" }], details: {} };
      },
    });
  }
}

const TOOLS: any[] = [];
