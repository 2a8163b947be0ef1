// The only reader of the environment. Everything wrong with it is reported at once.
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { type Config, shapeConfig } from "./config.ts";
import { type Environment, environmentSchema, secretNames, type VariableName } from "./environment.ts";

export type ConfigFinding = {
  readonly code:
    | "CONFIG_INVALID"
    | "CONFIG_MISSING"
    | "CONFIG_CONFLICT"
    | "CONFIG_SECRET_EXPOSED"
    | "CONFIG_UNREADABLE";
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
};

export type ConfigReading =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly findings: readonly ConfigFinding[] };

export type EnvironmentText = Readonly<Record<string, string | undefined>>;

export function readConfig(given: EnvironmentText): ConfigReading {
  const env = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = environmentSchema.safeParse(env);
  if (!parsed.success) {
    // One variable, one finding: a list with five bad items is one mistake to correct.
    const first = new Map<string, string>();
    for (const { path, message } of parsed.error.issues) {
      const name = String(path[0]);
      if (!first.has(name)) first.set(name, message);
    }
    return { ok: false, findings: [...first].map(([name, message]) => invalid(name, message, env[name])) };
  }
  const findings = conflicts(parsed.data);
  if (findings.length > 0) return { ok: false, findings };
  const visible = (parsed.data.WORKFLOW_ENV ?? []).flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ok: true, config: shapeConfig(parsed.data, Object.fromEntries(visible)) };
}

/** The process's environment over the `.env` file of the working directory, as the commands see it. */
export function readProcessConfig(envFile = ".env"): ConfigReading {
  let file: EnvironmentText = {};
  try {
    file = parseEnv(readFileSync(envFile, "utf8"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code !== "ENOENT") {
      const message = `${envFile} cannot be read: ${error instanceof Error ? error.message : error}`;
      const fix = "Make it a file that you may read, or remove it.";
      return { ok: false, findings: [{ code: "CONFIG_UNREADABLE", variable: envFile, message, fix }] };
    }
  }
  return readConfig({ ...file, ...process.env });
}

export function describeFindings(findings: readonly ConfigFinding[]): string {
  return findings.map(({ code, message, fix }) => `${code}: ${message}\n  fix: ${fix}`).join("\n");
}

function invalid(name: string, message: string, value: string | undefined): ConfigFinding {
  const shown = value === undefined || secretNames.has(name) ? "" : `, but is ${JSON.stringify(value.slice(0, 80))}`;
  return {
    code: "CONFIG_INVALID",
    variable: name,
    message: `${name} ${message}${shown}`,
    fix: `Correct ${name} in the environment or in .env, or unset it for its default.`,
  };
}

function conflicts(env: Environment): ConfigFinding[] {
  const findings: ConfigFinding[] = [];
  const find = (code: ConfigFinding["code"], variable: VariableName, message: string, fix: string) =>
    findings.push({ code, variable, message, fix });
  if (env.QUEUE_BACKEND === "redis" && env.REDIS_URL === undefined) {
    find(
      "CONFIG_MISSING",
      "REDIS_URL",
      "QUEUE_BACKEND is redis, but REDIS_URL is not set",
      "Set REDIS_URL, or QUEUE_BACKEND=postgres.",
    );
  }
  if (env.STALLED_INTERVAL_MS > env.LOCK_DURATION_MS) {
    find(
      "CONFIG_CONFLICT",
      "STALLED_INTERVAL_MS",
      `STALLED_INTERVAL_MS (${env.STALLED_INTERVAL_MS}) is longer than LOCK_DURATION_MS (${env.LOCK_DURATION_MS}): silent workers would be found late`,
      "Make it a third of LOCK_DURATION_MS.",
    );
  }
  for (const name of env.WORKFLOW_ENV ?? []) {
    if (!secretNames.has(name)) continue;
    find(
      "CONFIG_SECRET_EXPOSED",
      "WORKFLOW_ENV",
      `WORKFLOW_ENV names ${name}, which would give Markmill's own credentials to workflows`,
      `Remove ${name} from WORKFLOW_ENV; give workflows a credential of their own.`,
    );
  }
  return findings;
}
