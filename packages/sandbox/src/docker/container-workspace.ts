// A container's workspace for checkpoints: its files are in its own memory, so programs of the image look at them, in the launcher's
// shell or in execs of their own, as the session's user. The image cannot be written to, and nothing of the session's environment
// enters an exec.

import { randomBytes } from "node:crypto";
import type Docker from "dockerode";
import { byLetter, type Entry, type Manifest, PLACES } from "../checkpoint/manifest.ts";
import { MAX_ENTRIES } from "../checkpoint/read-places.ts";
import { readTar } from "../checkpoint/tar-archive.ts";
import { tooLarge, type WorkspaceAccess } from "../checkpoint/workspace.ts";
import { removalList, WRITE_PLACES } from "../checkpoint/write-places-script.ts";
import { Demultiplexer } from "./demultiplex.ts";
import type { EngineHost } from "./engine-host.ts";
import type { Launcher } from "./launcher.ts";
import { lookLine, parseLauncherReport } from "./launcher-script.ts";
import { KILL_OTHERS } from "./look-script.ts";
import { filesFailed, killFailed, sessionLost, translateEngineError } from "./translate-engine-error.ts";

const POLL_MS = 5;
const TOOL_MS = 120_000;
/** The list of the most entries with names of the usual length. */
const MAX_LIST_BYTES = MAX_ENTRIES * 200;

export interface ContainerPlace {
  readonly id: string;
  readonly host: EngineHost;
  readonly container: Docker.Container;
  readonly uid: number;
}

/** `launcher`: started when it is asked for, and again after all that runs was ended. */
export function workspaceOf(place: ContainerPlace, launcher: () => Promise<Launcher>): WorkspaceAccess {
  // The list names the processes too.
  let processes: Promise<readonly string[]> | undefined;
  const look = async () => {
    const { code, stdout, stderr } = await ask(place, await launcher(), "look", undefined, MAX_LIST_BYTES);
    // Something that went away meanwhile is no failure; something that may not be read is.
    if (code !== 0 && /Permission denied|Input\/output/.test(stderr)) throw filesFailed(place.id, stderr);
    if (code !== 0 && code !== 1) throw filesFailed(place.id, stderr);
    const looked = parseLook(stdout);
    if (looked === undefined) throw filesFailed(place.id, "its list makes no sense");
    return looked;
  };
  return {
    instance: place.container.id,
    list: async () => {
      const looked = await look();
      processes = Promise.resolve(looked.processes);
      return looked.manifest;
    },
    processes: async () => {
      const known = processes;
      processes = undefined;
      return (await known) ?? (await look()).processes;
    },
    readsCheaply: false,
    read: async (paths, maxBytes) => {
      const list = removalList([...paths]);
      const { code, stdout, stderr } = await ask(place, await launcher(), "pack", list, maxBytes);
      // 1: a file changed while it was read, which a background process may always do.
      if (code !== 0 && code !== 1) throw filesFailed(place.id, stderr);
      return [...readTar(stdout)];
    },
    write: async (remove, tar) => {
      const list = removalList(remove);
      const words = ["/", String(list.length), String(tar.length), ...PLACES];
      const input = Buffer.concat([list, tar]);
      const { code, stderr } = await runTool(place, WRITE_PLACES, words, input, 64 * 1024, "put the workspace back");
      if (code !== 0) throw filesFailed(place.id, stderr);
    },
    killAllBut: async (keep) => {
      processes = undefined;
      const { code } = await runTool(place, KILL_OTHERS, [...keep], undefined, 64 * 1024, "end a command");
      if (code === 0) return;
      await place.container.kill().catch(() => {});
      throw killFailed(place.id);
    },
  };
}

/** Undefined when it is none of ours: what runs in the session may disturb a program of its own user. */
function parseLook(stdout: Buffer): { manifest: Manifest; processes: readonly string[] } | undefined {
  const [at = "0", ...rest] = stdout.toString("latin1").split("\0");
  const border = rest.indexOf("");
  if (!/^\d+$/.test(at) || border < 0 || rest.at(-1) !== "") return undefined;
  const entries = new Map<string, Entry>();
  for (const line of rest.slice(border + 1)) {
    const [letter = "", mode = "", size = "", inode = "", changed = ""] = line.split(" ", 5);
    const type = byLetter.get(letter);
    if (type === undefined) continue;
    if (![mode, size].every((number) => /^\d+$/.test(number)) || !/^\d+(\.\d+)?$/.test(changed)) return undefined;
    const path = line.slice([letter, mode, size, inode, changed].reduce((sum, word) => sum + word.length + 1, 0));
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

interface ToolResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

async function ask(
  { id }: ContainerPlace,
  launcher: Launcher,
  verb: "look" | "pack",
  input: Uint8Array | undefined,
  maxBytes: number,
): Promise<ToolResult> {
  const nonce = randomBytes(16).toString("hex");
  const chunks: Buffer[] = [];
  let size = 0;
  let tail = "";
  const before = launcher.report.length;
  launcher.onOutput = (chunk) => {
    size += chunk.length;
    tail = (tail + chunk.toString("latin1", Math.max(0, chunk.length - nonce.length))).slice(-nonce.length);
    if (size > maxBytes + nonce.length) launcher.close();
    else chunks.push(Buffer.from(chunk));
  };
  const timer = setTimeout(() => launcher.close(), TOOL_MS);
  launcher.write(lookLine(verb, input?.length ?? 0, nonce));
  if (input !== undefined) launcher.write(input);
  const codeOf = (report: string) => parseLauncherReport(nonce, report).unpacked;
  // Output and report come on two ways: the nonce ends either.
  const isAll = () => tail === nonce;
  await launcher.until((report) => codeOf(report) !== undefined && isAll());
  clearTimeout(timer);
  launcher.onOutput = () => {};
  if (size > maxBytes + nonce.length) throw tooLarge(maxBytes);
  const code = codeOf(launcher.report);
  if (code === undefined || !isAll()) throw sessionLost(id);
  const stdout = Buffer.concat(chunks).subarray(0, -nonce.length);
  return { code, stdout, stderr: launcher.report.slice(before).replaceAll(nonce, "") };
}

async function runTool(
  { id, host, container, uid }: ContainerPlace,
  script: string,
  words: readonly string[],
  input: Uint8Array | undefined,
  maxBytes: number,
  act: string,
): Promise<ToolResult> {
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
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
    const timer = setTimeout(() => stream.destroy(), TOOL_MS);
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
    if (size > maxBytes) throw tooLarge(maxBytes);
    for (;;) {
      const { Running, ExitCode } = await exec.inspect();
      if (!Running && ExitCode !== null) {
        // The end of a container ends its execs with 137.
        if (ExitCode === 137 && !(await container.inspect()).State.Running) throw sessionLost(id);
        return { code: ExitCode, stdout: Buffer.concat(chunks), stderr };
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } catch (error) {
    throw translateEngineError(error, { host: host.address, act, session: id });
  }
}
