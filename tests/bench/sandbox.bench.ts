// How fast a session's command runs, against the engine's own bare commands, measured in the same rounds, interleaved.
//   npm run bench:sandbox [-- --rounds 20]
// And what a checkpoint costs beside a command, on Docker and in the jail: a look that finds nothing, and one that finds a file.
// Goals: warm (a pooled container, files in, first command done) at most 1.3 times `docker exec`; cold at most 1.5 times
// `docker run`. A judge session, open and first command done, at most twice an ordinary one, in Docker and in the jail.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Docker from "dockerode";
import { buildImage } from "../../infra/images/sandbox/build-offline.ts";
import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { createJailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { type JudgeSession, openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import type { Sandbox, Session } from "../../packages/sandbox/src/port.ts";
import { findDockerEngine } from "../support/docker-engine-server.ts";
import { judgeSpec } from "../support/judge-spec.ts";
import { sessionSpec } from "../support/session-spec.ts";

const { values } = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== "--sandbox"),
  options: { rounds: { type: "string", default: "20" } },
});
const rounds = Number(values.rounds);
const engine = await findDockerEngine(fileURLToPath(new URL("../../.cache", import.meta.url)));
const samples = new Map<string, number[]>();

async function time(name: string, act: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await act();
  samples.set(name, [...(samples.get(name) ?? []), performance.now() - startedAt]);
}

async function cli(...args: string[]): Promise<void> {
  const [code] = await once(spawn("docker", ["--host", engine.host, ...args], { stdio: "ignore" }), "exit");
  if (code !== 0) throw new Error(`docker ${args.join(" ")} ended with ${code}`);
}

async function measureCheckpoint(kind: string, session: Session): Promise<void> {
  const allowed = { maxBytes: 10_000_000 };
  const before = (await session.changes(null, allowed)).snapshot;
  await time(`${kind}: checkpoint, nothing changed`, () => session.changes(before, allowed));
  await session.run({ kind: "shell", text: "echo new > changed" });
  await time(`${kind}: checkpoint, one file changed`, () => session.changes(before, allowed));
}

async function measureJail(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "markmill-bench-"));
  const jail = await createJailSandbox({ root });
  for (let round = 0; round < rounds; round += 1) {
    const session = await jail.open(sessionSpec(`jail-${round}`));
    await session.run({ kind: "shell", text: "true" });
    await time("jail: next command", () => session.run({ kind: "shell", text: "true" }));
    await measureCheckpoint("jail", session);
    await session.end();
  }
  await jail.close();
  await rm(root, { recursive: true, force: true });
}

try {
  await measureJail();
  const { tag: image } = await buildImage("tiny", engine.host);
  const docker = new Docker({ socketPath: engine.host.replace("unix://", "") });
  const bare = await docker.createContainer({
    Image: image,
    Cmd: ["sleep", "3600"],
    HostConfig: { NetworkMode: "none", AutoRemove: true, Init: true },
  });
  await bare.start();
  const execApi = async () => {
    const exec = await bare.exec({ Cmd: ["true"], AttachStdout: true, AttachStderr: true });
    const stream = await exec.start({});
    stream.resume();
    await once(stream, "end");
    await exec.inspect();
  };

  const cold = await createDockerSandbox({ hosts: [engine.host], images: [image] });
  const limits = sessionSpec("any").limits;
  const labels = { app: "markmill-bench", worker: "bench" };
  const warm = await createDockerSandbox({ hosts: [engine.host], images: [image], pool: { size: 1, limits, labels } });

  const jailRoot = await mkdtemp(join(tmpdir(), "markmill-bench-"));
  const jail = await createJailSandbox({ root: jailRoot });
  const judged = async (name: string, sandbox: Sandbox, more: { image?: string }) => {
    let judge: JudgeSession | undefined;
    await time(`${name}: open and first command`, async () => {
      judge = await openJudge(sandbox, judgeSpec(more));
      await judge.run({ kind: "shell", text: "true" });
    });
    await time(`${name}: first guest`, async () => judge?.run({ kind: "shell", text: "guest true" }));
    await time(`${name}: next guest`, async () => judge?.run({ kind: "shell", text: "guest true" }));
    await judge?.end();
  };

  for (let round = 0; round < rounds; round += 1) {
    while (warm.warm() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await time("docker exec, API", execApi);
    await time("docker exec, CLI", () => cli("exec", bare.id, "true"));
    const warmId = `warm-${round}`;
    let session: Session | undefined;
    await time("session, warm: open and first command", async () => {
      session = await warm.open(sessionSpec(warmId));
      await session.run({ kind: "shell", text: "true" });
    });
    await time("session: next command", async () => session?.run({ kind: "shell", text: "true" }));
    if (session !== undefined) await measureCheckpoint("docker", session);
    await warm.remove(warmId);
    while (warm.warm() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await time("docker run --rm, CLI", () => cli("run", "--rm", "--network", "none", image, "true"));
    const coldId = `cold-${round}`;
    await time("session, cold: open and first command", async () => {
      const made = await cold.open(sessionSpec(coldId));
      await made.run({ kind: "shell", text: "true" });
    });
    await time("session: end", () => cold.remove(coldId));
    await judged("judge, cold", cold, { image });
    const jailId = `jail-${round}`;
    await time("jail session: open and first command", async () => {
      const made = await jail.open(sessionSpec(jailId));
      await made.run({ kind: "shell", text: "true" });
    });
    await jail.remove(jailId);
    await judged("jail judge", jail, {});
  }
  await warm.close();
  await cold.close();
  await rm(jailRoot, { recursive: true, force: true });
  await bare.remove({ force: true });

  const quantile = (name: string, q: number) => {
    const sorted = (samples.get(name) ?? []).toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
  };
  for (const name of samples.keys()) {
    console.log(
      `${name.padEnd(42)} p50 ${quantile(name, 0.5).toFixed(0).padStart(5)} ms   p95 ${quantile(name, 0.95).toFixed(0).padStart(5)} ms`,
    );
  }
  const ratio = (name: string, base: string) => (quantile(name, 0.5) / quantile(base, 0.5)).toFixed(2);
  const warmName = "session, warm: open and first command";
  console.log(
    `warm / docker exec: ${ratio(warmName, "docker exec, CLI")} (CLI), ${ratio(warmName, "docker exec, API")} (API); goal 1.3`,
  );
  console.log(
    `next command / docker exec: ${ratio("session: next command", "docker exec, CLI")} (CLI), ${ratio("session: next command", "docker exec, API")} (API)`,
  );
  const first = "open and first command";
  console.log(
    `judge / session: ${ratio(`judge, cold: ${first}`, `session, cold: ${first}`)} (Docker), ${ratio(`jail judge: ${first}`, `jail session: ${first}`)} (jail); goal 2`,
  );
  console.log(`cold / docker run: ${ratio("session, cold: open and first command", "docker run --rm, CLI")}; goal 1.5`);
} finally {
  await engine.stop();
}
