import { expect, it } from "vitest";
import { describeFindings, readConfig, redactConfig, redactText, redactUrl } from "./index.ts";

it("redaction removes every credential of a configuration", () => {
  const reading = readConfig({
    DATABASE_URL: "postgresql://app:hunter2@db:5432/markmill?sslmode=require&sslpassword=hunter2",
    REDIS_URL: "rediss://:hunter2@cache:6380/1",
    OPENAI_BASE_URL: "https://user:hunter2@models.example/v1?api_key=hunter2",
    OPENAI_API_KEY: "hunter2",
    S3_BUCKET: "files",
    S3_ENDPOINT: "https://user:hunter2@bucket.example",
    S3_ACCESS_KEY_ID: "hunter2",
    S3_SECRET_ACCESS_KEY: "hunter2",
    SANDBOX_HOSTS: "tcp://user:hunter2@engine:2376",
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:hunter2@collector.example/?token=hunter2",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2",
    WORKFLOW_ENV: "TEACHER_TOKEN",
    TEACHER_TOKEN: "hunter2",
  });
  if (!reading.ok) throw new Error("refused");
  const shown = redactConfig(reading.config);
  expect(JSON.stringify(shown)).not.toContain("hunter2");
  expect(shown.database).toEqual({
    kind: "external",
    url: "postgresql://app:***@db:5432/markmill?sslmode=require&sslpassword=***",
  });
  expect(shown.models.apiKey).toBe("***");
  expect(Object.keys(shown.workflowEnvironment)).toEqual(["TEACHER_TOKEN"]);
});

it("redaction hides text that is no URL completely", () => {
  expect(redactUrl("app:hunter2@db")).not.toContain("hunter2");
  expect(redactUrl("not a url")).toBe("***");
});

it("redaction hides a token in the place of a user name", () => {
  expect(redactUrl("https://sk-hunter2@models.example/v1")).toBe("https://***@models.example/v1");
  expect(redactUrl("postgresql://app@db/x")).toBe("postgresql://app@db/x");
});

it("redaction hides credentials in sentences, in an address or alone, as written or decoded", () => {
  const reading = readConfig({
    DATABASE_URL: "postgresql://app:hunter%402@db:5432/markmill",
    OPENAI_BASE_URL: "https://user:hunter3@models.example/v1?sig=hunter4",
    OPENAI_API_KEY: "sk-hunter5",
    S3_BUCKET: "files",
    S3_ACCESS_KEY_ID: "hunter8",
    S3_SECRET_ACCESS_KEY: "hunter9",
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://user:hunter10@collector.example",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter11",
    WORKFLOW_ENV: "COURSE",
    COURSE: "hunter6",
  });
  if (!reading.ok) throw new Error("refused");
  const said =
    "cannot fetch https://user:hunter3@models.example/v1?sig=hunter4, password hunter@2 (hunter%402), Bearer sk-hunter5 hunter6 hunter8 hunter9 hunter10 Bearer hunter11 redis://:hunter7@x.";
  const shown = redactText(said, reading.config);
  expect(shown).not.toMatch(/hunter/);
  expect(shown).toContain("redis://:***@x.");
  expect(redactText("see https://docs.example/a?b=c.", reading.config)).toBe("see https://docs.example/a?b=c.");
});

it("an invalid address is not shown with its password", () => {
  for (const value of ["htp://user:hunter2@x/v1", "user:hunter2@x"]) {
    const reading = readConfig({ OPENAI_BASE_URL: value, SANDBOX_HOSTS: value });
    expect(reading.ok ? "" : describeFindings(reading.findings)).toMatch(
      /^(?=[\s\S]*OPENAI_BASE_URL)(?![\s\S]*hunter2)/,
    );
  }
});

it("redaction does not hide a short key inside other words", () => {
  const reading = readConfig({ OPENAI_API_KEY: "test", MODEL: "m" });
  if (!reading.ok) throw new Error("no configuration");
  expect(redactText("latest tests: the key test was refused", reading.config)).toBe(
    "latest tests: the key *** was refused",
  );
});
