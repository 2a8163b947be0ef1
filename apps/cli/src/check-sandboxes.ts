/**
 * Implements 'markmill doctor --sandbox': checks every configured engine, and the jail, separately.
 *
 * C1  An engine that can run no sessions hides no other engine. It is not a failure while commands run on another engine or in the jail.
 * C2  A problem of an engine that can run sessions is a failure, even if the other engines are good, because this engine gets sessions too.
 * C3  SANDBOX=auto chooses Docker as soon as one engine can run sessions. The jail counts only if no engine can.
 */
import { existsSync } from "node:fs";
import { type Config, redactUrl } from "@markmill/config";
import type { EngineStanding, JailDescription, Sandbox } from "@markmill/sandbox";
import { describeError } from "@markmill/stack";
import { formatBytes } from "./amounts.ts";
import { type Finding, judgeRoom } from "./finding.ts";
import { withSandboxToTest } from "./sandbox-to-test.ts";

type ThinWall = EngineStanding["thinWalls"][number];
type SelfTest = NonNullable<EngineStanding["selfTest"]>;

const localSocket = "/var/run/docker.sock";

export async function checkSandboxes(config: Config, cwd: string, test: boolean): Promise<Finding[]> {
  const { kind, hosts, images, runtime, accept } = config.sandbox;
  if (kind === "none") {
    const message = "none (SANDBOX=none): workflows cannot run commands";
    return [{ check: "sandbox", state: "warn", message, fix: "Set SANDBOX to auto, docker or jail." }];
  }
  const local = kind === "docker" || existsSync(localSocket) ? [`unix://${localSocket}`] : [];
  const { describeEngines } = await import("@markmill/sandbox");
  const engines =
    kind === "jail"
      ? []
      : await describeEngines(
          { hosts: hosts.length > 0 ? hosts : local, images, ...(runtime === null ? {} : { runtime }) },
          { selfTest: test },
        );
  const jail = kind === "docker" ? [] : await checkJail(config, cwd, test);
  return weighSandboxes(engines, jail, accept);
}

export function weighSandboxes(
  engines: readonly EngineStanding[],
  jail: readonly Finding[],
  accept: Config["sandbox"]["accept"],
): Finding[] {
  const onDocker = engines.some(({ problem }) => problem === null) && engines.every(({ wellFormed }) => wellFormed);
  const inJail = jail.length > 0 && jail.every(({ state }) => state !== "fail");
  return [
    ...engines.flatMap((engine) => {
      const found = findingsOf(engine, accept);
      return engine.problem !== null && engine.wellFormed && (onDocker || inJail) ? warnedOf(found) : found;
    }),
    ...(onDocker ? warnedOf(jail) : jail),
  ];
}

function warnedOf(findings: readonly Finding[]): Finding[] {
  return findings.map((one) => (one.state === "fail" ? { ...one, state: "warn" } : one));
}

function findingsOf(engine: EngineStanding, accept: Config["sandbox"]["accept"]): Finding[] {
  const name = `${redactUrl(engine.host)}: `;
  if (engine.problem !== null) return [failed("engine", name, engine.problem)];
  const { facts, images, storage, thinWalls, selfTest } = engine;
  const { engineVersion = "", runcVersion = "", cgroupVersion = "" } = facts ?? {};
  const means = `Docker ${engineVersion}, runc ${runcVersion || "unknown"}, cgroup v${cgroupVersion}`;
  const findings: Finding[] = [{ check: "engine", state: "ok", message: name + means }];
  for (const image of images) {
    findings.push(
      image.present
        ? { check: "image", state: "ok", message: `${name}${image.name} is available` }
        : {
            check: "image",
            state: "fail",
            message: `${name}SANDBOX_IMAGE_REFUSED: ${image.name} is missing, and Markmill never pulls images`,
            fix: "Build or pull the image on that engine (infra/images/sandbox), or remove it from SANDBOX_IMAGE and SANDBOX_IMAGES.",
          },
    );
  }
  if (storage !== null && storage.freeBytes !== null) {
    findings.push({
      check: "disk",
      state: judgeRoom(storage.freeBytes),
      message: `${name}${formatBytes(storage.freeBytes)} free at ${storage.place} (${storage.driver})`,
      fix: "Free some space on this disk, or move the engine's data root to a larger disk.",
    });
  }
  for (const wall of thinWalls) findings.push(tellWall(name, wall, accept));
  if (selfTest !== null) findings.push(tellTest(name, selfTest));
  return findings;
}

async function checkJail(config: Config, cwd: string, test: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    await withSandboxToTest("jail", config, { cwd, warn: () => undefined }, async (sandbox) => {
      findings.push({ check: "jail", state: "ok", message: await meansOf(sandbox) });
      for (const wall of (await sandbox.thinWalls?.()) ?? []) findings.push(tellWall("", wall, config.sandbox.accept));
      if (!test) return;
      const { judgeSelfTest, runSelfTest } = await import("@markmill/sandbox");
      const report = await runSelfTest(sandbox, {});
      findings.push(tellTest("", { ...judgeSelfTest(report), probes: report.probes.length }));
    });
  } catch (error) {
    findings.push(failed("jail", "", error));
  }
  return findings;
}

async function meansOf(sandbox: Sandbox): Promise<string> {
  const described: unknown =
    "describe" in sandbox && typeof sandbox.describe === "function" ? await sandbox.describe() : {};
  return Object.entries(described as JailDescription)
    .map(([means, by]) => `${means} by ${by}`)
    .join(", ");
}

function tellWall(name: string, wall: ThinWall, accept: Config["sandbox"]["accept"]): Finding {
  const accepted = accept.includes(wall.name);
  const message = `${name}WEAK PROTECTION (${wall.name}): ${wall.message}${accepted ? " It is accepted." : ""}`;
  return { check: "sandbox wall", state: accepted ? "warn" : "fail", message, fix: wall.fix };
}

function tellTest(name: string, { safe, failures, probes }: SelfTest): Finding {
  return safe
    ? { check: "self-test", state: "ok", message: `${name}all ${probes} probes were refused` }
    : {
        check: "self-test",
        state: "fail",
        message: name + failures.join("\n"),
        fix: "Do not run untrusted commands on this machine. 'markmill sandbox self-test' lists all probes.",
      };
}

function failed(check: string, name: string, error: unknown): Finding {
  const { code, message, fix } = describeError(error);
  const text = `${name}${code === null ? "" : `${code}: `}${message}`;
  return { check, state: "fail", message: text, ...(fix === null ? {} : { fix }) };
}
