// The sandbox for machines without Docker. Each session is one set of Linux namespaces, held by its own pid 1 (jail-root-script); each
// command enters them anew (launch). Invariants:
// 1. A session does not need the process that created it: its directory holds everything needed to serve or end it.
// 2. Every limit is enforced, or the session is refused. Memory: pid 1 watches the sum of all processes. The second line is a cgroup
//    (wider, because it also counts tmpfs files) or, without a cgroup, RLIMIT_DATA per process. Processes: RLIMIT_NPROC of the jail's own
//    namespace. Cores: a cgroup, else affinity. Disk: tmpfs sizes.
// 3. When the worker is root, every session has its own high uid on the host.

import { randomInt } from "node:crypto";
import { constants as fsConstants } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { isAlive } from "@markmill/base";
import { checkSessionId, checkSessionSpec } from "../check-spec.ts";
import { LeaseKeeper } from "../lease.ts";
import { packFiles, packTrees } from "../pack-files.ts";
import type { ListedSession, Sandbox, Session, SessionSpec } from "../port.ts";
import { noCgroup } from "../thin-walls.ts";
import { detectHost, type HostPreferences, type JailHost } from "./detect-host.ts";
import { packEtc } from "./etc-files.ts";
import { FIRST_UID, isLive, type Jail, pause, START_MS, UIDS } from "./jail.ts";
import { JailSession } from "./jail-session.ts";
import { type Programs, trialLaunch } from "./launch.ts";
import { makeSession, removeSession } from "./make-session.ts";
import { neutralPlaces, neutralPrograms } from "./neutral-programs.ts";
import { startLaunch } from "./run-tool.ts";
import { SessionDirectory } from "./session-directory.ts";
import { programInvalid, sessionBusy, translateLaunchFailure } from "./translate-host-error.ts";

export interface JailOptions {
  /** Directory for the sessions' records, private to the worker's user. */
  readonly root: string;
  readonly host?: HostPreferences;
  /**
   * Programs to show besides the host's /usr, last in PATH: the absolute path of an executable file, by name. Use it for a runtime in a
   * home directory or in node_modules, such as `{ node: process.execPath }`.
   */
  readonly programs?: Programs;
}

export interface JailDescription {
  readonly memory: "watch and cgroup v1" | "watch and cgroup v2" | "watch and rlimit";
  readonly cpus: "cgroup v1" | "cgroup v2" | "affinity, whole cores";
  readonly filter: "perl";
  readonly uid: "one per session" | "the worker's";
}

export interface JailSandbox extends Sandbox {
  readonly kind: "jail";
  /** How this machine enforces the limits, for doctor. */
  describe(): JailDescription;
}

/** Throws a SandboxError when this machine cannot run a jail. */
export async function createJailSandbox(options: JailOptions): Promise<JailSandbox> {
  const host = await detectHost(options.host);
  await proveNamespaces(host);
  const directory = new SessionDirectory(options.root);
  let etc: Promise<Buffer> | undefined;
  const leases = new LeaseKeeper((id) => renewLease(directory, id));
  const jail: Jail = {
    host,
    directory,
    programs: await neutralPrograms(checkPrograms(options.programs ?? {}), neutralPlaces(process.getuid?.() ?? 0)),
    leases,
    etc: () => (etc ??= packEtc()),
  };
  return {
    kind: "jail",
    open: async (spec, { signal: abort } = {}) => {
      const session = await openSession(jail, spec, abort);
      leases.keep(spec.id);
      return session;
    },
    list: () => listSessions(jail),
    remove: async (id) => removeSession(jail, checkSessionId(id)),
    thinWalls: async () => (host.cgroups === undefined ? [noCgroup] : []),
    identity: async () =>
      JSON.stringify([
        host.isRoot,
        process.getuid?.(),
        host.tools,
        host.cgroups ?? null,
        host.architecture,
        options.root,
      ]),
    close: async () => leases.close(),
    describe: () => {
      const cgroup = host.cgroups === undefined ? undefined : (`cgroup v${host.cgroups.version}` as const);
      return {
        memory: cgroup === undefined ? "watch and rlimit" : `watch and ${cgroup}`,
        cpus: cgroup ?? "affinity, whole cores",
        filter: "perl",
        uid: host.isRoot ? "one per session" : "the worker's",
      };
    },
  };
}

function checkPrograms(programs: Programs): Programs {
  for (const [name, path] of Object.entries(programs)) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/.test(name) || !isAbsolute(path)) throw programInvalid(name, path);
  }
  return programs;
}

async function proveNamespaces(host: JailHost): Promise<void> {
  const child = startLaunch(trialLaunch(host, host.isRoot ? FIRST_UID + randomInt(UIDS) : undefined), [
    "pipe",
    "pipe",
    "pipe",
  ]);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  child.stdin?.on("error", () => {}).end();
  const code = await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  if (code !== 0) throw translateLaunchFailure(said);
}

/** Appends a line that the holder reads. Creates no file if the session is gone. */
async function renewLease(directory: SessionDirectory, id: string): Promise<void> {
  const events = await openFile(directory.eventsPath(id), fsConstants.O_WRONLY | fsConstants.O_APPEND);
  try {
    await events.write("lease\n");
  } finally {
    await events.close();
  }
}

async function openSession(jail: Jail, spec: SessionSpec, abort?: AbortSignal): Promise<Session> {
  checkSessionSpec(spec);
  const files = await packFiles(spec.files, spec.limits.diskBytes);
  const trees = await packTrees(spec.readOnly ?? [], spec.limits.diskBytes);
  const giveUp = Date.now() + START_MS;
  for (;;) {
    abort?.throwIfAborted();
    const found = await jail.directory.read(spec.id);
    if (isLive(found)) {
      await jail.leases.once(spec.id);
      return new JailSession(jail, found, spec, true);
    }
    if (found === undefined) {
      const made = await makeSession(jail, spec, files, trees);
      if (made !== undefined) return new JailSession(jail, made, spec, false);
    } else if (found.holder !== undefined || !isAlive(found.maker)) {
      await removeSession(jail, spec.id);
    } else if (Date.now() > giveUp) {
      throw sessionBusy(spec.id);
    } else {
      await pause(5);
    }
  }
}

/** The process that lists sessions also renews their leases: the cleanup removes unwanted sessions, and the others must stay alive. */
async function listSessions({ directory, leases }: Jail): Promise<ListedSession[]> {
  const records = await directory.list();
  await Promise.all(records.filter(isLive).map(({ id }) => leases.once(id)));
  return records.map((record) => ({
    id: record.id,
    labels: record.labels,
    status: isLive(record) ? "live" : record.holder === undefined && isAlive(record.maker) ? "starting" : "dead",
  }));
}
