/**
 * Tools that act in the run's sandbox session: commands, and MCP servers that are programs. Each call uses the session as an EXECUTE does,
 * under its own mark (Y2 of sessions.ts).
 *
 * Z1  What a command came to, its exit code included, is the tool's result: the model reads the transcript. Only what the sandbox refuses is
 *     a failure of the tool.
 * Z2  Trouble of the sandbox is not told to the model. The activity waits for it, as an EXECUTE does; the call's row stays begun.
 * Z3  A server lives for one listing or one call. It is ended with all it started before the session is given back; none is started after that,
 *     and one whose start outlasts the call is waited for and ended.
 *
 * kill -9 in the middle of a call: its row is begun. Whoever repeats the activity finds by the session's mark whether anything ran; if so the
 * session goes back to before it, and the call is made again. Where there is no way back the outcome is unknown, unless the tool is safe.
 * In a listing: whoever takes the session, which was not given back, ends the server (session-checkpoints.ts), and the listing is made again.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { McpServer, Program, StdioServer, Tool, ToolCallPlace } from "@markmill/engine";
import {
  type CommandSpec,
  isUnfit,
  parseInSession,
  SandboxError,
  type Session,
  type SessionFiles,
  type StartedProgram,
  splitCommands,
  type TranscriptEntry,
} from "@markmill/sandbox";
import { callOfMark, neutralText } from "@markmill/store/machine";
import type { Watched } from "@markmill/telemetry";
import { readToolCommand, type StartServer, type ToolBox, type ToolCommand } from "@markmill/tools";
import { isRefused, nextStep, sandboxFailed } from "./perform-execute.ts";
import { type End, endOf } from "./perform-tools.ts";
import { failed, type Performed } from "./performed.ts";
import { renderWithin, runToolCommands } from "./run-tool-commands.ts";
import { SessionBusy } from "./session-busy.ts";
import type { SessionUse } from "./session-checkpoints.ts";
import type { SessionKeeper } from "./sessions.ts";

/** ended: nothing came of the call, and this is what becomes of its activity. */
type SessionToolEnd = End | { readonly ended: Performed };

