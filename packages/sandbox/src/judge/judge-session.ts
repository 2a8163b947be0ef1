// The judge: a session in which the author's commands decide, and no student's code runs. Invariants:
// 1. It is created fresh from data: the submission's plain files read-only at /submission, the teacher's files read-only at /judge, an
//    empty scratch folder as the workspace. Nothing of the student's session (process, environment, shell state, descriptor) reaches it.
// 2. A student's program runs only as a guest (guest-host.ts): in a session of its own. Only pipes and an exit code connect the two.
// 3. Results come from a file that the command writes to a random path. The file is read after all its processes and all guests are gone.
//    Only this session's commands know the nonce in it, and no outcome contains the nonce.
// 4. It is used once and ended. kill -9 at any point leaves sessions that the cleanup recognises by their ids and that end themselves. A
//    judgement is made from data, so repeating it is always safe.
//
// Why guests are separate sessions, and not processes in nested namespaces of the judge: all isolation of the sandbox then separates the
// two (uid, cgroup, system call filter, mounts, network). The same self-test proves it, on both adapters. The judge's container or jail
// needs no right to create namespaces. Memory and processes of a guest are counted separately. The cost is one session per guest, created
// while the judge or the previous guest runs.

import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Limits } from "../limits.ts";
import type {
  CommandOutcome,
  CommandSpec,
  FileRead,
  RunOptions,
  Sandbox,
  Session,
  SessionFile,
  SessionFiles,
  SessionLabels,
} from "../port.ts";
import { SandboxError } from "../sandbox-error.ts";
import { AUTOGRADER_PLACE, autograderScript } from "./autograder-script.ts";
import { CASES_SCRIPT } from "./cases-script.ts";
import { GuestHost } from "./guest-host.ts";
import { GUEST_SCRIPT } from "./guest-script.ts";
import { drawResultsPlace, type ResultsPlace, redact } from "./judge-results.ts";
import { plainFiles } from "./plain-files.ts";
import { RelayConnections } from "./relay-connections.ts";
import { GUEST_SOCKET, RELAY_SCRIPT, WINDOW } from "./relay-script.ts";

const TOOLS = "/run/judge";
/** How long a relay may take to listen. If it does not listen, it has the same time again to end. */
const RELAY_MS = 20_000;
/** A prepared guest session waits at most as long as the judge may run. */
const GUEST_GRACE_MS = 5 * 60_000;

export interface JudgeSpec {
  /** The run of this judge. The session's id is derived from it and is recognised by `isJudgeSession`. */
  readonly run: string;
  readonly submission: SessionFiles;
  /** The teacher's files. */
  readonly files: readonly SessionFile[];
  readonly limits: Limits;
  /** The maximum limits of a guest. */
  readonly guests: Limits;
  /** Milliseconds for all guests together. Default: ten times the judge's wall clock, at least ten minutes. */
  readonly guestsMs?: number;
  readonly labels: Omit<SessionLabels, "run" | "created" | "deadline">;
  readonly image?: string;
  /** The teacher's files contain an autograder made for Gradescope, below AUTOGRADER_FILES. */
  readonly autograder?: { readonly setup: "run" | "skip" };
}

export interface JudgeSession {
  readonly id: string;
  /** The number of entries of the submission that are no plain files, and so are not in /submission. */
  readonly leftOut: number;
  /** Rejects with a SandboxError when the sandbox failed while it ran a guest, regardless of the command's own result. */
  run(command: CommandSpec, options?: RunOptions): Promise<CommandOutcome>;
  /** Runs the one command that decides, and tells it where to store its results. No command runs in the session after it. */
  decide(command: CommandSpec, options: RunOptions & { readonly maxResultBytes: number }): Promise<Decision>;
  end(): Promise<void>;
}

export interface Decision {
  readonly outcome: CommandOutcome;
  /** null: one of our clocks ended the command, so its results file is not read. */
  readonly results: FileRead | null;
  /** Genuine results contain this nonce. Only the code that reads the results may use it. */
  readonly nonce: string;
}

/** Sessions of judges and guests have no row of their own: they belong to the worker that created them. */
export function isJudgeSession(id: string): boolean {
  return /-judge-[0-9a-f]{8}(-\d+)?$/.test(id);
}

interface JudgeOptions {
  readonly signal?: AbortSignal;
  /** Overrides the default time, for tests. */
  readonly relayMs?: number;
}

