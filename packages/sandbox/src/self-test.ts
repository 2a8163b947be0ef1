// Tries to break out of a sandbox, through its own port, before a worker trusts it. Invariants:
// 1. The controls prove the test setup: a harmless command works, the host can read its file and reach its server, and system calls can be
//    made. Without them no probe counts.
// 2. The verdict is a pure function of the results: safe only when every control held and every probe was refused.

import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJudge } from "./judge/judge-session.ts";
import type { Limits } from "./limits.ts";
import type { Sandbox, Session } from "./port.ts";
import { fileProbes } from "./probes/file-probes.ts";
import { runJudgeProbes } from "./probes/judge-probes.ts";
import { neighbourProbes, plantNeighbour } from "./probes/neighbour-probes.ts";
import { networkProbes } from "./probes/network-probes.ts";
import { type Lab, type Probe, type ProbeResult, shell } from "./probes/probe.ts";
import { resourceProbes } from "./probes/resource-probes.ts";
import { plantSharedMemory, runSyscallControl, runSyscallProbes } from "./probes/syscall-probes.ts";
import { verdictProbes } from "./probes/verdict-probes.ts";
import { SandboxError } from "./sandbox-error.ts";
import { baseEnvironment } from "./session-script.ts";

export interface SelfTestReport {
  readonly controls: readonly ControlResult[];
  readonly probes: readonly ProbeResult[];
  readonly durationMs: number;
}

interface ControlResult {
  readonly name: string;
  readonly held: boolean;
  readonly evidence: string;
}

export interface SelfTestVerdict {
  readonly safe: boolean;
  /** One sentence for each control that did not hold and each probe that was not refused. */
  readonly failures: readonly string[];
}

export const MIN_PROBES = 25;

export function judgeSelfTest({ controls, probes }: Pick<SelfTestReport, "controls" | "probes">): SelfTestVerdict {
  const failures = [
    ...(controls.length === 0 ? ["No control was run."] : []),
    ...controls.filter(({ held }) => !held).map(({ name, evidence }) => `Control "${name}" did not hold: ${evidence}.`),
    ...(probes.length < MIN_PROBES
      ? [`Only ${probes.length} probes were run, at least ${MIN_PROBES} are needed.`]
      : []),
    ...probes
      .filter(({ refused }) => !refused)
      .map(({ name, evidence }) => `Probe "${name}" was not refused: ${evidence}.`),
  ];
  return { safe: failures.length === 0, failures };
}

const MIB = 1024 * 1024;
const limits: Limits = {
  memoryBytes: 128 * MIB,
  cpus: 1,
  pids: 64,
  diskBytes: 32 * MIB,
  wallMs: 30_000,
  cpuMs: 20_000,
  silenceMs: 20_000,
  outputBytes: 64 * 1024,
};
const SESSION_MS = 5 * 60_000;

export interface SelfTestOptions {
  /** Docker: the image to test with. */
  readonly image?: string;
  readonly worker?: string;
}

