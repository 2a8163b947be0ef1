// The judge: a session in which the author's commands decide, and no student's code runs. Invariants:
// 1. It is made fresh from data: the submission's plain files read-only at /submission, the teacher's read-only at /judge, an empty
//    scratch as the workspace. Nothing of the student's session (process, environment, shell state, descriptor) reaches it.
// 2. A student's program runs only as a guest (guest-host.ts): in a session of its own, with pipes and an exit code between them.
// 3. Results come from a file that the command leaves at a place drawn for it, read when all of its processes and all guests are gone.
//    The nonce in it is known to this session's commands and to nobody else, and is in no outcome.
// 4. It is used once and ended. kill -9 anywhere leaves sessions that the reaper knows by their ids and that end by themselves; a
//    judgement is made from data, so making it again is always safe.
//
// Why guests are sessions of their own, and not processes in nested namespaces of the judge's: every wall of the sandbox then stands
// between the two (uid, cgroup, system call filter, mounts, network), proved by the same self-test, on both adapters; the judge's
// container or jail needs no right to make namespaces; memory and processes of a guest are counted apart. It costs one session per
// guest, made while the judge, or the guest before, is at work.

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
/** For a relay to listen; one that does not has as long again to end. */
const RELAY_MS = 20_000;
/** A guest made ahead waits at most as long as the judge may run. */
const GUEST_GRACE_MS = 5 * 60_000;

export interface JudgeSpec {
  /** The run it judges for; the session's id is made of it, and told apart by `isJudgeSession`. */
  readonly run: string;
  readonly submission: SessionFiles;
  /** The teacher's. */
  readonly files: readonly SessionFile[];
  readonly limits: Limits;
  /** The most a guest may have. */
  readonly guests: Limits;
  /** Milliseconds of all guests together; absent: ten times the judge's wall clock, at least ten minutes. */
  readonly guestsMs?: number;
  readonly labels: Omit<SessionLabels, "run" | "created" | "deadline">;
  readonly image?: string;
  /** The teacher's files hold an autograder made for Gradescope, below AUTOGRADER_FILES. */
  readonly autograder?: { readonly setup: "run" | "skip" };
}

export interface JudgeSession {
  readonly id: string;
  /** Entries of the submission that are no plain files, and so are not in /submission. */
  readonly leftOut: number;
  /** Rejects with a SandboxError, whatever the command said, when the sandbox failed under a guest. */
  run(command: CommandSpec, options?: RunOptions): Promise<CommandOutcome>;
  /** The one command that decides, told where to leave its results. Nothing runs in the session after it. */
  decide(command: CommandSpec, options: RunOptions & { readonly maxResultBytes: number }): Promise<Decision>;
  end(): Promise<void>;
}

export interface Decision {
  readonly outcome: CommandOutcome;
  /** null: one of our clocks ended the command, and what it may have left is not looked at. */
  readonly results: FileRead | null;
  /** What true results carry. For whoever reads them, and nobody else. */
  readonly nonce: string;
}

/** Sessions of judges and guests have no row of their own: they belong to the worker that made them. */
export function isJudgeSession(id: string): boolean {
  return /-judge-[0-9a-f]{8}(-\d+)?$/.test(id);
}

interface JudgeOptions {
  readonly signal?: AbortSignal;
  /** In place of the usual time, for tests. */
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
        // An image may lack the locale of LANG; perl would complain of it with every guest.
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
    // Not before: two sessions made at once would each take twice as long, and the judge is waited for.
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
    // Its end says what is wrong with the session. An engine that answers and starts nothing never tells of one.
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

/** The author's command, with `guest` in front on its PATH. */
function withTools(command: CommandSpec): CommandSpec {
  return command.kind === "shell" ? { ...command, text: `export PATH=${TOOLS}:"$PATH"; ${command.text}` } : command;
}

/** On the same line: the lines of the author's command keep their numbers. */
function withEnvironment(command: CommandSpec, { nonce, path }: ResultsPlace): CommandSpec {
  return { ...command, text: `export MARKMILL_NONCE=${nonce} MARKMILL_RESULTS=${path}; ${command.text}` };
}

/** A session that lived before is no session to judge in. */
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
