import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Config,
  describeFindings,
  type EnvironmentText,
  keyElsewhere,
  makeProject,
  readConfig,
  readProcessConfig,
} from "./index.ts";

function accepted(env: EnvironmentText): Config {
  const reading = readConfig(env);
  if (!reading.ok) throw new Error(describeFindings(reading.findings));
  return reading.config;
}

function refused(env: EnvironmentText) {
  const reading = readConfig(env);
  return reading.ok ? [] : reading.findings;
}

describe("readConfig", () => {
  it("an empty environment means one machine, its own Postgres, the queue in it", () => {
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

  it("a variable set to nothing is not set", () => {
    expect(accepted({ DATABASE_URL: "", REDIS_URL: "", LOCK_DURATION_MS: "", SANDBOX: "" })).toEqual(accepted({}));
  });

  it("the queue follows REDIS_URL unless QUEUE_BACKEND says otherwise", () => {
    const REDIS_URL = "redis://127.0.0.1:6379";
    expect(accepted({ REDIS_URL }).queue).toEqual({ backend: "redis", url: REDIS_URL });
    expect(accepted({ REDIS_URL, QUEUE_BACKEND: "postgres" }).queue).toEqual({ backend: "postgres" });
    expect(refused({ QUEUE_BACKEND: "redis" })).toMatchObject([{ code: "CONFIG_MISSING", variable: "REDIS_URL" }]);
  });

  it("all mistakes are found at once, each with its variable, in the schema's order", () => {
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
    "%s is no number of milliseconds",
    (LOCK_DURATION_MS) => {
      expect(refused({ LOCK_DURATION_MS })).toMatchObject([{ variable: "LOCK_DURATION_MS" }]);
    },
  );

  it("a mistaken secret is named but never shown", () => {
    const shown = describeFindings(refused({ DATABASE_URL: "mysql://root:hunter2@db/x", REDIS_URL: "hunter2" }));
    expect(shown).toContain("DATABASE_URL");
    expect(shown).toContain("REDIS_URL");
    expect(shown).not.toContain("hunter2");
  });

  it.each([
    "postgres://u:p@db.example/x",
    "postgresql://u@localhost/x?host=%2Ftmp%2Fsocket",
    "postgresql://u@/x?host=/tmp/socket",
  ])("%s is an address of Postgres", (DATABASE_URL) => {
    expect(accepted({ DATABASE_URL }).database).toEqual({ kind: "external", url: DATABASE_URL });
  });

  it("looking for silent workers less often than they may be silent is a conflict", () => {
    expect(refused({ LOCK_DURATION_MS: "1000", STALLED_INTERVAL_MS: "5000" })).toMatchObject([
      { code: "CONFIG_CONFLICT", variable: "STALLED_INTERVAL_MS" },
    ]);
  });

  it("workflows see the variables on the list and nothing else", () => {
    const env = { WORKFLOW_ENV: "COURSE, ABSENT", COURSE: "algebra", HOME: "/home/x", OPENAI_API_KEY: "k" };
    expect(accepted(env).workflowEnvironment).toEqual({ COURSE: "algebra" });
  });

  it.each(["OPENAI_API_KEY", "DATABASE_URL", "REDIS_URL"])("%s cannot be put on that list", (name) => {
    expect(refused({ WORKFLOW_ENV: `COURSE,${name}` })).toMatchObject([
      { code: "CONFIG_SECRET_EXPOSED", variable: "WORKFLOW_ENV" },
    ]);
  });

  it("the allowed images are the default one and the listed ones, once each", () => {
    expect(accepted({ SANDBOX_IMAGE: "py:3", SANDBOX_IMAGES: "node:24,py:3" }).sandbox.images).toEqual([
      "py:3",
      "node:24",
    ]);
  });
});

describe("readProcessConfig", () => {
  it("reads .env below the process's own environment, and says when it cannot", () => {
    const directory = mkdtempSync(join(tmpdir(), "markmill-config-"));
    try {
      const file = join(directory, ".env");
      writeFileSync(file, 'DEFAULT_MODEL="from file"\n# HEALTH_PORT=1\n');
      expect(readProcessConfig(file)).toMatchObject({ ok: true, config: { models: { defaultModel: "from file" } } });
      expect(readProcessConfig(join(directory, "none"))).toMatchObject({ ok: true });
      expect(readProcessConfig(directory)).toMatchObject({ ok: false, findings: [{ code: "CONFIG_UNREADABLE" }] });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe("a .env that anybody may have written", () => {
  let folder: string;
  const file = () => join(folder, ".env");
  const hostile =
    "OPENAI_BASE_URL=http://evil.example/v1\nDATABASE_URL=postgresql://x@evil/x\nSANDBOX_HOSTS=tcp://evil:1\n";
  const config = (place = {}): Config => {
    const reading = readProcessConfig(file(), place);
    if (!reading.ok) throw new Error(describeFindings(reading.findings));
    return reading.config;
  };
  const notes = (place = {}) => {
    const reading = readProcessConfig(file(), place);
    return reading.ok ? reading.notes.join("\n") : describeFindings(reading.findings);
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "markmill-env-"));
    vi.stubEnv("OPENAI_API_KEY", undefined);
    vi.stubEnv("OPENAI_BASE_URL", undefined);
    vi.stubEnv("DATABASE_URL", undefined);
    vi.stubEnv("WORKFLOW_ENV", undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it("chooses no server, no place and no sandbox, and says so", () => {
    writeFileSync(file(), `${hostile}MARKMILL_HOME=/tmp/theirs\nRETENTION_DAYS=1\nDEFAULT_MODEL=small\n`);
    expect(config()).toMatchObject({
      database: { kind: "embedded" },
      home: ".markmill",
      retentionDays: 0,
      models: { baseUrl: "https://api.openai.com/v1", defaultModel: "small" },
      sandbox: { hosts: [] },
    });
    expect(notes()).toMatch(
      /DATABASE_URL, MARKMILL_HOME, OPENAI_BASE_URL, RETENTION_DAYS, SANDBOX_HOSTS left out.*markmill init/,
    );
  });

  it("gives no value to a variable that workflows may read", () => {
    vi.stubEnv("WORKFLOW_ENV", "RUBRIC");
    writeFileSync(file(), "RUBRIC=full marks\n");
    expect(config().workflowEnvironment).toEqual({});
  });

  it.each(["class.yaml", ".markmill"])("counts whole beside %s", (mark) => {
    writeFileSync(file(), hostile);
    if (mark === "class.yaml") writeFileSync(join(folder, mark), "");
    else mkdirSync(join(folder, mark));
    expect(config()).toMatchObject({ models: { baseUrl: "http://evil.example/v1" }, envFile: "counts" });
    expect(notes()).toBe("");
  });

  it("does not come to count because a run made .markmill beside it, but by 'markmill init'", () => {
    writeFileSync(file(), hostile);
    expect(config().database).toEqual({ kind: "embedded" });
    mkdirSync(join(folder, ".markmill/postgres"), { recursive: true });
    expect(config().database).toEqual({ kind: "embedded" });
    makeProject(folder);
    expect(config().database).toMatchObject({ kind: "external" });
  });

  it("of a submission is left out whole, project or not, also below it and through a link", () => {
    writeFileSync(file(), `${hostile}OPENAI_API_KEY=theirs\nDEFAULT_MODEL=theirs\n`);
    mkdirSync(join(folder, ".markmill"));
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    try {
      for (const submission of [".", folder, link, join(folder, "..")]) {
        const found = config({ submissions: [submission] });
        expect(found.models, submission).toMatchObject({ apiKey: null, defaultModel: null });
        expect(found, submission).toMatchObject({ database: { kind: "embedded" }, envFile: "left out" });
        expect(notes({ submissions: [submission] })).toContain("inside the submission");
      }
    } finally {
      rmSync(link);
    }
    expect(config({ submissions: ["ada"] }).database).toMatchObject({ kind: "external" });
  });

  it("that others can write counts as theirs", () => {
    writeFileSync(file(), hostile);
    mkdirSync(join(folder, ".markmill"));
    chmodSync(file(), 0o666);
    expect(config().database).toEqual({ kind: "embedded" });
    expect(notes()).toContain("chmod 600");
  });

  it("a key is never sent to an endpoint that was set in another place", () => {
    mkdirSync(join(folder, ".markmill"));
    writeFileSync(file(), "OPENAI_BASE_URL=http://evil.example/v1\n");
    vi.stubEnv("OPENAI_API_KEY", "hunter2");
    expect(readProcessConfig(file())).toMatchObject({ ok: false, findings: [{ code: "CONFIG_KEY_ELSEWHERE" }] });
    expect(notes()).not.toContain("hunter2");
    vi.stubEnv("OPENAI_BASE_URL", "https://mine.example/v1");
    expect(config().models).toMatchObject({ apiKey: "hunter2", baseUrl: "https://mine.example/v1" });
    vi.stubEnv("OPENAI_API_KEY", undefined);
    writeFileSync(file(), "OPENAI_API_KEY=theirs\n");
    expect(readProcessConfig(file())).toMatchObject({ ok: false, findings: [{ code: "CONFIG_KEY_ELSEWHERE" }] });
    vi.stubEnv("OPENAI_API_KEY", "");
    expect(config().models.apiKey).toBeNull();
    vi.unstubAllEnvs();
    expect(keyElsewhere({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://x" }, {})).toBeNull();
    expect(keyElsewhere({}, { OPENAI_API_KEY: "k" })).toBeNull();
  });

  it("SANDBOX=none asks for no bare machine, wherever it stands", () => {
    expect(accepted({ SANDBOX: "none" }).sandbox).toMatchObject({ kind: "none", byFlag: false });
  });
});

describe("telemetry", () => {
  it("is off unless a collector is named", () => {
    expect(accepted({}).telemetry).toBeNull();
    expect(accepted({ OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }).telemetry).toBeNull();
    const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
    expect(accepted({ ...base, OTEL_SDK_DISABLED: "TRUE" }).telemetry).toBeNull();
    expect(accepted({ ...base, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" }).telemetry).toBeNull();
  });

  it("has one address for both, or one for each", () => {
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

  it("reads pairs as OpenTelemetry writes them, and leaves out what is none", () => {
    const { telemetry } = accepted({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.example",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc==, x = y ,nothing,=z",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=exam,broken=%E0%A4%A",
    });
    expect(telemetry?.headers).toEqual({ authorization: "Bearer abc==", x: "y" });
    expect(telemetry?.resource).toEqual({ "deployment.environment.name": "exam", broken: "%E0%A4%A" });
  });

  it("samples runs by their share", () => {
    const share = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG = "0.25") =>
      accepted({
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.example",
        ...{ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG },
      }).telemetry;
    expect(share("parentbased_always_on")?.share).toBe(1);
    expect(share("traceidratio")?.share).toBe(0.25);
    expect(share("always_off")).toMatchObject({ tracesUrl: null, metricsUrl: "http://c.example/v1/metrics" });
  });

  it("values of other programs are refused only where it is on", () => {
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