export async function runSelfTest(sandbox: Sandbox, options: SelfTestOptions = {}): Promise<SelfTestReport> {
  const startedAt = performance.now();
  const prefix = `selftest-${randomBytes(5).toString("hex")}`;
  const opened: string[] = [];
  const open = async (name: string): Promise<Session> => {
    const id = `${prefix}-${name}`;
    opened.push(id);
    return await sandbox.open({
      id,
      files: { kind: "list", files: [] },
      limits,
      environment: { PROBE: "1" },
      labels: {
        app: "markmill",
        run: "self-test",
        worker: options.worker ?? `pid-${process.pid}`,
        created: new Date().toISOString(),
        deadline: new Date(Date.now() + SESSION_MS).toISOString(),
      },
      network: "none",
      ...(options.image === undefined ? {} : { image: options.image }),
    });
  };
  const host = await prepareHost();
  try {
    const neighbourToken = `neighbour${randomBytes(8).toString("hex")}`;
    const [session, neighbour] = [await open("attacker"), await open("neighbour")];
    const lab: Lab = {
      session,
      neighbour,
      neighbourToken,
      open,
      list: () => sandbox.list(),
      canary: host.canary,
      hostPort: host.port,
      environmentNames: [...Object.keys(baseEnvironment), "PROBE"],
      limits,
    };
    await shell(neighbour, plantSharedMemory());
    const planted = await shell(neighbour, plantNeighbour(neighbourToken));
    const controls = [...(await host.controls()), ...(await sessionControls(lab, planted.output))];
    const probes = [
      ...(await runAll(lab, fileProbes)),
      ...(await runAll(lab, networkProbes)),
      ...(await runSyscallProbes(lab)),
      ...(await runAll(lab, verdictProbes)),
      ...(await runAll(lab, resourceProbes)),
      ...(await runAll(lab, neighbourProbes)),
    ];
    const judged = await runJudgeProbes({
      token: `judge${randomBytes(8).toString("hex")}`,
      diskBytes: limits.diskBytes,
      openJudge: (submission, files) =>
        openJudge(sandbox, {
          run: prefix,
          submission: { kind: "list", files: submission },
          files,
          limits,
          guests: limits,
          labels: { app: "markmill", worker: options.worker ?? `pid-${process.pid}` },
          ...(options.image === undefined ? {} : { image: options.image }),
        }),
    });
    controls.push(judged.control);
    probes.push(...judged.probes);
    return { controls, probes, durationMs: performance.now() - startedAt };
  } finally {
    for (const id of opened) await sandbox.remove(id);
    await host.close();
  }
}

async function runAll(lab: Lab, probes: readonly Probe[]): Promise<ProbeResult[]> {
  const results: ProbeResult[] = [];
  for (const probe of probes) {
    const finding = await probe.run(lab).catch((error: unknown) => {
      // An engine that does not answer proves nothing about its isolation. The test is repeated when the engine answers.
      if (error instanceof SandboxError && error.code === "SANDBOX_ENGINE_UNREACHABLE") throw error;
      return {
        refused: false,
        evidence: `the probe failed: ${error instanceof Error ? error.message : String(error)}`,
      };
    });
    results.push({ name: probe.name, ...finding });
  }
  return results;
}

async function sessionControls(lab: Lab, planted: string): Promise<ControlResult[]> {
  const harmless = await shell(lab.session, "echo works >file && cat file && rm file");
  return [
    {
      name: "a harmless command works",
      held: harmless.output === "works\n" && harmless.exitCode === 0,
      evidence: harmless.output,
    },
    { name: "the neighbour is set up", held: planted.includes("planted"), evidence: planted },
    {
      name: "system calls can be tried",
      held: await runSyscallControl(lab),
      evidence: "getppid by perl or python3 in the sandbox",
    },
  ];
}

/** Creates a file that every user may read, and a server on the loopback. A sandbox without isolation could reach both. */
async function prepareHost() {
  const token = `canary${randomBytes(8).toString("hex")}`;
  const directory = await mkdtemp(join(tmpdir(), "markmill-canary-"));
  const path = join(directory, "canary");
  await chmod(directory, 0o755);
  await writeFile(path, `${token}\n`, { mode: 0o644 });
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(`${token}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    canary: { path, token },
    port,
    controls: async (): Promise<ControlResult[]> => [
      {
        name: "the host's file can be read on the host",
        held: (await readFile(path, "utf8")).includes(token),
        evidence: path,
      },
      {
        name: "the host's server answers on the host",
        held: (await greet(port)).includes(token),
        evidence: `port ${port}`,
      },
    ],
    close: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function greet(port: number): Promise<string> {
  return await new Promise((resolve) => {
    let text = "";
    connect(port, "127.0.0.1")
      .setEncoding("utf8")
      .on("data", (chunk) => {
        text += chunk;
      })
      .on("error", () => resolve(text))
      .on("close", () => resolve(text));
  });
}
