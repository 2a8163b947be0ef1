/** The `markmill` command: finds the subcommand, prints its answer, sets the exit code. */
import { readFileSync } from "node:fs";
import { closest } from "./closest.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "./command.ts";

interface Entry {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

const commands: Readonly<Record<string, Entry>> = {
  validate: { summary: "Check workflow files", load: async () => (await import("./commands/validate.ts")).validate },
  show: { summary: "Show what a workflow does", load: async () => (await import("./commands/show.ts")).show },
};

const terminal: Terminal = {
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
  cwd: process.cwd(),
  live: process.stdout.isTTY === true && process.stderr.isTTY === true,
  columns: process.stdout.columns ?? 80,
};

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const topic = commands[rest[0] ?? ""];
    terminal.out(topic === undefined ? overview() : (await topic.load()).help);
    return name === undefined ? exitCodes.usage : exitCodes.success;
  }
  if (name === "--version" || name === "-v") {
    terminal.out(version());
    return exitCodes.success;
  }
  const entry = commands[name];
  if (entry === undefined) {
    const near = closest(name, Object.keys(commands));
    terminal.err(`markmill: there is no command '${name}'.${near === null ? "" : ` Did you mean '${near}'?`}`);
    terminal.err("Run 'markmill --help' for the list.");
    return exitCodes.usage;
  }
  const command = await entry.load();
  if (rest.includes("--help") || rest.includes("-h")) {
    terminal.out(command.help);
    return exitCodes.success;
  }
  try {
    return await command.run(rest, terminal);
  } catch (error) {
    if (!(error instanceof UsageError) && !isParseArgsError(error)) throw error;
    terminal.err(`markmill ${name}: ${(error as Error).message}`);
    terminal.err(`Run 'markmill ${name} --help' for its use.`);
    return exitCodes.usage;
  }
}

function isParseArgsError(error: unknown): boolean {
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "markmill runs AI workflows durably: Markdown with a Mermaid flowchart in, graded submissions out.",
    "",
    "Usage: markmill COMMAND [ARGUMENTS]",
    "",
    ...list,
    "",
    "Examples:",
    "  markmill validate examples/**/*.wf.md",
    "  markmill show examples/first/greet.wf.md --steps",
    "",
    "Exit codes: 0 success, 1 failed, 2 wrong use, 5 budget spent, 6 invalid definition, 130 interrupted.",
    "'markmill COMMAND --help' tells more.",
  ].join("\n");
}

function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return `markmill ${manifest.version} (node ${process.versions.node})`;
}