export async function openJudge(
  sandbox: Pick<Sandbox, "open">,
  spec: JudgeSpec,
  { relayMs = RELAY_MS, ...options }: JudgeOptions = {},
): Promise<JudgeSession> {
  const id = `${spec.run.slice(0, 40)}-judge-${randomBytes(4).toString("hex")}`;
  const created = Date.now();
  const totalMs = spec.guestsMs ?? Math.max(10 * 60_000, 10 * spec.limits.wallMs);
  const labels = {
    ...spec.labels,
    run: spec.run,
    created: new Date(created).toISOString(),
    deadline: new Date(created + spec.limits.wallMs + totalMs + GUEST_GRACE_MS).toISOString(),
  };
  const image = spec.image === undefined ? {} : { image: spec.image };
  const { files: submitted, leftOut } = await plainFiles(spec.submission, spec.limits.diskBytes);
  let guestNumber = 0;
  const guests = new GuestHost({
    submission: spec.submission,
    ceiling: spec.guests,
    totalMs,
    open: async (limits, files) => {
      guestNumber += 1;
      const guestId = `${id}-${guestNumber}`;
      const made = await sandbox.open({
        id: guestId,
        files,
        limits,
        environment: {},
        labels,
        ...image,
        network: "none",
      });
      return fresh(made);
    },
  });
  let session: Session | undefined;
  try {
    const opened = await sandbox.open(
      {
        id,
        files: { kind: "list", files: [] },
        limits: spec.limits,
        // An image may lack the locale of LANG; perl would then warn at every guest.
        environment: { PERL_BADLANG: "0" },
        labels,
        ...image,
        network: "none",
        readOnly: [
          { at: "/submission", files: submitted },
          { at: "/judge", files: spec.files },
          { at: TOOLS, files: toolsOf(spec) },
        ],
        ...(spec.autograder === undefined ? {} : { scratch: AUTOGRADER_PLACE }),
      },
      options,
    );
    session = fresh(opened);
    const relay = await startRelay(session, guests, relayMs);
    // Not earlier: two sessions created at the same time would each take twice as long, and the judge is needed first.
    guests.prepare();
    return new Judge(id, session, guests, relay, leftOut);
  } catch (error) {
    await guests.close();
    await session?.end().catch(() => {});
    throw error;
  }
}

async function startRelay(session: Session, guests: GuestHost, relayMs: number): Promise<RelayConnections> {
  const program = await session.start({ argv: ["perl", `${TOOLS}/relay`, GUEST_SOCKET, String(WINDOW)], cwd: "/" });
  let said = "";
  program.stderr.on("data", (chunk: Buffer) => {
    if (said.length < 2000) said += chunk.toString("latin1");
  });
  const relay = new RelayConnections(program.stdin, program.stdout, (connection) => guests.serve(connection));
  const timer = setTimeout(() => relay.close(), relayMs);
  try {
    await relay.ready;
    return relay;
  } catch {
    // The end of the relay shows why the session fails. But an engine that answers and starts nothing never reports an end.
    await Promise.race([program.ended, pause(relayMs, undefined, { ref: false })]);
    throw new SandboxError(
      "SANDBOX_START_FAILED",
      `The relay of a judge session did not start (${said.replace(/[^\x20-\x7e]/g, " ").trim()}).`,
      "A judge session needs perl in its image, or on the host of a jail.",
    );
  } finally {
    clearTimeout(timer);
  }
}

class Judge implements JudgeSession {
  readonly id: string;
  readonly leftOut: number;
  readonly #session: Session;
  readonly #guests: GuestHost;
  readonly #relay: RelayConnections;

  constructor(id: string, session: Session, guests: GuestHost, relay: RelayConnections, leftOut: number) {
    this.id = id;
    this.leftOut = leftOut;
    this.#session = session;
    this.#guests = guests;
    this.#relay = relay;
  }

  async run(command: CommandSpec, options: RunOptions = {}): Promise<CommandOutcome> {
    const outcome = await this.#session.run(withTools(command), {
      ...options,
      othersMs: () => this.#guests.guestMs(),
    });
    if (this.#guests.trouble !== undefined) throw this.#guests.trouble;
    return outcome;
  }

  async decide(
    command: CommandSpec,
    { maxResultBytes, ...options }: RunOptions & { readonly maxResultBytes: number },
  ): Promise<Decision> {
    const place = drawResultsPlace();
    const outcome = await this.run(withEnvironment(command, place), options);
    const shown = redact(outcome, place.nonce);
    if (outcome.timedOut !== false) return { outcome: shown, results: null, nonce: place.nonce };
    this.#relay.close();
    await this.#guests.close();
    await this.#session.endAllBut([]);
    const results = await this.#session.readFile(place.file, { maxBytes: maxResultBytes, links: "refused" });
    return { outcome: shown, results, nonce: place.nonce };
  }

  async end(): Promise<void> {
    this.#relay.close();
    await Promise.all([this.#guests.close(), this.#session.end()]);
  }
}

/** The author's command, with the folder of `guest` first in its PATH. */
function withTools(command: CommandSpec): CommandSpec {
  return command.kind === "shell" ? { ...command, text: `export PATH=${TOOLS}:"$PATH"; ${command.text}` } : command;
}

/** On the same line, so that the lines of the author's command keep their numbers. */
function withEnvironment(command: CommandSpec, { nonce, path }: ResultsPlace): CommandSpec {
  return { ...command, text: `export MARKMILL_NONCE=${nonce} MARKMILL_RESULTS=${path}; ${command.text}` };
}

/** A session that existed before must not judge. */
function fresh(session: Session): Session {
  if (!session.attached) return session;
  throw new SandboxError("SANDBOX_SESSION_INVALID", `The session ${session.id} is not new.`, "Try again.");
}

function toolsOf({ autograder }: JudgeSpec): SessionFile[] {
  const tools = [
    tool("guest", GUEST_SCRIPT, 0o755),
    tool("cases", CASES_SCRIPT, 0o755),
    tool("relay", RELAY_SCRIPT, 0o644),
  ];
  return autograder === undefined ? tools : [...tools, tool("autograder", autograderScript(autograder.setup), 0o755)];
}

function tool(path: string, text: string, mode: number): SessionFile {
  return { path, mode, bytes: Buffer.from(text) };
}
