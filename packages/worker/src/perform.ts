/** Performs a claimed activity: one function per kind of work. */

import type { Failure, Outcome, Work } from "@markmill/engine";
import type { ModelMessage } from "@markmill/llm";
import {
  isUnfit,
  SandboxError,
  type SandboxErrorCode,
  type Session,
  type SessionFiles,
  workspaceFiles,
} from "@markmill/sandbox";
import type { Activity, Claimed, LoadedRun } from "@markmill/store/machine";
import type { Watched } from "@markmill/telemetry";
import { fileCapOf, readBytesInSession, readTextInSession, writeInSession } from "./file-values.ts";
import type { JudgeKeeper } from "./judge-session.ts";
import { nextStep, performExecute, sandboxFailed } from "./perform-execute.ts";
import { type GradePorts, performGrade } from "./perform-grade.ts";
import { judgeFailed, performJudge } from "./perform-judge.ts";
import { type MemoryPorts, performMemory } from "./perform-memory.ts";
import { type PromptPorts, performPrompt } from "./perform-prompt.ts";
import { performTool } from "./perform-tool.ts";
import type { ToolPorts } from "./perform-tools.ts";
import { done, failed, type Performed } from "./performed.ts";
import { readOnce } from "./read-once.ts";
import type { Scrub } from "./scrub-requests.ts";
import { SessionBusy } from "./session-busy.ts";
import type { SessionUse } from "./session-checkpoints.ts";
import { createSessionTools } from "./session-tools.ts";
import type { SessionKeeper } from "./sessions.ts";
import { watchedClient } from "./watch-activity.ts";

export interface Performer {
  /** `job`: the queue job that brought the activity. The jobs of a called run name it as their parent. `watched` absent: no telemetry. */
  perform(claimed: Claimed, job: string, signal: AbortSignal, watched?: Watched | null): Promise<Performed>;
}

export interface PerformerParts {
  readonly modelPorts: (
    run: LoadedRun,
    activity: Activity,
  ) => Promise<Omit<PromptPorts, "conversation" | "tools"> & Omit<GradePorts, "submission">>;
  readonly passages: (activity: Activity) => Pick<MemoryPorts, "insert" | "nearest">;
  /** `scrub`: removes the names of a class. Absent: it is created. */
  readonly toolPorts: (run: LoadedRun, activity: Activity, scrub?: Scrub) => Promise<Omit<ToolPorts, "session">>;
  readonly conversation: (thread: string) => Promise<readonly ModelMessage[]>;
  /** null: no sandbox is configured. */
  readonly sessions: SessionKeeper | null;
  readonly judges: JudgeKeeper | null;
  readonly submission: (rootId: string) => Promise<SessionFiles>;
  /** The longest file that may be read or written as a value. */
  readonly fileCeilingBytes: number;
  /** Creates the called run of a CALL and leaves it running, or returns why it may not. */
  readonly startCall: (run: LoadedRun, activity: Activity, job: string) => Promise<Failure | null>;
}

const nothing: Outcome = { kind: "done" };
/** Limit for all writable files of a session, when the session is judged in its current state. */
const MAX_WORKSPACE_BYTES = 1024 * 1024 * 1024;

