// A test server of the Model Context Protocol over stdio, built with the official library, to run inside a sandbox session. A repeated call
// is visible: `add` adds a line to a file of the workspace.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
const line = (text: string) => new Promise<void>((resolve) => process.stdout.write(`${text}\n`, () => resolve()));

const tools: Record<string, (values: Readonly<Record<string, unknown>>) => unknown> = {
  echo: (values) => say(JSON.stringify(values)),
  add: ({ line: text }) => {
    appendFileSync("added", `${String(text)}\n`);
    return say(`added ${String(text)}`);
  },
  // Waits for SIGUSR2, so that a test can kill the process in the middle of this call.
  wait: async ({ line: text }) => {
    const woken = new Promise((resolve) => process.once("SIGUSR2", resolve));
    appendFileSync("added", `${String(text)}\n`);
    await woken;
    return say(`waited ${String(text)}`);
  },
  where: () => say(`${process.cwd()} ${process.env.GREETING ?? ""} ${Object.keys(process.env).sort().join(",")}`),
  hang: () => new Promise(() => undefined),
  flood: async () => {
    for (;;)
      await line(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { x: "y".repeat(9_000) } }));
  },
  shout: async () => {
    for (;;) await new Promise<void>((resolve) => process.stderr.write("z".repeat(60_000), () => resolve()));
  },
  garbage: async () => {
    await line("Listening on port 3000!");
    return say("never heard");
  },
  die: () => {
    process.stderr.write("it was all too much\n");
    setTimeout(() => process.exit(3), 50);
    return new Promise(() => undefined);
  },
  answerAndDie: () => {
    setImmediate(() => setImmediate(() => process.exit(0)));
    return say("last words");
  },
  leave: ({ line: seconds }) => {
    const left = spawn("sleep", [String(seconds)], { detached: true, stdio: "ignore" });
    left.unref();
    return say("left");
  },
  stalled: () => {
    process.stdin.pause();
    process.on("SIGTERM", () => undefined);
    setInterval(() => undefined, 1_000);
    return say("will not go by itself");
  },
};

const server = new Server({ name: "testing", version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => {
  // The first listing of a workspace never ends, and its server does not exit.
  if (process.argv.includes("stuck-once") && !existsSync("listing")) {
    appendFileSync("listing", "");
    setInterval(() => undefined, 1_000);
    await new Promise(() => undefined);
  }
  const listed = Object.keys(tools).map((name) => ({
    name,
    description: `It does ${name}.`,
    inputSchema: { type: "object" as const, properties: { line: { type: "string" } } },
  }));
  return { tools: listed };
});
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: values = {} } }) => {
  const tool = tools[name];
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return (await tool(values)) as ReturnType<typeof say>;
});
await server.connect(new StdioServerTransport());
