import { readConfig, variables } from "@markmill/config";
import { expect, it } from "vitest";
import { openProcessLog } from "./process-log.ts";

/** Each secret is unique by its number, and contains characters that JSON escapes. */
const secretOf = (number: number) => `hunter"of"secret"${number}\\x`;

it("the process log contains no credential of the configuration in messages, fields or errors", async () => {
  // Covers every variable that is a secret, and every address, because an address can contain a secret. New variables are included
  // automatically.
  const environment: Record<string, string> = { S3_BUCKET: "files", WORKFLOW_ENV: "TEACHER_TOKEN" };
  const secrets: string[] = [];
  for (const [number, { name, secret, description }] of variables.entries()) {
    if (secret !== true) continue;
    expect(description).not.toBe("");
    const value = secretOf(number);
    secrets.push(value);
    environment[name] = name === "TOOL_SECRETS" ? JSON.stringify({ T: { value, hosts: ["api.example"] } }) : value;
  }
  const addresses = { DATABASE_URL: "postgresql", REDIS_URL: "redis", OPENAI_BASE_URL: "https", S3_ENDPOINT: "https" };
  for (const [name, scheme] of Object.entries(addresses)) {
    environment[name] = `${scheme}://user:hunter-${name.toLowerCase()}@host.example/x`;
  }
  environment.MARKMILL_URL = "https://mill.example";
  environment.GIT_TOKEN_HOST = "git.example";
  // A key without its address is not part of the configuration.
  for (const name of ["TOOL_JINA_URL", "TOOL_BROWSERLESS_URL"]) environment[name] = "https://tools.example";
  environment.TEACHER_TOKEN = "hunter of the teacher";
  environment.OTEL_EXPORTER_OTLP_ENDPOINT = "https://user:hunter-telemetry@collector.example";
  environment.OTEL_EXPORTER_OTLP_HEADERS = "authorization=Bearer%20hunter-header";
  const reading = readConfig(environment);
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  expect(secrets.length).toBeGreaterThan(4);
  const lines: string[] = [];
  const log = await openProcessLog(reading.config, "test", {
    level: "info",
    to: { write: (line) => void lines.push(line) },
  });
  const given = Object.entries(environment).flatMap(([name, value]) => (name === "TOOL_SECRETS" ? [] : value));
  const tool = Object.values(reading.config.tools.secrets).map(({ value }) => value);
  for (const value of [...given, ...tool].filter((one) => one.includes("hunter"))) {
    const bare = decodeURIComponent(value).replace(/^[a-z-]+=Bearer /, "");
    const password = /:([^:@/]+)@/.exec(bare)?.[1] ?? bare;
    for (const told of new Set([value, bare, password])) {
      log.info(told);
      log.warn({ deep: { list: [told] }, [`x${told}`]: 1 }, "a field");
      log.error({ err: new Error(`connect failed for ${told}`, { cause: new Error(told) }) }, "an error");
    }
  }
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.filter((line) => line.includes("hunter"))).toEqual([]);
  expect(lines.every((line) => JSON.parse(line).role === "test")).toBe(true);
});

it("the process log writes lines that parse, for any value of the workflows' environment", async () => {
  const values = { A: "true", B: "2026", C: "null", D: "level", E: "false", F: '":{"', G: "role", H: "\\u00" };
  const reading = readConfig({ ...values, WORKFLOW_ENV: Object.keys(values).join(",") });
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  const lines: string[] = [];
  const to = { write: (line: string) => void lines.push(line) };
  const log = await openProcessLog(reading.config, "test", { level: "info", to });
  log.info({ safe: true, none: null, year: 2026, not: false, said: "true in 2026" }, "level");
  log.info({ told: 'at "https://user:pw@host.example/x" \u001b[31m \\u00', deep: [{ role: { true: 1 } }] });
  const [first, second] = lines.map((line) => JSON.parse(line));
  expect(first).toMatchObject({ level: 30, role: "test", safe: true, none: null, year: 2026, not: false });
  expect(first).toMatchObject({ said: "*** in ***", msg: "***" });
  expect(second.told).toBe('at "https://user:***@host.example/x" \u001b[31m ***');
  expect(lines).toHaveLength(2);
});
