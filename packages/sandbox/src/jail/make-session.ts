// Creates the namespaces of a session and ends them. Invariant: a session is recorded with its holder, and can be attached to, only after
// its files are unpacked. kill -9 before that leaves a claim of a dead process. The next `open` or the cleanup removes the claim.

import { hash, randomInt } from "node:crypto";
import { closeSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { isAlive, ownIdentity, readProcessStat } from "@markmill/base";
import { refusedUnpacked } from "../pack-files.ts";
import type { SessionSpec } from "../port.ts";
import { cgroupFor, createCgroup, removeCgroup } from "./cgroup.ts";
import { FIRST_UID, GRACE_MS, type Jail, type LiveRecord, pause, START_MS, UIDS } from "./jail.ts";
import { JAIL_ROOT_SCRIPT } from "./jail-root-script.ts";
import { holderLaunch } from "./launch.ts";
import { runTool, startLaunch, toolFailure } from "./run-tool.ts";
import type { Holder, SessionRecord } from "./session-directory.ts";
import { endLaunchers, isHolding, signal } from "./session-processes.ts";
import { killFailed, translateLaunchFailure } from "./translate-host-error.ts";

const REMOVE_MS = 30_000;

/** Returns undefined when another process claimed the id first. */
export async function makeSession(
  jail: Jail,
  spec: SessionSpec,
  files: Uint8Array,
  trees: Uint8Array,
): Promise<LiveRecord | undefined> {
  const { host, directory } = jail;
  const number = randomInt(UIDS);
  const record: SessionRecord = {
    id: spec.id,
    labels: spec.labels,
    limits: spec.limits,
    number,
    maker: ownIdentity(),
    ...(host.isRoot ? { uid: FIRST_UID + number } : {}),
    ...(host.cgroups === undefined ? {} : { cgroup: cgroupFor(host.cgroups, cgroupName(number, spec.id)) }),
  };
  if (!(await directory.claim(record))) return undefined;
  try {
    if (record.cgroup !== undefined) await createCgroup(record.cgroup, record.limits);
    const places = (spec.readOnly ?? []).map(({ at }) => at);
    return await startHolder(jail, record, { trees: places, scratch: spec.scratch ?? "" }, async (live) => {
      await unpack(jail, live, files, "files");
      await unpack(jail, live, trees, "trees");
    });
  } catch (error) {
    await removeSession(jail, spec.id);
    throw error;
  }
}

/** Commands can read the name of their cgroup, so it contains nothing about the run. */
function cgroupName(number: number, id: string): string {
  return `markmill-${number}-${hash("sha256", id, "hex").slice(0, 12)}`;
}

/** The session is recorded, and so can be attached to, only after `prepare`: its files are unpacked before any other process can run. */
async function startHolder(
  { host, directory, programs, etc: packed }: Jail,
  record: SessionRecord,
  { trees, scratch }: { readonly trees: readonly string[]; readonly scratch: string },
  prepare: (live: LiveRecord) => Promise<void>,
): Promise<LiveRecord> {
  const seconds = Math.max(1, Math.ceil((Date.parse(record.labels.deadline) - Date.now()) / 1000));
  const events = openSync(directory.eventsPath(record.id), "a+", 0o600);
  const etc = await packed();
  const shape = { seconds, programs, trees, scratch, etcBytes: etc.length };
  const child = startLaunch(holderLaunch(host, record, JAIL_ROOT_SCRIPT, shape), ["pipe", events, events]);
  closeSync(events);
  child.stdin?.on("error", () => {});
  child.stdin?.write(etc);
  const ended = new Promise<"ended">((resolve) =>
    child.once("exit", () => resolve("ended")).once("error", () => resolve("ended")),
  );
  const giveUp = Date.now() + START_MS;
  for (;;) {
    const state = await Promise.race([ended, pause(2)]);
    const said = readFileSync(directory.eventsPath(record.id), "utf8");
    const pid = Number(/^pid (\d+)$/m.exec(said)?.[1]);
    const stat = readProcessStat(pid);
    if (/^ready$/m.test(said) && stat !== undefined) {
      const holder: Holder = { pid, startTime: stat.startTime, pidNamespace: readlinkSync(`/proc/${pid}/ns/pid`) };
      const live = { ...record, holder };
      try {
        await prepare(live);
        await directory.write(live);
      } catch (error) {
        signal(pid, "SIGKILL");
        await ended;
        throw error;
      }
      child.stdin?.end("go\n");
      child.unref();
      if (trees.length > 0) await sealed(directory.eventsPath(record.id), ended, giveUp);
      return live;
    }
    if (state === "ended" || Date.now() > giveUp) {
      if (child.pid !== undefined && state !== "ended") signal(child.pid, "SIGKILL");
      if (stat !== undefined) signal(pid, "SIGKILL");
      throw translateLaunchFailure(said.replace(/^(pid \d+|ready)$/gm, ""));
    }
  }
}

/** The holder makes its trees read-only when it receives its line on stdin. No command runs before that. */
async function sealed(events: string, ended: Promise<"ended">, giveUp: number): Promise<void> {
  while (!/^sealed$/m.test(readFileSync(events, "utf8"))) {
    const state = await Promise.race([ended, pause(1)]);
    if (state === "ended" || Date.now() > giveUp) throw translateLaunchFailure(readFileSync(events, "utf8"));
  }
}

async function unpack(jail: Jail, record: LiveRecord, tar: Uint8Array, unpacked: "files" | "trees"): Promise<void> {
  if (tar.length === 0) return;
  const at = unpacked === "files" ? "/workspace" : "/";
  const result = await runTool(
    jail,
    record,
    [jail.host.tools.tar, "-xf", "-", "-C", at, "--no-same-owner"],
    tar,
    64 * 1024,
  );
  if (result.code !== 0)
    throw refusedUnpacked(result.stderr, unpacked) ?? toolFailure(record, "The files could not be unpacked", result);
}

export async function removeSession({ directory, leases }: Jail, id: string): Promise<void> {
  leases.forget(id);
  const record = await directory.read(id);
  if (record === undefined) return await directory.remove(id);
  const { holder } = record;
  if (holder !== undefined) {
    const held = isHolding(holder);
    if (held) signal(holder.pid, "SIGKILL");
    // The kernel lets pid 1 of a namespace end only after every other process in it.
    const killedAt = Date.now();
    while (held && isAlive(holder)) {
      await pause(2);
      if (Date.now() > killedAt + REMOVE_MS) throw killFailed(id);
      // A live launcher waits for its child itself; a launcher that hangs is killed.
      if (Date.now() > killedAt + GRACE_MS) await endLaunchers(holder);
    }
  }
  if (record.cgroup !== undefined) await removeCgroup(record.cgroup);
  await directory.remove(id);
}
