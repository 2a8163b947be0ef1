import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readConfig, variables } from "../../packages/config/src/index.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

const serviceSchema = z.object({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()),
  env_file: z.array(z.string()).optional(),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  deploy: z.object({ replicas: z.number() }).optional(),
  ports: z.array(z.unknown()).optional(),
  stop_grace_period: z.string().optional(),
});

const text = read("docker-compose.yml");
const { services } = z
  .object({ services: z.record(z.string(), serviceSchema) })
  .parse(parse(text, { merge: true, uniqueKeys: true }));

function service(name: string): z.output<typeof serviceSchema> {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

/** As compose fills it in once every required value is given. */
const filled = (value: string) => value.replace(/\$\{(\w+):\?[^}]*\}/g, "given");

describe("docker-compose.yml", () => {
  it("has the stores, one migration, the API, workers and supervisors", () => {
    expect(Object.keys(services)).toEqual(["postgres", "redis", "migrate", "worker", "api", "supervisor"]);
    expect(service("api").command).toEqual(["markmill", "api"]);
    expect(service("worker").command).toEqual(["markmill", "worker"]);
    expect(service("supervisor").command).toEqual(["markmill", "supervisor"]);
    expect(service("worker").deploy?.replicas).toBeGreaterThan(1);
  });

  it("Redis keeps its data on disk and never evicts", () => {
    const command = service("redis").command.join(" ");
    expect(command).toContain("--appendonly yes");
    expect(command).toContain("--maxmemory-policy noeviction");
    expect(service("redis").image).toMatch(/^redis:7/);
  });

  it("Postgres is 16 or newer and commits to disk", () => {
    expect(Number(/^postgres:(\d+)/.exec(service("postgres").image)?.[1])).toBeGreaterThanOrEqual(16);
    expect(service("postgres").command.join(" ")).not.toMatch(/fsync|synchronous_commit|full_page_writes/);
  });

  it("every lasting service has a health check, and what depends on it waits for it", () => {
    for (const [name, { healthcheck }] of Object.entries(services)) {
      if (name === "migrate") continue;
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
    // It serves without the queue.
    expect(service("api").depends_on).toEqual({
      migrate: { condition: "service_completed_successfully" },
      postgres: { condition: "service_healthy" },
    });
    expect(service("migrate").depends_on).toEqual({ postgres: { condition: "service_healthy" } });
  });

  it("has no password of its own: compose refuses to start without the operator's", () => {
    const interpolations = [...text.matchAll(/(?<!\$)\$\{([^}]*)\}/g)].map(([, inner = ""]) => inner);
    expect(new Set(interpolations.map((inner) => inner.split(":")[0]))).toEqual(
      new Set(["POSTGRES_PASSWORD", "REDIS_PASSWORD", "OPENAI_API_KEY"]),
    );
    for (const inner of interpolations) expect(inner).toMatch(/^\w+:\?set \w+ in \.env$/);
    for (const [name, { environment }] of Object.entries(services)) {
      for (const [variable, value] of Object.entries(environment)) {
        if (/PASSWORD|KEY|AUTH|_URL/.test(variable)) expect(value, `${name} ${variable}`).toContain(":?");
      }
    }
  });

  it("publishes no port but the API's, and that on this machine's loopback alone", () => {
    for (const [name, { ports }] of Object.entries(services)) {
      if (name === "api") expect(ports).toEqual(["127.0.0.1:8085:8085"]);
      else expect(ports, name).toBeUndefined();
    }
  });

  it("every variable given to our processes is one they read, with a value they accept", () => {
    const known = new Set<string>(variables.map(({ name }) => name));
    for (const name of ["migrate", "api", "worker", "supervisor"]) {
      const { environment, env_file } = service(name);
      expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
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

  it("a stopped worker gets longer than it takes to drain, and is asked for its health on its own port", () => {
    const { environment, stop_grace_period, healthcheck } = service("worker");
    expect(Number.parseInt(stop_grace_period ?? "0", 10) * 1000).toBeGreaterThan(Number(environment.DRAIN_TIMEOUT_MS));
    expect(healthcheck.test?.join(" ")).toContain(`127.0.0.1:${environment.HEALTH_PORT}/healthz`);
  });
});

describe("the app's image", () => {
  const { build } = service("worker");
  const dockerfile = read(build?.dockerfile ?? "");
  const instructions = dockerfile.split("\n").filter((line) => /^[A-Z]+ /.test(line));

  it("copies only what exists, and nothing that .dockerignore leaves out", () => {
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

  it("runs the Node that the checkout pins, not as root, and finds the command", () => {
    const { devDependencies } = z
      .object({ devDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    const major = devDependencies.node?.split(".")[0];
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
