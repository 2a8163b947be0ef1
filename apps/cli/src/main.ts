/** The `markmill` command: finds the subcommand, prints its answer, sets the exit code. */
import { leaveOutEnvFile } from "@markmill/config";
import { visibleText } from "@markmill/engine";
import { CommandError, exitCodes, type Terminal, UsageError } from "./command.ts";
import { commands } from "./command-table.ts";

// A colour depth of 1 means a terminal that cannot redraw, or a user who requested plain text.
const live = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;

const terminal: Terminal = {
  out: (text) => void process.stdout.write(`${visibleText(text)}\n`),
  data: (text) => void process.stdout.write(`${process.stdout.isTTY === true ? visibleText(text) : text}\n`),
  // Clears the redrawn line before the text.
  err: (text) => void process.stderr.write(`${live ? "\r\u001b[2K" : ""}${visibleText(text)}\n`),
  draw: (text) => void process.stderr.write(text),
  ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask } : {}),
  cwd: process.cwd(),
  shown: process.stdout.isTTY === true,
  live,
  get columns() {
    return Math.max(20, process.stderr.columns || 80);
  },
};

// A reader that closes the pipe early (`| head`) is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(exitCodes.success);
  throw error;
});

process.exitCode = await main(process.argv.slice(2));

async function main(given: readonly string[]): Promise<number> {
  const debug = given.includes("--debug");
  if (given.includes("--no-env-file")) leaveOutEnvFile();
  const [name, ...rest] = given.filter((word) => word !== "--debug" && word !== "--no-env-file");
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const topic = commands[rest[0] ?? ""];
    terminal.out(topic === undefined ? overview() : (await topic.load()).help);
    return name === undefined ? exitCodes.usage : exitCodes.success;
  }
  if (name === "--version" || name === "-v") {
    terminal.out(await version());
    return exitCodes.success;
  }
  const entry = commands[name];
  if (entry === undefined) {
    // Imported only here, because the import loads the parsers of all dialects.
    const { suggest } = await import("@markmill/definition");
    const near = suggest(name, Object.keys(commands));
    terminal.err(`markmill: unknown command '${name}'.${near === null ? "" : ` Did you mean '${near}'?`}`);
    terminal.err("Run 'markmill --help' for a list of commands.");
    return exitCodes.usage;
  }
  try {
    const command = await entry.load();
    if (rest.includes("--help") || rest.includes("-h")) {
      terminal.out(command.help);
      return exitCodes.success;
    }
    if (entry.bare !== true) await (await import("./ask-trust.ts")).askTrust(given, terminal);
    if (entry.here === true) await tellServerUnused(name);
    return await command.run(joinNumbers(rest), terminal);
  } catch (error) {
    if (isWrongUse(error)) {
      terminal.err(`markmill ${name}: ${wordsOf(error)}`);
      terminal.err(`Run 'markmill ${name} --help' for usage.`);
      return exitCodes.usage;
    }
    const { tellError } = await import("@markmill/stack");
    terminal.err(tellError(error, debug));
    return error instanceof CommandError && error.code === "CLASS_SANDBOX" ? exitCodes.sandbox : exitCodes.failed;
  }
}

/** A person who set MARKMILL_URL may expect that the server is used. */
async function tellServerUnused(name: string): Promise<void> {
  const { readProcessConfig } = await import("@markmill/config");
  const reading = readProcessConfig(terminal.cwd);
  if (!reading.ok || reading.config.server === null) return;
  terminal.err(`note: '${name}' acts on this machine; it does not use the server at MARKMILL_URL`);
}

/**
 * Wrong arguments, or arguments that name something unusable. The stack's class is recognised by name, because the stack is loaded only
 * when needed.
 */
function isWrongUse(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof UsageError || error.name === "WrongInput") return true;
  return error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** `--points -1`: a negative number after a flag is its value, not another flag. */
function joinNumbers(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1) ?? "";
    if (/^-\d/.test(word) && /^--[a-z][a-z-]*$/.test(before)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

/** Node's parser mentions its own API in its messages. */
function wordsOf({ message }: Error): string {
  const [, flag] = /^Option '(?:-\w, )?(--[\w-]+)(?![\w-])[^']*' argument is ambiguous/.exec(message) ?? [];
  return flag === undefined
    ? message
    : `${flag} needs a value. If the value starts with '-', write it with '=': ${flag}='-…'.`;
}

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "Grade a class with AI, or run any AI workflow, and lose no work in a crash.",
    "A workflow is a Markdown file with a Mermaid flowchart.",
    "",
    "Usage: markmill COMMAND [ARGUMENTS]",
    "",
    ...list,
    "",
    "Examples:",
    "  markmill grade sheet3/                          grade a class",
    "  markmill run grade.wf.md STUDENT=Ada --submission ada/ --budget 0.50",
    "  markmill run grade.wf.md --script replies.yaml  use a scripted model",
    "  markmill validate *.wf.md",
    "  markmill watch last",
    "",
    "Exit codes: 0 success, 1 failed, 2 wrong use, 3 some not graded,",
    "5 limit reached, 6 invalid, 7 no sandbox, 8 to be resumed, 130 interrupted.",
    "RUN is 'last', an id, its last 4 or more characters, or its first 8 or more.",
    "Options for all commands: --debug prints the stack trace of an error;",
    "--no-env-file ignores the .env file.",
    "Run 'markmill COMMAND --help' for more about a command.",
  ].join("\n");
}

async function version(): Promise<string> {
  const { markmillVersion } = await import("@markmill/stack");
  return `markmill ${markmillVersion()} (node ${process.versions.node})`;
}

/** Reads one line from the terminal. Ctrl-C and the end of the input give an empty answer. */
async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline");
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  return await new Promise((answered) => {
    reader.once("close", () => answered("")).once("SIGINT", () => reader.close());
    reader.question(question, (answer) => {
      answered(answer);
      reader.close();
    });
  });
}
