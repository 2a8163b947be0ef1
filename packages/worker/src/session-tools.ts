/**
 * Tools that act in the run's sandbox session: commands, and MCP servers that are programs. Each call uses the session as an EXECUTE does,
 * under its own mark (Y2 of sessions.ts).
 *
 * Z1  The result of a tool includes the exit code of its command: the model reads the transcript. Only a refusal of the sandbox is a
 *     failure of the tool.
 * Z2  The model does not see trouble of the sandbox. The activity waits for its end, as an EXECUTE does, and the call's row stays begun.
 * Z3  A server lives for one listing or one call. It and all its processes are ended before the session is released. No server is started
 *     after that. If a start takes longer than the call, the worker waits for it and ends the server.
 *
 * kill -9 in the middle of a call: its row is begun. When the activity is repeated, the session's mark shows whether anything ran. If so,
 * the session is restored to the state before the call, and the call is made again. If it cannot be restored, the outcome is unknown,
 * unless the tool is safe to repeat. kill -9 in a listing: the next worker sees that the session was not released, ends the server
 * (session-checkpoints.ts), and lists again.
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

/** ended: the call has no result, and its activity ends like this. */
type SessionToolEnd = End | { readonly ended: Performed };

export interface SessionTools {
  perform(
    place: ToolCallPlace,
    call: { readonly name: string; readonly tool: Tool; readonly values: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ): Promise<SessionToolEnd>;
  /** The tools of a server that is a program. */
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

  /** `box` never rejects. Errors of the sandbox about a server that it started arrive here. */
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
      // The call may reach its deadline while the sandbox still starts the server.
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
      // A second listing changes no more than the first one, so it needs no way back.
      const how = { name: "tools/list", does: "write", safe: true } as const;
      return await inSession(place, how, signal, (session, _, either) =>
        withServers(session, (start) => box.list({ server, tools, start, signal: either })),
      );
    },
  };
}

/** Finds the commands in a model's text in the same way as in its replies. */
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

/** If the running processes cannot be listed, all of them are ended at the end: foreign commands can cause that. */
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

/** See Z3. */
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
