/** Of 'markmill doctor --sandbox': every engine that is configured, and the jail, each by itself. One that is absent hides no other. */
import { existsSync } from "node:fs";
import { type Config, redactUrl } from "@markmill/config";
import type { DockerDescription, JailDescription, Sandbox } from "@markmill/sandbox";
import { describeError } from "@markmill/stack";
import type { Finding } from "./finding.ts";
import { withSandboxToTest } from "./sandbox-to-test.ts";

const localSocket = "/var/run/docker.sock";
const answerMs = 10_000;

export async function checkSandboxes(config: Config, cwd: string, test: boolean): Promise<Finding[]> {
  const { kind, hosts } = config.sandbox;
  if (kind === "none") {
    const message = "none (SANDBOX=none): commands of workflows are refused";
    return [{ check: "sandbox", state: "warn", message, fix: "Set SANDBOX to auto, docker or jail." }];
  }
  const engines =
    hosts.length > 0 ? hosts : kind === "docker" || existsSync(localSocket) ? [`unix://${localSocket}`] : [];
  const found: Finding[][] = [];
  if (kind !== "jail") for (const host of engines) found.push(await checkOne("docker", host, config, cwd, test));
  if (kind !== "docker") found.push(await checkOne("jail", null, config, cwd, test));
  const serves = found.some((of) => of.every(({ state }) => state !== "fail"));
  // Commands run on those that serve; a worker without any runs none.
  return found.flatMap((of) => of.map((one) => (serves && one.state === "fail" ? { ...one, state: "warn" } : one)));
}

async function checkOne(
  kind: "docker" | "jail",
  host: string | null,
  config: Config,
  cwd: string,
  test: boolean,
): Promise<Finding[]> {
  const check = host === null ? "jail" : "engine";
  const name = host === null ? "" : `${redactUrl(host)}: `;
  const only = host === null ? config : { ...config, sandbox: { ...config.sandbox, hosts: [host] } };
  const findings: Finding[] = [];
  try {
    await withSandboxToTest(kind, only, { cwd, warn: () => undefined }, async (sandbox) => {
      findings.push({ check, state: "ok", message: `${name}${await meansOf(sandbox)}` });
      if (host !== null) {
        await within(sandbox.answers?.() ?? Promise.resolve());
        findings.push({ check: "image", state: "ok", message: `${name}${config.sandbox.image} is there` });
      }
      for (const wall of (await sandbox.thinWalls?.()) ?? []) {
        const accepted = config.sandbox.accept.includes(wall.name);
        const message = `${name}THIN WALL (${wall.name}): ${wall.message}${accepted ? " It is accepted." : ""}`;
        findings.push({ check: "sandbox wall", state: accepted ? "warn" : "fail", message, fix: wall.fix });
      }
      if (!test) return;
      const { judgeSelfTest, runSelfTest } = await import("@markmill/sandbox");
      const report = await runSelfTest(sandbox, kind === "docker" ? { image: config.sandbox.image } : {});
      const { safe, failures } = judgeSelfTest(report);
      findings.push(
        safe
          ? { check: "self-test", state: "ok", message: `${name}all ${report.probes.length} probes refused` }
          : {
              check: "self-test",
              state: "fail",
              message: name + failures.join("\n"),
              fix: "Do not run untrusted commands here; 'markmill sandbox self-test' shows all probes.",
            },
      );
    });
  } catch (error) {
    const { code, message, fix } = describeError(error);
    const text = `${name}${code === null ? "" : `${code}: `}${message}`;
    findings.push({ check, state: "fail", message: text, ...(fix === null ? {} : { fix }) });
  }
  return findings;
}

async function meansOf(sandbox: Sandbox): Promise<string> {
  const described: unknown =
    "describe" in sandbox && typeof sandbox.describe === "function" ? await sandbox.describe() : [];
  if (!Array.isArray(described)) {
    return Object.entries(described as JailDescription)
      .map(([means, by]) => `${means} by ${by}`)
      .join(", ");
  }
  const facts = (described as readonly DockerDescription[])[0]?.facts;
  if (facts === undefined) return sandbox.kind;
  const { engineVersion, runcVersion, cgroupVersion } = facts;
  return `Docker ${engineVersion}, runc ${runcVersion || "unknown"}, cgroup v${cgroupVersion}`;
}

/** An engine that stands still must not hold the command. */
async function within(asked: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${answerMs / 1000} s`)), answerMs);
  await Promise.race([asked, promise]).finally(() => clearTimeout(timer));
}
