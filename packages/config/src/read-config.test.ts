import { describe, expect, it } from "vitest";
import { type Config, describeFindings, type EnvironmentText, readConfig } from "./index.ts";

function accepted(env: EnvironmentText): Config {
  const reading = readConfig(env);
  if (!reading.ok) throw new Error(describeFindings(reading.findings));
  return reading.config;
}

function refused(env: EnvironmentText) {
  const reading = readConfig(env);
  return reading.ok ? [] : reading.findings;
}

describe("reading the configuration", () => {
  it("an empty environment means one machine with its own Postgres, which holds the queue", () => {
    expect(accepted({})).toMatchObject({
      database: { kind: "embedded" },
      queue: { backend: "postgres" },
      home: ".markmill",
      healthPort: null,
      models: { apiKey: null, defaultModel: null },
      worker: { lockDurationMs: 3000, stalledIntervalMs: 1000 },
      sandbox: { kind: "auto", images: ["markmill-sandbox"] },
      workflowEnvironment: {},
    });
  });

  it("a variable with an empty value is not set", () => {
    expect(accepted({ DATABASE_URL: "", REDIS_URL: "", LOCK_DURATION_MS: "", SANDBOX: "" })).toEqual(accepted({}));
  });

  it("REDIS_URL selects the queue unless QUEUE_BACKEND sets another", () => {
    const REDIS_URL = "redis://127.0.0.1:6379";
    expect(accepted({ REDIS_URL }).queue).toEqual({ backend: "redis", url: REDIS_URL });
    expect(accepted({ REDIS_URL, QUEUE_BACKEND: "postgres" }).queue).toEqual({ backend: "postgres" });
    expect(refused({ QUEUE_BACKEND: "redis" })).toMatchObject([{ code: "CONFIG_MISSING", variable: "REDIS_URL" }]);
  });

  it("all mistakes are reported at once, each with its variable, in the schema's order", () => {
    const findings = refused({
      SANDBOX: "chroot",
      REDIS_URL: "http://localhost",
      WORKER_CONCURRENCY_PROMPT: "many",
      HEALTH_PORT: "70000",
      SANDBOX_HOSTS: "bad, worse, tcp://fine:1",
    });
    expect(findings.map(({ code, variable }) => [code, variable])).toEqual([
      ["CONFIG_INVALID", "REDIS_URL"],
      ["CONFIG_INVALID", "WORKER_CONCURRENCY_PROMPT"],
      ["CONFIG_INVALID", "HEALTH_PORT"],
      ["CONFIG_INVALID", "SANDBOX"],
      ["CONFIG_INVALID", "SANDBOX_HOSTS"],
    ]);
    expect(describeFindings(findings)).toContain(
      'CONFIG_INVALID: SANDBOX must be one of auto, docker, jail, none, but is "chroot"',
    );
  });

  it.each(["1e3", "0x10", "3.5", "-1", "99999999999", "ten", "1 000", "Infinity"])(
    "%s is not a valid number of milliseconds",
    (LOCK_DURATION_MS) => {
      expect(refused({ LOCK_DURATION_MS })).toMatchObject([{ variable: "LOCK_DURATION_MS" }]);
    },
  );

  it("an invalid secret is named but never shown", () => {
    const shown = describeFindings(refused({ DATABASE_URL: "mysql://root:hunter2@db/x", REDIS_URL: "hunter2" }));
    expect(shown).toContain("DATABASE_URL");
    expect(shown).toContain("REDIS_URL");
    expect(shown).not.toContain("hunter2");
  });

  it.each([
    "postgres://u:p@db.example/x",
    "postgresql://u@localhost/x?host=%2Ftmp%2Fsocket",
    "postgresql://u@/x?host=/tmp/socket",
  ])("%s is a valid Postgres address", (DATABASE_URL) => {
    expect(accepted({ DATABASE_URL }).database).toEqual({ kind: "external", url: DATABASE_URL });
  });

  it("checking for stalled workers less often than the lock lasts is a conflict", () => {
    expect(refused({ LOCK_DURATION_MS: "1000", STALLED_INTERVAL_MS: "5000" })).toMatchObject([
      { code: "CONFIG_CONFLICT", variable: "STALLED_INTERVAL_MS" },
    ]);
  });

  it("workflows see only the variables listed in WORKFLOW_ENV", () => {
    const env = { WORKFLOW_ENV: "COURSE, ABSENT", COURSE: "algebra", HOME: "/home/x", OPENAI_API_KEY: "k" };
    expect(accepted(env).workflowEnvironment).toEqual({ COURSE: "algebra" });
  });

  it.each(["OPENAI_API_KEY", "DATABASE_URL", "REDIS_URL"])("%s must not be listed in WORKFLOW_ENV", (name) => {
    expect(refused({ WORKFLOW_ENV: `COURSE,${name}` })).toMatchObject([
      { code: "CONFIG_SECRET_EXPOSED", variable: "WORKFLOW_ENV" },
    ]);
  });

  it("the allowed images are the default one and the listed ones, each once", () => {
    expect(accepted({ SANDBOX_IMAGE: "py:3", SANDBOX_IMAGES: "node:24,py:3" }).sandbox.images).toEqual([
      "py:3",
      "node:24",
    ]);
  });
});

