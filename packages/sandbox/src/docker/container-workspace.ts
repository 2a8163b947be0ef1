// Reads and writes a container's files for checkpoints. The files are in the container's own memory, so programs of the image read them as
// the session's user, in the launcher's shell or in their own execs. The image is read-only, and no variable of the session's environment
// enters an exec.

import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import { KILLED } from "../believe-exit-code.ts";
import { type Look, tooMany, tooManyBytes, tooSlow } from "../checkpoint/look.ts";
import { byLetter, type Entry, type Manifest, PLACES } from "../checkpoint/manifest.ts";
import { readTar, type TarEntry } from "../checkpoint/tar-archive.ts";
import type { WorkspaceAccess } from "../checkpoint/workspace.ts";
import { pathList, removals, WRITE_PLACES } from "../checkpoint/write-places-script.ts";
import type { SandboxError } from "../sandbox-error.ts";
import { Demultiplexer } from "./demultiplex.ts";
import type { EngineHost } from "./engine-host.ts";
import type { Launcher } from "./launcher.ts";
import { type LookVerb, lookLine, parseLauncherReport } from "./launcher-script.ts";
import { KILL_OTHERS } from "./look-script.ts";
import { filesFailed, sessionLost, translateEngineError } from "./translate-engine-error.ts";

const POLL_MS = 5;
const TOOL_MS = 120_000;
/** How long a program in the container may exceed its own clock before it counts as stopped. */
const ANSWER_MS = 3_000;
/** The size of a list entry without its path. */
const LINE_BYTES = 100;

export interface ContainerPlace {
  readonly id: string;
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
  /** Ends the session, because its processes block ours. Returns the error that reports this. */
  readonly endSession: () => Promise<SandboxError>;
}

/** `launcher`: starts a launcher on the first call, and a new one after all processes were ended. */
export function workspaceOf(place: ContainerPlace, launcher: () => Promise<Launcher>): WorkspaceAccess {
  // The list contains the processes too.
  let processes: readonly string[] | undefined;
  const list = async (verb: "look" | "processes", look: Look) => {
    const most = look.maxListBytes + look.maxEntries * LINE_BYTES;
    const { code, stdout, stderr } = await ask(place, await launcher(), verb, undefined, most, look);
    if (code !== 0 && code !== 1) throw filesFailed(place.id, stderr);
    // Check first whether there are too many entries. Whether the program tried the rest as well depends only on timing.
    const looked = await parseLook(stdout, look);
    // A file that disappeared meanwhile is not an error; a file that may not be read is.
    if (code !== 0 && /Permission denied|Input\/output/.test(stderr)) throw filesFailed(place.id, stderr);
    if (looked === undefined) throw filesFailed(place.id, "its list makes no sense");
    return looked;
  };
  return {
    instance: place.container.id,
    list: async (look) => {
      const looked = await list("look", look);
      processes = looked.processes;
      return looked.manifest;
    },
    processes: async (look) => {
      const known = processes;
      processes = undefined;
      // Listing processes does not scan the workspace, so its size does not matter.
      return known ?? (await list("processes", look)).processes;
    },
    readsCheaply: false,
    read: async (paths, maxBytes, look) => {
      const { code, stdout, stderr } = await ask(place, await launcher(), "pack", pathList(paths), maxBytes, look);
      // 1: a file changed while it was read. A background process may do this at any time.
      if (code !== 0 && code !== 1 && !onlyWentAway(stderr)) throw filesFailed(place.id, stderr);
      const found: TarEntry[] = [];
      for (const entry of readTar(stdout)) {
        await look.pace();
        found.push(entry);
      }
      return found;
    },
    write: async (remove, tar) => {
      const { word, list } = removals(remove);
      const words = ["/", word, String(tar.length), ...PLACES];
      const input = Buffer.concat([list, tar]);
      const { code, stderr } = await runTool(place, WRITE_PLACES, words, input, 64 * 1024, "put the workspace back");
      if (code === KILLED) throw await place.endSession();
      if (code !== 0) throw filesFailed(place.id, stderr);
    },
    killAllBut: async (keep) => {
      processes = undefined;
      const { code } = await runTool(
        place,
        KILL_OTHERS,
        [...keep],
        undefined,
        64 * 1024,
        "end a command",
        place.host.bounds.killMs,
      );
      // This program was killed too, or it cannot end the other processes.
      if (code !== 0) throw await place.endSession();
    },
  };
}

/** Returns undefined if the text is not from our program: processes of the session have the same user and may disturb it. */
export async function parseLook(
  stdout: Buffer,
  look: Look,
): Promise<{ manifest: Manifest; processes: readonly string[] } | undefined> {
  const [at = "0", ...rest] = stdout.toString("latin1").split("\0");
  const border = rest.indexOf("");
  if (!/^\d+$/.test(at) || border < 0 || rest.at(-1) !== "") return undefined;
  const entries = new Map<string, Entry>();
  look.begin();
  for (const line of rest.slice(border + 1)) {
    await look.pace();
    const [letter = "", mode = "", size = "", inode = "", changed = ""] = line.split(" ", 5);
    const type = byLetter.get(letter);
    if (type === undefined) continue;
    if (![mode, size].every((number) => /^\d+$/.test(number)) || !/^\d+(\.\d+)?$/.test(changed)) return undefined;
    const path = line.slice([letter, mode, size, inode, changed].reduce((sum, word) => sum + word.length + 1, 0));
    look.count(path, depthOf(path));
    const [seconds = "0", fraction = ""] = changed.split(".");
    entries.set(path, {
      type,
      mode: Number.parseInt(mode, 8),
      size: type === "file" ? Number(size) : 0,
      inode,
      changed: BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9)),
    });
  }
  return { manifest: { at: BigInt(at), entries }, processes: rest.slice(0, border) };
}