export function createPerformer(parts: PerformerParts): Performer {
  return {
    async perform(claimed, job, signal, watched = null) {
      const { run, activity } = claimed;
      const { work } = activity;
      const cap = fileCapOf(run.program.sandbox, parts.fileCeilingBytes);
      switch (work.kind) {
        case "check":
          return work.read.length === 0 ? done(nothing) : inSession(claimed, "read", signal, readWith(work.read, cap));
        case "set":
          if (work.write !== null) return inSession(claimed, "write", signal, writeWith(work.write, work.read, cap));
          return work.read === null ? done(nothing) : inSession(claimed, "read", signal, readWith([work.read], cap));
        case "assign":
        case "note":
          return work.read === null ? done(nothing) : inSession(claimed, "read", signal, readWith([work.read], cap));
        case "prompt":
          return prompt(claimed, work, signal, watched);
        case "grade": {
          const ports = await modelPorts(claimed, watched);
          return performGrade({ ...ports, submission: () => parts.submission(run.rootId) }, work, activity, signal);
        }
        case "execute":
          return execute(claimed, work, signal, watched);
        case "call": {
          if (activity.outcome !== null) return done(activity.outcome, activity.usage);
          const excess = await parts.startCall(run, activity, job);
          return excess === null ? { did: "leave" } : failed(excess.code, excess.message, "fail");
        }
        case "ask":
          return { did: "leave" };
        case "tool":
          return performTool(withSession(claimed, await parts.toolPorts(run, activity), watched), work, signal);
        case "memory":
          return performMemory(await memoryPorts(claimed, watched), work, run, activity, signal);
      }
    },
  };

  async function modelPorts({ run, activity }: Claimed, watched: Watched | null) {
    const given = await parts.modelPorts(run, activity);
    const { client, unscrubbed = client, catalogue } = given;
    const watch = (one: typeof client) => watchedClient(one, catalogue, watched);
    return { ...given, client: watch(client), unscrubbed: watch(unscrubbed) };
  }

  function withSession(
    { run, activity }: Claimed,
    ports: Omit<ToolPorts, "session">,
    watched: Watched | null,
  ): ToolPorts {
    const use = { rootId: run.rootId, activity, files: () => parts.submission(run.rootId) };
    const { sessions } = parts;
    const session = createSessionTools({ sessions, box: ports.box, program: run.program, use, watched });
    return { ...ports, session };
  }

  async function memoryPorts(claimed: Claimed, watched: Watched | null): Promise<MemoryPorts> {
    return { ...(await modelPorts(claimed, watched)), ...parts.passages(claimed.activity) };
  }

  async function prompt(
    claimed: Claimed,
    work: Extract<Work, { kind: "prompt" }>,
    signal: AbortSignal,
    watched: Watched | null,
  ): Promise<Performed> {
    // Read the conversation and the facts of the class at the same time.
    const said = parts.conversation(work.thread);
    // The promise is awaited later. Until then its failure must not count as unhandled.
    said.catch(() => undefined);
    const given = await modelPorts(claimed, watched);
    const tools = withSession(claimed, await parts.toolPorts(claimed.run, claimed.activity, given.scrub), watched);
    const ports = { ...given, conversation: () => said, tools };
    if (work.read === null) return performPrompt(ports, work, claimed.activity, signal);
    const cap = fileCapOf(claimed.run.program.sandbox, parts.fileCeilingBytes);
    const path = work.read;
    const readIt = () => inSession(claimed, "read", signal, readWith([path], cap));
    const calls = work.tools.some((name) => claimed.run.program.tools?.[name]?.kind === "workflow");
    const read = await (calls ? readOnce(tools, path, readIt) : readIt());
    if (read.did !== "succeed" || read.outcome.kind !== "done") return read;
    const text = read.outcome.files?.[path];
    if (text === undefined)
      return failed(
        "FILE_MISSING",
        `The file '${work.read}' is neither in the workflow folder nor in the submission.`,
        "fail",
      );
    const performed = await performPrompt(ports, { ...work, text }, claimed.activity, signal);
    if (performed.did !== "succeed" || performed.outcome.kind !== "replied") return performed;
    const notes = [...(read.outcome.notes ?? []), ...(performed.outcome.notes ?? [])];
    return { ...performed, outcome: { ...performed.outcome, said: text, ...(notes.length === 0 ? {} : { notes }) } };
  }

  async function execute(
    claimed: Claimed,
    work: Extract<Work, { kind: "execute" }>,
    signal: AbortSignal,
    watched: Watched | null,
  ): Promise<Performed> {
    if (work.session === "judge") return judge(claimed, work, signal, watched);
    if (claimed.interrupted) {
      return failed(
        "WORKER_LOST",
        "The worker that ran the commands crashed before it stored their results.",
        "unknown",
      );
    }
    return inSession(claimed, "execute", signal, (session, save, either) =>
      performExecute(session, claimed.run.program, work, either, save, watched),
    );
  }

  async function judge(
    claimed: Claimed,
    work: Extract<Work, { kind: "execute" }>,
    signal: AbortSignal,
    watched: Watched | null,
  ): Promise<Performed> {
    const { run } = claimed;
    const { judges } = parts;
    if (judges === null) return noSandbox();
    let submission: SessionFiles | null = null;
    if (run.program.judge?.of === "workspace") {
      const packed = await inSession(claimed, "read", signal, async (session) => {
        try {
          submission = { kind: "tar", bytes: await workspaceFiles(session, MAX_WORKSPACE_BYTES) };
          return done(nothing);
        } catch (error) {
          // The commands that ran left more files than can be judged. That is their failure.
          if (isUnfit(error)) return sandboxFailed(error, "fail");
          throw error;
        }
      });
      if (packed.did !== "succeed") return packed;
    }
    try {
      const files = submission ?? (await parts.submission(run.rootId));
      return await judges.use(run.rootId, run.program, files, signal, (session) =>
        performJudge(
          session,
          work,
          run.program.judge?.autograder === undefined ? "tests" : "autograder",
          signal,
          watched,
        ),
      );
    } catch (error) {
      if (signal.aborted) return { did: "leave" };
      if (error instanceof SandboxError) return judgeFailed(error);
      throw error;
    }
  }

  async function inSession(
    { run, activity }: Claimed,
    does: SessionUse["does"],
    signal: AbortSignal,
    act: (session: Session, save: () => Promise<void>, signal: AbortSignal) => Promise<Performed>,
  ): Promise<Performed> {
    const { sessions } = parts;
    if (sessions === null) return noSandbox();
    try {
      const files = () => parts.submission(run.rootId);
      const use = { rootId: run.rootId, program: run.program, files, activity, does };
      const { result, warning } = await sessions.use(use, signal, act);
      return warning === null ? result : withNote(result, warning);
    } catch (error) {
      if (signal.aborted) return { did: "leave" };
      if (error instanceof SessionBusy) return { did: "postpone", ms: error.forMs };
      if (error instanceof SandboxError) {
        const unknown = cannotGoBack.includes(error.code);
        return sandboxFailed(error, unknown ? "unknown" : nextStep(error, false));
      }
      throw error;
    }
  }
}

