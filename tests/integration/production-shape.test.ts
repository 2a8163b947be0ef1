// The deployment file: checks by compose's own schema and by compose itself, and facts that both cannot check.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DCLinter } from "dclint";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readConfig, variables } from "../../packages/config/src/index.ts";
import { routes } from "../../packages/contract/src/index.ts";
import { reportSkip } from "../support/ask-services.ts";
import { findDockerCompose } from "../support/docker-compose.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const serviceSchema = z.object({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string().default("Dockerfile") }).optional(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  env_file: z.array(z.string()).optional(),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  deploy: z.object({ replicas: z.number() }).optional(),
  ports: z.array(z.unknown()).optional(),
  stop_grace_period: z.string().optional(),
  profiles: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  secrets: z.array(z.string()).optional(),
  privileged: z.boolean().optional(),
  network_mode: z.string().optional(),
});

const text = read("docker-compose.yml");
const { services, secrets, volumes } = z
  .object({
    services: z.record(z.string(), serviceSchema),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(text, { merge: true, uniqueKeys: true }));

function service(name: string): z.output<typeof serviceSchema> {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

/** The file as compose fills it in with exactly the required values. */
const filled = (value: string) => value.replace(/\$\{(\w+):\?[^}]*\}/g, "given").replace(/\$\{\w+:-([^}]*)\}/g, "$1");

const ours = ["migrate", "api", "worker", "supervisor"];
/** Variables of foreign programs, secret or not. */
const ofOthers: Readonly<Record<string, Readonly<Record<string, "secret" | "open">>>> = {
  postgres: { POSTGRES_USER: "open", POSTGRES_DB: "open", POSTGRES_PASSWORD: "secret" },
  redis: { REDISCLI_AUTH: "secret" },
  prometheus: {},
  grafana: {
    GF_SECURITY_ADMIN_PASSWORD__FILE: "open",
    GF_ANALYTICS_REPORTING_ENABLED: "open",
    GF_ANALYTICS_CHECK_FOR_UPDATES: "open",
  },
  "sandbox-engine": {},
  "sandbox-image": {},
};
/** Services that end after their task. */
const once = ["migrate", "sandbox-image"];
/** Values that an operator may change. */
const choices = ["SANDBOX", "SANDBOX_HOSTS"];

/** null: no process reads it. */
function kindOf(name: string, variable: string): "secret" | "open" | null {
  if (!ours.includes(name)) return ofOthers[name]?.[variable] ?? null;
  // No .env file may set it, so it is no setting (packages/config/src/trust-everything.ts).
  if (variable === "MARKMILL_TRUST") return "open";
  const known = variables.find((one) => one.name === variable);
  return known === undefined ? null : known.secret === true ? "secret" : "open";
}

