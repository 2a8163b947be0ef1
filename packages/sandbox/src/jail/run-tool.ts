// Starts programs through a launch chain (launch.ts), and runs tools of the host's /usr in a jail, confined like foreign code.

import { type ChildProcess, spawn } from "node:child_process";
import type { SandboxError } from "../sandbox-error.ts";
import type { Jail, LiveRecord } from "./jail.ts";
import { type Launch, toolLaunch } from "./launch.ts";
import { isHolding, signal } from "./session-processes.ts";
import { filesFailed, sessionLost, translateLaunchFailure } from "./translate-host-error.ts";

const TOOL_MS = 120_000;

export interface ToolResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly tooLong: boolean;
}

/** Runs a program of the host's /usr in the jail, confined like foreign code. */
export async function runTool(
  { host }: Jail,
  record: LiveRecord,
  command: readonly string[],
  input: Uint8Array | undefined,
  maxBytes: number,
  timeoutMs = TOOL_MS,
): Promise<ToolResult> {
  const child = startLaunch(toolLaunch(host, record, record.holder.pid, command), ["pipe", "pipe", "pipe"]);
  const kill = () => child.pid !== undefined && signal(-child.pid, "SIGKILL");
  const timer = setTimeout(kill, timeoutMs);
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) kill();
    else chunks.push(chunk);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (stderr.length < 4000) stderr += text;
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("close", resolve).once("error", reject),
  );
  clearTimeout(timer);
  return { code, stdout: Buffer.concat(chunks), stderr, tooLong: size > maxBytes };
}

export function toolFailure(record: LiveRecord, what: string, result: ToolResult): SandboxError {
  if (!isHolding(record.holder)) return sessionLost(record.id);
  if (/^(nsenter|prlimit|unshare|seccomp|cgroup|affinity|uid|capset|bounding set)\b/m.test(result.stderr))
    return translateLaunchFailure(result.stderr);
  return filesFailed(
    `${what} (${result.stderr
      .replace(/[^\x20-\x7e]/g, " ")
      .trim()
      .slice(0, 300)}).`,
  );
}

/** Starts the chain as the leader of its own process group, with an empty environment: it gets no variable of the worker. */
export function startLaunch(launch: Launch, stdio: readonly ("pipe" | number)[]): ChildProcess {
  const [program, ...args] = launch.argv;
  const child = spawn(program, args, {
    cwd: "/",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", ...launch.environment },
    detached: true,
    stdio: [...stdio],
  });
  return child;
}
