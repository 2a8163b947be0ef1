import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, it } from "vitest";
import { readConfig, variables, writeEnvExample } from "./index.ts";

const example = readFileSync(join(import.meta.dirname, "../../../.env.example"), "utf8");

describe(".env.example", () => {
  it("matches the schema; refresh it with `node packages/config/src/write-env-example.ts > .env.example`", () => {
    expect(example).toBe(writeEnvExample());
  });

  it("changes nothing when every line is activated", () => {
    expect([...example.matchAll(/^#([A-Z0-9_]+)=/gm)].map(([, name]) => name)).toEqual(
      variables.map(({ name }) => name),
    );
    const everything = parseEnv(example.replace(/^#(?=[A-Z0-9_]+=)/gm, ""));
    expect(Object.keys(everything)).toHaveLength(variables.length);
    expect(readConfig(everything)).toEqual(readConfig({}));
  });

  it("contains no value for a secret", () => {
    const secrets = variables.filter(({ secret }) => secret === true);
    expect(secrets.map(({ name, fallback }) => [name, fallback])).toEqual([
      ["DATABASE_URL", null],
      ["REDIS_URL", null],
      ["GIT_TOKEN", null],
      ["S3_ACCESS_KEY_ID", null],
      ["S3_SECRET_ACCESS_KEY", null],
      ["OPENAI_API_KEY", null],
      ["MARKMILL_TOKEN", null],
      ["TOOL_SECRETS", null],
      ["TOOL_SERPER_KEY", null],
      ["TOOL_JINA_KEY", null],
      ["TOOL_BROWSERLESS_KEY", null],
      ["OTEL_EXPORTER_OTLP_HEADERS", null],
    ]);
  });
});