const scratch = mkdtempSync(join(tmpdir(), "markmill-compose-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** The errors of a file by the JSON Schema of the Compose Specification and by a linter's rules. */
function complaintsOf(compose: string): string[] {
  const file = join(scratch, "docker-compose.yml");
  writeFileSync(file, compose);
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
  const [result] = linter.lintFiles([file], false);
  if (result === undefined) throw new Error("the linter took no file");
  const messages: readonly { readonly type: string; readonly rule: string; readonly message: string }[] =
    result.messages;
  return messages.flatMap(({ type, rule, message }) => (type === "error" ? [`${rule}: ${message}`] : []));
}

describe("docker-compose.yml", () => {
  it("contains the stores, one migration, the API, workers, supervisors and an engine for commands", () => {
    const always = Object.entries(services).flatMap(([name, { profiles }]) => (profiles === undefined ? [name] : []));
    expect(always.sort()).toEqual(
      [
        ...["postgres", "redis", "migrate", "worker", "api", "supervisor"],
        ...["sandbox-engine", "sandbox-image"],
      ].sort(),
    );
    expect(service("api").command).toEqual(["markmill", "api"]);
    expect(service("worker").command).toEqual(["markmill", "worker"]);
    expect(service("supervisor").command).toEqual(["markmill", "supervisor"]);
    expect(service("worker").deploy?.replicas).toBeGreaterThan(1);
  });

  it("keeps the data of Redis on disk and without eviction", () => {
    const command = service("redis").command.join(" ");
    expect(command).toContain("--appendonly yes");
    expect(command).toContain("--maxmemory-policy noeviction");
    expect(service("redis").image).toMatch(/^redis:7/);
  });

  it("uses Postgres 16 or newer, which commits to disk", () => {
    expect(Number(/^postgres:(\d+)/.exec(service("postgres").image)?.[1])).toBeGreaterThanOrEqual(16);
    expect(service("postgres").command.join(" ")).not.toMatch(/fsync|synchronous_commit|full_page_writes/);
  });

  it("has a health check for every lasting service, and dependent services wait for it", () => {
    for (const [name, { healthcheck }] of Object.entries(services)) {
      if (once.includes(name)) continue;
      expect(healthcheck.test?.length, name).toBeGreaterThan(1);
      expect(healthcheck.disable, name).toBeUndefined();
    }
    for (const name of ["worker", "supervisor"]) {
      expect(service(name).depends_on).toEqual({
        migrate: { condition: "service_completed_successfully" },
        postgres: { condition: "service_healthy" },
        redis: { condition: "service_healthy" },
      });
    }
    // This service works without the queue.
    expect(service("api").depends_on).toEqual({
      migrate: { condition: "service_completed_successfully" },
      postgres: { condition: "service_healthy" },
    });
    expect(service("migrate").depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  });

  it("conforms to the Compose Specification", () => {
    expect(complaintsOf(text)).toEqual([]);
  });

  it.each([
    ["a key that there is not", "stop_grace_period: 60s", "stop_grace_perod: 60s", "additional properties"],
    ["one below what services share", "  read_only: true", "  read_onyl: true", "additional properties"],
    ["a value of another type", "interval: 5s", "interval: [5]", "must be string"],
    ["a condition that there is not", "condition: service_healthy", "condition: service_healty", "depends_on"],
    ["a name that is taken", "  redis:\n    image", "  postgres:\n    image", "invalid-yaml"],
  ])("fails the check of the specification if it is broken: %s", (_what, good, bad, said) => {
    expect(text).toContain(good);
    expect(complaintsOf(text.replace(good, bad)).join()).toContain(said);
  });

  it("is accepted by compose, with and without the graphs, and compose names missing settings", async (test) => {
    const values = ["POSTGRES_PASSWORD", "REDIS_PASSWORD", "OPENAI_API_KEY"].map((name) => `${name}=given`);
    const compose = await findDockerCompose(join(root, ".cache")).catch((error: Error) => error.message);
    if (typeof compose === "string") {
      await reportSkip({ what: "docker-compose.yml, read by compose itself", reason: compose });
      return test.skip();
    }
    const [program, ...before] = compose.command;
    const folder = mkdtempSync(join(scratch, "config-"));
    writeFileSync(join(folder, "docker-compose.yml"), text);
    symlinkSync(join(root, "infra"), join(folder, "infra"));
    const env = { ...Object.fromEntries(["PATH", "HOME"].map((name) => [name, process.env[name]])), ...compose.env };
    const config = (given: readonly string[], ...flags: string[]) => {
      writeFileSync(join(folder, ".env"), given.join("\n"));
      const answer = spawnSync(program, [...before, ...flags, "config"], { cwd: folder, env, encoding: "utf8" });
      return { status: answer.status, said: answer.stderr, read: answer.stdout };
    };
    for (const flags of [[], ["--profile", "monitoring"]]) {
      const { status, said, read: whole } = config(values, ...flags);
      expect({ status, said }).toEqual({ status: 0, said: "" });
      const read = z.object({ services: z.record(z.string(), z.unknown()) }).parse(parse(whole));
      for (const name of ours) expect(read.services).toHaveProperty(name);
    }
    // Another test checks that the other settings are required in the same way. Each check costs seconds.
    for (const left of values.slice(-1)) {
      const { status, said } = config(values.filter((one) => one !== left));
      expect(status).not.toBe(0);
      expect(said).toContain(`set ${left.split("=")[0]} in .env`);
    }
  });

  it("uses only commands that the command line has", () => {
    const main = read("apps/cli/src/command-table.ts");
    for (const name of ours) {
      const [program, verb = "", ...rest] = service(name).command;
      expect([program, rest], name).toEqual(["markmill", []]);
      expect(main, name).toContain(`"./commands/${verb}.ts"`);
      expect(existsSync(join(root, "apps/cli/src/commands", `${verb}.ts`)), verb).toBe(true);
    }
  });

  it("names only existing files, or files that its head tells the operator to create and git ignores", () => {
    const named = Object.values(services).flatMap(({ build, env_file = [], volumes: mounted = [] }) => [
      ...(build === undefined ? [] : [join(build.context, build.dockerfile)]),
      ...env_file,
      ...mounted.map((mount) => mount.split(":")[0] ?? "").filter((source) => /^[./]/.test(source)),
    ]);
    const files = new Set([...named, ...Object.values(secrets).map(({ file }) => file)]);
    expect(files.size).toBeGreaterThan(5);
    const head = text.slice(0, text.indexOf("\nx-app"));
    const ignored = read(".gitignore").split("\n");
    const made: string[] = [];
    for (const file of files) {
      const path = file.replace(/^\.\//, "");
      if (ignored.includes(path)) made.push(path);
      else expect(existsSync(join(root, path)), path).toBe(true);
    }
    expect(made.sort()).toEqual([".env", ".grafana-password", ".metrics-key"]);
    for (const path of made) expect(head).toContain(` ${path}`);
  });

  it("contains no password: compose refuses to start without the operator's", () => {
    const interpolations = [...text.matchAll(/(?<!\$)\$\{([^}]*)\}/g)].map(([, inner = ""]) => inner);
    const [needed, chosen] = [
      interpolations.filter((inner) => !inner.includes(":-")),
      interpolations.filter((inner) => inner.includes(":-")),
    ];
    expect(new Set(needed.map((inner) => inner.split(":")[0]))).toEqual(
      new Set(["POSTGRES_PASSWORD", "REDIS_PASSWORD", "OPENAI_API_KEY"]),
    );
    for (const inner of needed) expect(inner).toMatch(/^\w+:\?set \w+ in \.env$/);
    expect(chosen.map((inner) => inner.split(":")[0])).toEqual(choices);
    for (const [name, { environment }] of Object.entries(services)) {
      for (const [variable, value] of Object.entries(environment)) {
        const kind = kindOf(name, variable);
        expect(kind, `${name} ${variable}`).not.toBeNull();
        if (kind === "open" && choices.includes(variable)) continue;
        if (kind === "open") {
          expect(value, `${name} ${variable}`).not.toContain("${");
          continue;
        }
        expect(value, `${name} ${variable}`).toContain(":?");
        const secret = filled(value);
        expect(URL.canParse(secret) ? new URL(secret).password : secret, `${name} ${variable}`).toBe("given");
      }
    }
  });

  it("gives workers an engine of their own: without a network, on a socket that no other service has", () => {
    const { environment } = service("worker");
    const reading = readConfig({
      SANDBOX: filled(environment.SANDBOX ?? ""),
      SANDBOX_HOSTS: filled(environment.SANDBOX_HOSTS ?? ""),
    });
    if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
    const { kind, hosts, image } = reading.config.sandbox;
    expect(kind).toBe("docker");
    const engine = service("sandbox-engine");
    expect(
      engine.command.filter((word) => word.startsWith("--host=")).map((word) => word.slice("--host=".length)),
    ).toEqual(hosts);
    // The user of the app's image, which has no other right to the socket.
    expect(engine.command).toContain("--group=1000");
    expect(engine.image).toMatch(/^docker:\d+-dind$/);
    const loader = service("sandbox-image");
    expect(loader.command.slice(2)).toEqual([hosts[0]?.replace("unix://", ""), `${image}:latest`]);
    expect(loader.image).toBe(image);
    expect(loader.depends_on).toEqual({ "sandbox-engine": { condition: "service_healthy" } });
    for (const one of [engine, loader]) expect(one.network_mode).toBe("none");
    const having = (volume: string) =>
      Object.keys(services).filter((name) => services[name]?.volumes?.some((mount) => mount.startsWith(`${volume}:`)));
    expect(having("sandbox-socket").sort()).toEqual(["sandbox-engine", "sandbox-image", "worker"]);
    expect(having("sandbox-engine")).toEqual(["sandbox-engine"]);
    expect(Object.keys(services).filter((name) => services[name]?.privileged === true)).toEqual(["sandbox-engine"]);
    expect(text).not.toContain("/var/run/docker.sock");
    // The engine may start later than the workers, which do not wait for it.
    expect(Object.keys(service("worker").depends_on ?? {})).not.toContain("sandbox-engine");
  });

  it("publishes only the ports of the API and Grafana, on the loopback of this machine", () => {
    for (const [name, { ports }] of Object.entries(services)) {
      if (name === "api") expect(ports).toEqual(["127.0.0.1:8085:8085"]);
      else if (name === "grafana") expect(ports).toEqual(["127.0.0.1:3000:3000"]);
      else expect(ports, name).toBeUndefined();
    }
  });

  it("sets only variables that our processes read, to values that they accept", () => {
    for (const name of ours) {
      const { environment, env_file } = service(name);
      expect(Object.keys(environment).filter((variable) => kindOf(name, variable) === null)).toEqual([]);
      expect(env_file).toEqual([".env"]);
      const reading = readConfig(
        Object.fromEntries(Object.entries(environment).map(([variable, value]) => [variable, filled(value)])),
      );
      expect(reading).toMatchObject({
        ok: true,
        config: { database: { kind: "external" }, queue: { backend: "redis" }, healthPort: 8080 },
      });
    }
  });

  it("checks the readiness of the API, and so of the board, on its published port", () => {
    const { environment, healthcheck } = service("api");
    expect(healthcheck.test?.join(" ")).toContain(`127.0.0.1:${environment.API_PORT}${routes.getReady.path}`);
  });

  it("offers graphs in a profile, with passwords from temporary files and only existing files", () => {
    for (const name of ["prometheus", "grafana"]) {
      const { profiles, depends_on, secrets: used = [], volumes: mounted = [], image } = service(name);
      expect(profiles).toEqual(["monitoring"]);
      expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
      for (const other of Object.keys(depends_on ?? {})) expect(services).toHaveProperty(other);
      for (const secret of used) expect(secrets).toHaveProperty(secret);
      for (const mount of mounted) {
        const [source = ""] = mount.split(":");
        if (!source.startsWith("./")) expect(volumes).toHaveProperty(source);
      }
    }
    for (const one of Object.values(services)) if (one.profiles === undefined) expect(one.secrets).toBeUndefined();
    const scraped = z
      .object({
        scrape_configs: z.array(
          z.object({
            metrics_path: z.literal(routes.getMetrics.path),
            authorization: z.object({ credentials_file: z.literal("/run/secrets/metrics-key") }),
            dns_sd_configs: z.array(z.object({ names: z.tuple([z.literal("api")]), port: z.literal(8085) })),
          }),
        ),
      })
      .loose();
    scraped.parse(parse(read("infra/prometheus/prometheus.yml")));
    const dashboards = parse(read("infra/grafana/provisioning/dashboards/markmill.yml"));
    const folder = dashboards.providers[0].options.path;
    expect(service("grafana").volumes).toContain(`./infra/grafana/dashboards:${folder}:ro`);
  });

  it("gives a stopped worker more time than its drain needs, and checks its health on its own port", () => {
    const { environment, stop_grace_period, healthcheck } = service("worker");
    expect(Number.parseInt(stop_grace_period ?? "0", 10) * 1000).toBeGreaterThan(Number(environment.DRAIN_TIMEOUT_MS));
    expect(healthcheck.test?.join(" ")).toContain(`127.0.0.1:${environment.HEALTH_PORT}/health/ready`);
  });
});

describe("the image of the app", () => {
  const { build } = service("worker");
  const dockerfile = read(build?.dockerfile ?? "");
  const instructions = dockerfile.split("\n").filter((line) => /^[A-Z]+ /.test(line));

  it("copies only existing files, and none that .dockerignore leaves out", () => {
    const ignored = new Set(read(".dockerignore").trim().split("\n"));
    const sources = instructions
      .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
      .flatMap((line) => line.split(" ").slice(1, -1));
    expect(sources.length).toBeGreaterThan(3);
    for (const source of sources) {
      expect(existsSync(join(root, source)), source).toBe(true);
      expect(ignored.has(source), source).toBe(false);
    }
    expect(ignored.has(".env")).toBe(true);
  });

  it("runs the pinned Node, not as root, and finds the command", () => {
    const { dependencies } = z
      .object({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    const major = dependencies.node?.split(".")[0];
    const bases = instructions.filter((line) => line.startsWith("FROM "));
    for (const line of bases) expect(line).toMatch(new RegExp(`^FROM node:${major}-`));
    expect(instructions).toContain("USER node");
    expect(dockerfile).toContain("/app/node_modules/.bin");
    const { bin } = z
      .object({ bin: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("apps/cli/package.json")));
    expect(existsSync(join(root, "apps/cli", bin.markmill ?? ""))).toBe(true);
  });

  it("contains no secret", () => {
    expect(dockerfile).not.toMatch(/PASSWORD|API_KEY|TOKEN/);
  });
});