it("SANDBOX=none in the environment alone does not turn the sandbox off", () => {
  expect(accepted({ SANDBOX: "none" }).sandbox).toMatchObject({ kind: "none", byFlag: false });
});

describe("the telemetry settings", () => {
  it("are off unless a collector is named", () => {
    expect(accepted({}).telemetry).toBeNull();
    expect(accepted({ OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }).telemetry).toBeNull();
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
    expect(accepted({ ...base, OTEL_SDK_DISABLED: "TRUE" }).telemetry).toBeNull();
    expect(accepted({ ...base, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" }).telemetry).toBeNull();
  });

  it("have one address for both signals, or one for each", () => {
    expect(accepted({ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c.example/in/?k=1" }).telemetry).toMatchObject({
      tracesUrl: "https://c.example/in/v1/traces?k=1",
      metricsUrl: "https://c.example/in/v1/metrics?k=1",
      share: 1,
    });
    expect(accepted({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t.example/x" }).telemetry).toMatchObject({
      tracesUrl: "http://t.example/x",
      metricsUrl: null,
    });
  });

  it("read pairs as OpenTelemetry writes them, and leave out other text", () => {
    const { telemetry } = accepted({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.example",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc==, x = y ,nothing,=z",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=exam,broken=%E0%A4%A",
    });
    expect(telemetry?.headers).toEqual({ authorization: "Bearer abc==", x: "y" });
    expect(telemetry?.resource).toEqual({ "deployment.environment.name": "exam", broken: "%E0%A4%A" });
  });

  it("sample runs by their share", () => {
    const share = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG = "0.25") =>
      accepted({
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.example",
        OTEL_TRACES_SAMPLER,
        OTEL_TRACES_SAMPLER_ARG,
      }).telemetry;
    expect(share("parentbased_always_on")?.share).toBe(1);
    expect(share("traceidratio")?.share).toBe(0.25);
    expect(share("always_off")).toMatchObject({ tracesUrl: null, metricsUrl: "http://c.example/v1/metrics" });
  });

  it("refuse values of other programs only if telemetry is on", () => {
    const foreign = {
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_TRACES_SAMPLER: "xray",
      OTEL_TRACES_EXPORTER: "zipkin",
    };
    expect(accepted(foreign).telemetry).toBeNull();
    expect(refused({ ...foreign, OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.example" })).toMatchObject([
      { code: "CONFIG_CONFLICT", variable: "OTEL_EXPORTER_OTLP_PROTOCOL" },
      { code: "CONFIG_CONFLICT", variable: "OTEL_TRACES_EXPORTER" },
      { code: "CONFIG_CONFLICT", variable: "OTEL_TRACES_SAMPLER" },
    ]);
  });
});
