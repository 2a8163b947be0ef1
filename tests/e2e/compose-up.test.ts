// The shipped docker-compose.yml starts and grades the example class: two commands of an operator, and one of a teacher.
//
// Replacements for parts that are missing here: images of this machine's programs under the names of the real ones, the checkout mounted
// in place of the app's build, a scripted model as an additional service, and compose v1 where there is no plugin. The engine's service
// is privileged in the file. A machine that may not grant all capabilities grants those that it has.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { stringify } from "yaml";
import { askService, reportSkip } from "../support/ask-services.ts";
import { buildComposeImages } from "../support/compose-images.ts";
import { type DockerCompose, findDockerCompose } from "../support/docker-compose.ts";
import { findPrograms, type OwnEngine, startDockerEngine } from "../support/docker-engine-server.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");
const cache = join(root, ".cache");
const example = join(root, "examples/class-roman");
const published = "127.0.0.1:8085:8085";
const wanted = "docker-compose.yml, brought up, grading the example class";

const reason = !inject("thorough")
  ? "in the soak only"
  : process.platform !== "linux" || process.getuid?.() !== 0
    ? "starting a Docker engine of its own needs root on Linux"
    : null;
const compose = reason === null ? await findDockerCompose(cache).catch((error: Error) => error.message) : reason;
if (typeof compose === "string" && inject("thorough")) await reportSkip({ what: wanted, reason: compose });

describe.skipIf(typeof compose === "string")(wanted, () => {
  const folder = mkdtempSync(join(tmpdir(), "markmill-compose-up-"));
  let own: OwnEngine;
  let place: MarkmillPlace & { remove(): Promise<void> };

  beforeAll(async () => {
    own = await startDockerEngine(cache);
    if (!own.engine.networked) throw new Error("no bridge could be made for the engine");
    await buildComposeImages(own.engine.host, await askService("redis-source"), await findPrograms(cache));
    const shipped = readFileSync(join(root, "docker-compose.yml"), "utf8");
    expect(shipped).toContain(`"${published}"`);
    // Any free port, because port 8085 of this machine may be in use.
    writeFileSync(join(folder, "docker-compose.yml"), shipped.replace(published, "127.0.0.1::8085"));
    symlinkSync(join(root, "infra"), join(folder, "infra"));
    const settings = {
      POSTGRES_PASSWORD: "a1",
      REDIS_PASSWORD: "b2",
      OPENAI_API_KEY: "test",
      DEFAULT_MODEL: "gpt-5-mini",
      // The engine uses the programs of this machine, which may be old.
      OPENAI_BASE_URL: "http://model:8089/v1",
      SANDBOX_ACCEPT: "old-engine",
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    writeFileSync(join(folder, ".env"), lines.join("\n"));
    writeFileSync(join(folder, "stand-ins.yml"), stringify(standIns()));
  });
  afterAll(async () => {
    await run("down", "--volumes", "--timeout", "5").catch(() => undefined);
    await own?.engine.stop();
    await place?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function run(...args: readonly string[]): Promise<string> {
    const { command, env } = compose as DockerCompose;
    const files = ["-p", "markmill", "-f", "docker-compose.yml", "-f", "stand-ins.yml"];
    const child = spawn(command[0], [...command.slice(1), ...files, ...args], {
      cwd: folder,
      env: { ...process.env, ...env, DOCKER_HOST: own.engine.host },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    if (code !== 0) throw new Error(`compose ${args.join(" ")} ended with ${code}: ${err}\n${out}`);
    return out;
  }

  it("starts with two commands, reports when commands can run, and grades the class", async () => {
    await run("up", "-d", "--no-build");
    const logs = await until(async () => {
      const said = await run("logs", "--no-color", "api");
      return said.includes("first key") ? said : null;
    });
    const url = `http://${(await run("port", "api", "8085")).trim()}`;
    const ready = async () => {
      const answer = await fetch(`${url}/health/ready`).catch(() => null);
      return answer?.ok === true ? ((await answer.json()) as { readonly components: Components }) : null;
    };
    // The engine starts, loads the image from the image's container, and passes the self-test, while all other services are ready.
    await until(async () => (await ready())?.components.sandbox?.ok, { everyMs: 500, limitMs: 600_000 });
    expect(await run("logs", "--no-color", "sandbox-image")).toContain("was put into the engine");

    place = await makePlace({ MARKMILL_URL: url, MARKMILL_TOKEN: /first key.*: (mm_\S+)/.exec(logs)?.[1] ?? "" });
    const grade = () => markmill(place, ["grade", example, "--out", join(folder, "out"), "--json"]);
    let graded = await grade();
    // Exit code 8: submissions wait for transient trouble, such as a session that a busy machine lost. The command advises to resume.
    for (let tries = 0; graded.code === 8 && tries < 3; tries += 1) {
      const batch = /markmill resume (\S+)/.exec(graded.stderr)?.[1] ?? "";
      await markmill(place, ["resume", batch]);
      graded = await grade();
    }
    // Exit code 3: some submissions are not graded.
    expect([0, 3], `${graded.code}: ${graded.stderr.slice(-3_000)}`).toContain(graded.code);
    const { students } = JSON.parse(graded.stdout) as { readonly students: readonly { readonly status: string }[] };
    const counts = Object.fromEntries(
      Object.entries(Object.groupBy(students, ({ status }) => status)).map(([status, of]) => [status, of?.length]),
    );
    expect(counts, graded.stderr.slice(-3_000)).toEqual({
      graded: 20,
      "needs human": 4,
      ungradable: 2,
      "nothing handed in": 1,
    });

    // After a restart the image is not sent again.
    await run("up", "-d", "--no-build");
    await until(async () => (await run("logs", "--no-color", "sandbox-image")).includes("is there"));
  }, 1_800_000);
});

type Components = Readonly<Record<string, { readonly ok: boolean }>>;

/** Additions to the shipped file. */
function standIns(): object {
  const checkout = { volumes: [`${root}:/app:ro`] };
  const serve = [
    'const { parseScript, startScriptedModel } = await import("@markmill/llm");',
    'const { readFileSync } = await import("node:fs");',
    'const { script } = parseScript(readFileSync("/app/examples/class-roman/model.yaml", "utf8"), "model.yaml");',
    'await startScriptedModel({ script, port: 8089, host: "0.0.0.0", apiKey: "test" });',
  ];
  return {
    services: {
      migrate: checkout,
      api: checkout,
      worker: checkout,
      supervisor: checkout,
      model: {
        image: "markmill",
        working_dir: "/app/packages/stack",
        command: ["node", "--input-type=module", "-e", serve.join("\n")],
        ...checkout,
      },
      ...(mayBePrivileged() ? {} : { "sandbox-engine": unprivileged }),
    },
  };
}

function mayBePrivileged(): boolean {
  const last = Number(readFileSync("/proc/sys/kernel/cap_last_cap", "utf8"));
  const held = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return BigInt(`0x${held}`) === (1n << BigInt(last + 1)) - 1n;
}

const unprivileged = {
  privileged: false,
  security_opt: ["seccomp=unconfined", "apparmor=unconfined"],
  cap_add: [
    ...["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "MKNOD"],
    ...["LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"],
    ...["SYS_CHROOT", "SYS_PTRACE", "SYS_ADMIN", "SYS_NICE", "LEASE", "AUDIT_WRITE", "SETFCAP", "SYSLOG"],
  ],
};