/** Some command ran, and the session cannot be restored to the state before it. A later result would not describe the submission. */
const cannotGoBack: readonly SandboxErrorCode[] = ["SANDBOX_WORKSPACE_LOST", "SANDBOX_PROCESSES_LOST"];

function withNote(performed: Performed, note: string): Performed {
  if (performed.did !== "succeed" || performed.outcome.kind !== "executed") return performed;
  return { ...performed, outcome: { ...performed.outcome, notes: [...(performed.outcome.notes ?? []), note] } };
}

/** The lease of the session was lost, so another worker uses it. The work can be done later. */
const lostSession: Performed = { did: "postpone", ms: 500 };

function noSandbox(): Performed {
  const fix = "Install Docker or the tools of the jail, or pass --sandbox none for workflows you trust.";
  return failed("SANDBOX_NOT_CONFIGURED", `The workflow runs commands, but no sandbox is configured. ${fix}`, "hold");
}

function readWith(paths: readonly string[], cap: number) {
  return async (session: Session, _save: unknown, signal: AbortSignal): Promise<Performed> => {
    const files: [string, string][] = [];
    const notes: string[] = [];
    for (const path of paths) {
      if (signal.aborted) return lostSession;
      const file = await readTextInSession(session, path, cap);
      if (file.is === "failed") return failed(file.failure.code, file.failure.message, "fail");
      if (file.is === "missing") continue;
      files.push([path, file.text]);
      notes.push(...file.notes);
    }
    return done({ kind: "done", files: Object.fromEntries(files), ...(notes.length === 0 ? {} : { notes }) });
  };
}

function writeWith(write: { readonly path: string; readonly text: string }, from: string | null, cap: number) {
  return async (session: Session, _save: unknown, signal: AbortSignal): Promise<Performed> => {
    let bytes: Uint8Array = Buffer.from(write.text);
    if (from !== null) {
      const file = await readBytesInSession(session, from, cap);
      if (file.is === "failed") return failed(file.failure.code, file.failure.message, "fail");
      if (file.is === "missing") return failed("FILE_MISSING", `The file '${from}' is not in the submission.`, "fail");
      bytes = file.bytes;
    }
    if (signal.aborted) return lostSession;
    const wrong = await writeInSession(session, write.path, bytes, cap);
    return wrong === null ? done(nothing) : failed(wrong.code, wrong.message, "fail");
  };
}