/** Whether tar only complains that listed files no longer exist or changed. */
function onlyWentAway(stderr: string): boolean {
  const lines = stderr.split("\n").filter((line) => line.startsWith("tar: "));
  return lines.length > 0 && lines.every((line) => wentAway.test(line));
}

const wentAway =
  /: (File removed before we read it|Cannot \w+: No such file or directory|file changed as we read it|File shrank by .*)$|^tar: Exiting with failure status due to previous errors$/s;

/** The depth below the writable folder that contains the path. */
function depthOf(path: string): number {
  const place = PLACES.find((one) => path.startsWith(`${one}/`)) ?? "";
  return path.slice(place.length).split("/").length - 1;
}

interface ToolResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

async function ask(
  place: ContainerPlace,
  launcher: Launcher,
  verb: LookVerb,
  input: Uint8Array | undefined,
  maxBytes: number,
  look: Look,
): Promise<ToolResult> {
  const nonce = randomBytes(16).toString("hex");
  const chunks: Buffer[] = [];
  let size = 0;
  let tail = "";
  let late = false;
  const before = launcher.report.length;
  const { pulse } = place.host;
  const stalledBefore = pulse.stalledMs();
  launcher.onOutput = (chunk) => {
    size += chunk.length;
    tail = (tail + chunk.toString("latin1", Math.max(0, chunk.length - nonce.length))).slice(-nonce.length);
    if (size > maxBytes + nonce.length) launcher.close();
    else chunks.push(Buffer.from(chunk));
  };
  const timer = setTimeout(() => {
    late = true;
    launcher.close();
  }, look.leftMs + ANSWER_MS);
  launcher.write(lookLine(verb, input?.length ?? 0, nonce, look));
  if (input !== undefined) launcher.write(input);
  const codeOf = (report: string) => parseLauncherReport(nonce, report).unpacked;
  // Output and report arrive on two streams, and the nonce ends both.
  const isAll = () => tail === nonce;
  await launcher.until((report) => codeOf(report) !== undefined && isAll());
  clearTimeout(timer);
  launcher.onOutput = () => {};
  if (size > maxBytes + nonce.length) throw verb === "pack" ? tooManyBytes(maxBytes) : tooMany(look.maxEntries);
  const code = codeOf(launcher.report);
  if (late) {
    // Was the engine slow, or the program?
    await pulse.confirm();
    if (pulse.stalledMs() > stalledBefore) throw pulse.unreachable();
    await endWhatLooks(place);
    throw tooSlow(look.maxMs);
  }
  if (code === undefined || !isAll()) throw sessionLost(place.id);
  if (code === 124) throw tooSlow(look.maxMs);
  const stdout = Buffer.concat(chunks).subarray(0, -nonce.length);
  return { code, stdout, stderr: launcher.report.slice(before).replaceAll(nonce, "") };
}

/** A program that ignores its clock was stopped by other processes of the session. Those are ended, so that the next exec can run. */
async function endWhatLooks(place: ContainerPlace): Promise<void> {
  const { killMs } = place.host.bounds;
  const { code } = await runTool(place, KILL_OTHERS, [], undefined, 64 * 1024, "end a look", killMs);
  if (code !== 0) throw await place.endSession();
}

/** The result's `code` is null if the program did not end in time. */

async function runTool(
  { id, host, container, uid }: ContainerPlace,
  script: string,
  words: readonly string[],
  input: Uint8Array | undefined,
  maxBytes: number,
  act: string,
  maxMs = TOOL_MS,
): Promise<ToolResult> {
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  let late = false;
  try {
    const exec = await container.exec({
      Cmd: ["/usr/bin/env", "-i", "/bin/bash", "--noprofile", "--norc", "-c", script, "bash", ...words],
      User: `${uid}:${uid}`,
      WorkingDir: "/",
      AttachStdin: input !== undefined,
      AttachStdout: true,
      AttachStderr: true,
    });
    const stream = await exec.start({ hijack: true, stdin: input !== undefined });
    const timer = setTimeout(() => {
      late = true;
      stream.destroy();
    }, maxMs);
    const demultiplexer = new Demultiplexer((name, chunk) => {
      if (name === "stderr") {
        if (stderr.length < 4000) stderr += chunk.toString("latin1");
      } else {
        size += chunk.length;
        if (size > maxBytes) stream.destroy();
        else chunks.push(Buffer.from(chunk));
      }
    });
    if (input !== undefined) stream.write(input);
    await new Promise<void>((resolve) => {
      stream.on("data", (chunk: Buffer) => demultiplexer.push(chunk));
      stream.on("end", resolve).on("close", resolve).on("error", resolve);
    });
    clearTimeout(timer);
    if (size > maxBytes) throw tooManyBytes(maxBytes);
    if (late) {
      await host.pulse.confirm();
      return { code: null, stdout: Buffer.concat(chunks), stderr };
    }
    const endedAt = performance.now();
    for (;;) {
      const { Running, ExitCode } = await exec.inspect();
      if (!Running && ExitCode !== null) {
        // When a container ends, its execs end with 137.
        if (ExitCode === 137 && !(await container.inspect()).State.Running) throw sessionLost(id);
        return { code: ExitCode, stdout: Buffer.concat(chunks), stderr };
      }
      if (performance.now() - endedAt > host.bounds.callMs) throw host.late(act);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    throw translateEngineError(error, { host: host.address, act, session: id });
  }
}
