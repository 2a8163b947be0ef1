import { expect, it } from "vitest";
import { readConfig, redactConfig, redactUrl } from "./index.ts";

it("no credential of a configuration survives", () => {
  const reading = readConfig({
    DATABASE_URL: "postgresql://app:hunter2@db:5432/markmill?sslmode=require&sslpassword=hunter2",
    REDIS_URL: "rediss://:hunter2@cache:6380/1",
    OPENAI_BASE_URL: "https://user:hunter2@models.example/v1?api_key=hunter2",
    OPENAI_API_KEY: "hunter2",
    SANDBOX_HOSTS: "tcp://user:hunter2@engine:2376",
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

it("text that is no URL is hidden whole", () => {
  expect(redactUrl("app:hunter2@db")).not.toContain("hunter2");
  expect(redactUrl("not a url")).toBe("***");
});