export interface SessionTools {
  perform(
    place: ToolCallPlace,
    call: { readonly name: string; readonly tool: Tool; readonly values: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ): Promise<SessionToolEnd>;
  /** What a server that is a program says of its tools. */
  list(place: ToolCallPlace, server: McpServer, tools: readonly string[], signal: AbortSignal): Promise<SessionToolEnd>;
}

export interface SessionToolParts {
  /** null: no sandbox is configured. */
  readonly sessions: SessionKeeper | null;
  readonly box: ToolBox;
  readonly program: Program;
  readonly use: Pick<SessionUse, "rootId" | "activity"> & { readonly files: () => Promise<SessionFiles> };
  readonly watched: Watched | null;
}

type Save = () => Promise<void>;

export function createSessionTools({ sessions, box, program, use, watched }: SessionToolParts): SessionTools {
  async function inSession(
    place: ToolCallPlace,
    how: { readonly name: string; readonly does: "write" | "execute"; readonly safe: boolean },
    signal: AbortSignal,
    act: (session: Session, save: Save, signal: AbortSignal) => Promise<SessionToolEnd>,
  ): Promise<SessionToolEnd> {
    if (sessions === null) {
      const fix = "Install Docker or the tools of the jail, or pass --sandbox none for workflows you trust.";
      const told = `The tool '${how.name}' runs in a sandbox, but no sandbox is configured. ${fix}`;
      return { ended: failed("SANDBOX_NOT_CONFIGURED", told, "hold") };
    }
    const { does, safe } = how;
    try {
      const call = does === "execute" ? { call: callOfMark(place) } : {};
      const { result, warning } = await sessions.use({ ...use, program, does, ...call, safe }, signal, act);
      return "result" in result && warning !== null ? { ...result, note: warning } : result;
    } catch (error) {
      if (signal.aborted) return { ended: { did: "leave" } };
      if (error instanceof SessionBusy) return { ended: { did: "postpone", ms: error.forMs } };
      if (error instanceof SandboxError) return troubleOf(error, how.name);
      throw error;
    }
  }

  /** The box never rejects; what the sandbox itself says of a server that it started comes here. */
  async function withServers(
    session: Session,
    ask: (start: StartServer) => ReturnType<ToolBox["perform"]>,
  ): Promise<SessionToolEnd> {
    let trouble: unknown = null;
    let before: readonly string[] | null = null;
    let over = false;
    const starting: Promise<unknown>[] = [];
    const started: StartedProgram[] = [];
    const startNow = async ({ command, environment }: StdioServer) => {
      try {
        before ??= await runningIn(session);
        if (over) throw tooLate;
        const spec = { argv: command, ...(environment === undefined ? {} : { environment }) };
        const one = await session.start(spec);
        one.ended.catch((error: unknown) => {
          trouble ??= error;
        });
        started.push(one);
        return one;
      } catch (error) {
        if (error !== tooLate) trouble ??= error;
        throw error;
      }
    };
    const start: StartServer = (server) => {
      const one = startNow(server);
      starting.push(one);
      return one;
    };
    try {
      // The call may be over, by its deadline, while the sandbox is at work on a start.
      const result = await ask(start).finally(async () => {
        over = true;
        await Promise.allSettled(starting);
      });
      if (!result.ok && trouble !== null) throw trouble;
      return endOf(result);
    } finally {
      if (before !== null) await endServers(session, started, before);
    }
  }

  return {
    async perform(place, { name, tool, values }, signal) {
      const how = { name, does: "execute", safe: tool.repeat === "safe" } as const;
      if (tool.kind !== "sandbox") {
        const servers = program.mcp ?? {};
        return await inSession(place, how, signal, (session, _, either) =>
          withServers(session, (start) => box.perform({ name, tool, values, servers, start, signal: either })),
        );
      }
      const read = readToolCommand(tool, values);
      if (!read.ok) return { failure: { code: read.failure.code, message: neutralText(read.failure.message) } };
      const { command } = read;
      if (command.text.trim() === "") return { failure: { code: "TOOL_ARGUMENTS", message: "The command is empty." } };
      const wallMs = sessions?.limitsOf(program).wallMs ?? 0;
      return await inSession(place, how, signal, async (session, save, either) => {
        const until = performance.now() + Math.min(wallMs, tool.timeoutMs ?? wallMs);
        const { maxBytes } = box;
        const entries: TranscriptEntry[] = [];
        const commands = await commandsOf(session, command);
        try {
          const running = { session, program, signal: either, save, watched };
          await runToolCommands(running, commands, { until, maxBytes }, entries);
        } catch (error) {
          const acted = entries.some(({ kind }) => kind === "ran");
          if (!acted || !(error instanceof SandboxError)) throw error;
          return { ended: sandboxFailed(error, nextStep(error, acted)) };
        }
        return { result: neutralText(renderWithin(entries, maxBytes)) };
      });
    },
    async list(place, server, tools, signal) {
      // A listing changes nothing that a second one would not: it needs no way back.
      const how = { name: "tools/list", does: "write", safe: true } as const;
      return await inSession(place, how, signal, (session, _, either) =>
        withServers(session, (start) => box.list({ server, tools, start, signal: either })),
      );
    },
  };
}

/** A model's commands are told apart as those in its replies are. */
async function commandsOf(session: Session, { text, trust }: ToolCommand): Promise<readonly CommandSpec[]> {
  if (trust === "author") return [{ kind: "shell", text, trust }];
  const parts = await splitCommands(text, parseInSession(session));
  return parts.map((part) => ({ kind: "shell", text: part, trust }));
}

function troubleOf(error: SandboxError, name: string): SessionToolEnd {
  if (error.code === "SANDBOX_WORKSPACE_LOST" || error.code === "SANDBOX_PROCESSES_LOST") {
    const why = `The worker crashed during the tool '${name}', and the session cannot be restored to the state before it: ${error.message}`;
    return { ended: failed("OUTCOME_UNKNOWN", why, "fail") };
  }
  if (isRefused(error))
    return { failure: { code: "TOOL_FAILED", message: neutralText(error.message.slice(0, 1_000)) } };
  return { ended: sandboxFailed(error, nextStep(error, false)) };
}

/** Where what runs cannot be told, nothing is spared at the end: foreign commands can bring that about. */
async function runningIn(session: Session): Promise<readonly string[]> {
  try {
    return await session.processes();
  } catch (error) {
    if (isUnfit(error)) return [];
    throw error;
  }
}

const tooLate = new Error("The call of the server is over.");

/** For a server that ends when its stdin does. */
const graceMs = 500;

/** Z3. */
async function endServers(
  session: Session,
  started: readonly StartedProgram[],
  before: readonly string[],
): Promise<void> {
  for (const { stdin, stdout, stderr } of started) {
    stdin.end();
    stdout.resume();
    stderr.resume();
  }
  const ends = Promise.allSettled(started.map(({ ended }) => ended));
  await Promise.race([ends, pause(graceMs)]);
  await session.endAllBut(before);
}
