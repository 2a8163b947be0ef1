// The only reader of the environment. It reports all errors at once.
import { join, resolve } from "node:path";
import { acceptedWalls } from "./accepted-walls.ts";
import { type Config, shapeConfig, wallsNamed } from "./config.ts";
import { type EnvFile, type EnvFilePlace, loadEnvFile, readEnvFile, settingsIn } from "./env-file.ts";
import { type Environment, environmentSchema, pathNames, secretNames, type VariableName } from "./environment.ts";
import { findProject } from "./find-project.ts";
import { isForeignHome } from "./project-home.ts";
import { redactText } from "./redact-config.ts";

export const configFindingCodes = {
  CONFIG_INVALID: {
    means: "A variable has a value of the wrong type.",
    fix: "Correct the value as described in the message.",
  },
  CONFIG_MISSING: {
    means: "A variable needs another variable that is not set.",
    fix: "Set the missing variable, or correct the other one.",
  },
  CONFIG_CONFLICT: { means: "Two variables contradict each other.", fix: "Correct one of the two variables." },
  CONFIG_SECRET_EXPOSED: {
    means: "WORKFLOW_ENV names a secret of Markmill, which workflows could then read.",
    fix: "Remove it from WORKFLOW_ENV.",
  },
  CONFIG_UNREADABLE: {
    means: "The .env file cannot be read.",
    fix: "Save it as a UTF-8 text file that you may read, or remove it. --no-env-file ignores it.",
  },
  CONFIG_HOME_NOT_TRUSTED: {
    means:
      "You did not create the folder of Markmill's state (.markmill) on this machine. Its database could run programs as you.",
    fix: "If you moved, copied or restored the folder, run 'markmill trust'. Otherwise, remove it.",
  },
  CONFIG_KEY_ELSEWHERE: {
    means: "The API key and its endpoint come from different places.",
    fix: "Set both in the environment, or both in the .env file.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ConfigFinding = {
  readonly code: keyof typeof configFindingCodes;
  readonly variable: string;
  readonly message: string;
  readonly fix: string;
};

export type ConfigReading =
  | { readonly ok: true; readonly config: Config /** Notes for the user. */; readonly notes: readonly string[] }
  | { readonly ok: false; readonly findings: readonly ConfigFinding[] };

export type EnvironmentText = Readonly<Record<string, string | undefined>>;

export function readConfig(given: EnvironmentText): ConfigReading {
  const env = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ""));
  const parsed = environmentSchema.safeParse(env);
  if (!parsed.success) {
    // One finding per variable: a list with five bad items is one mistake to correct.
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
  return { ok: true, config: shapeConfig(parsed.data, Object.fromEntries(visible)), notes: [] };
}

let envFileLeftOut = false;

/** From now on this process ignores `.env` files. */
export function leaveOutEnvFile(): void {
  envFileLeftOut = true;
}

/**
 * The process's environment, combined with the trusted `.env` file of the project that contains `cwd`, as the commands see it. The
 * environment takes precedence.
 */
export function readProcessConfig(cwd: string, place: EnvFilePlace = {}): ConfigReading {
  const project = findProject(cwd);
  const envFile = join(project, ".env");
  const file = readEnvFile(envFile, cwd, { ...place, ...(envFileLeftOut ? { leaveOut: true } : {}) });
  if (file.is === "unreadable") {
    const { fix } = configFindingCodes.CONFIG_UNREADABLE;
    return {
      ok: false,
      findings: [{ code: "CONFIG_UNREADABLE", variable: envFile, message: `${envFile} ${file.why}`, fix }],
    };
  }
  const taken = file.is === "read" ? file.taken : {};
  const apart = keyElsewhere(taken, process.env);
  if (apart !== null) return { ok: false, findings: [apart] };
  const paths = project === cwd ? {} : fromProject(taken, project);
  const reading = readConfig({ ...taken, ...paths, ...process.env });
  if (!reading.ok) return reading;
  const config = inProject(withWalls(reading.config, project), project, cwd);
  const home = resolve(cwd, config.home);
  if (isForeignHome(home)) {
    const message = `You did not create ${home} on this machine, and its database could run programs as you`;
    const { fix } = configFindingCodes.CONFIG_HOME_NOT_TRUSTED;
    return { ok: false, findings: [{ code: "CONFIG_HOME_NOT_TRUSTED", variable: "MARKMILL_HOME", message, fix }] };
  }
  const notes = [...projectNotes(project, cwd), ...(file.is === "read" ? noteOf(envFile, file) : [])];
  const leftOut = file.is === "read" && (file.because === "submission" || file.because === "asked");
  return { ok: true, config: { ...config, envFile: leftOut ? "left out" : "counts" }, notes };
}

/** Paths in a `.env` file are relative to the folder of the file. */
function fromProject(taken: EnvironmentText, project: string): EnvironmentText {
  const relative = Object.entries(taken).filter(
    ([name, value]) => pathNames.has(name) && value !== undefined && value !== "",
  );
  return Object.fromEntries(relative.map(([name, value]) => [name, resolve(project, value ?? "")]));
}

/** If the project is above the working directory, its state and prices are those of the project. */
function inProject(config: Config, project: string, cwd: string): Config {
  if (project === cwd) return { ...config, project };
  const { models } = config;
  const given = process.env.MODELS_FILE !== undefined && process.env.MODELS_FILE !== "";
  const file = given ? models.file : resolve(project, models.file);
  return { ...config, project, home: resolve(project, config.home), models: { ...models, file } };
}

function projectNotes(project: string, cwd: string): string[] {
  if (project === cwd) return [];
  const found = `the project is ${project}, a parent of the working directory`;
  const here = loadEnvFile(join(cwd, ".env"));
  if (here.is !== "loaded" || settingsIn(here.values).length === 0) return [found];
  return [found, `${join(cwd, ".env")} is ignored: settings come from the .env of the project.`];
}

/** Adds the walls that a person accepted for the project to SANDBOX_ACCEPT, unless SANDBOX_ACCEPT accepts none. */
function withWalls(config: Config, project: string): Config {
  const { accept, strict } = config.sandbox;
  const remembered = strict ? [] : acceptedWalls(project);
  return { ...config, sandbox: { ...config.sandbox, accept: wallsNamed([...accept, ...remembered]) } };
}

/** A key is sent only to the endpoint that was set in the same place, or to the default endpoint, never to one that another person set. */
export function keyElsewhere(file: EnvironmentText, environment: EnvironmentText): ConfigFinding | null {
  const originOf = (name: VariableName) => {
    if (environment[name] !== undefined) return environment[name] === "" ? null : "the environment";
    return file[name] === undefined || file[name] === "" ? null : ".env";
  };
  const [key, endpoint] = [originOf("OPENAI_API_KEY"), originOf("OPENAI_BASE_URL")];
  if (key === null || endpoint === null || key === endpoint) return null;
  return {
    code: "CONFIG_KEY_ELSEWHERE",
    variable: "OPENAI_BASE_URL",
    message: `OPENAI_API_KEY comes from ${key}, but OPENAI_BASE_URL comes from ${endpoint}: Markmill does not send a key to an endpoint from another place`,
    fix: `Set both in ${key}, or both in ${endpoint}. For an endpoint without a key, set OPENAI_API_KEY= (empty) in the environment.`,
  };
}

function noteOf(envFile: string, { leftOut, because }: Extract<EnvFile, { is: "read" }>): string[] {
  if (leftOut.length === 0) return [];
  const names = leftOut.slice(0, 6).join(", ") + (leftOut.length > 6 ? ", …" : "");
  switch (because) {
    case "submission":
      return [`${envFile} is inside the submission, so it is ignored (${names}).`];
    case "foreign":
      return [
        `${envFile} is ignored, because other users can change it (${names}). Let only your user write it: chmod 600 ${envFile}`,
      ];
    case "undecided":
      return [
        `${envFile} is ignored, because you have not trusted it (${names}). If you know its content: markmill trust`,
      ];
    case "refused":
      return [`${envFile} is ignored, because you refused to trust it (${names}). To change this: markmill trust`];
    default:
      return [];
  }
}

export function describeFindings(findings: readonly ConfigFinding[]): string {
  return findings.map(({ code, message, fix }) => `${code}: ${message}\n  fix: ${fix}`).join("\n");
}

function invalid(name: string, message: string, value: string | undefined): ConfigFinding {
  // Even an invalid address may contain a password.
  const telling = value !== undefined && !secretNames.has(name) && !value.includes("@");
  const shown = telling ? `, but is ${JSON.stringify(redactText(value, null).slice(0, 80))}` : "";
  return {
    code: "CONFIG_INVALID",
    variable: name,
    message: `${name} ${message}${shown}`,
    fix: `Correct ${name} in the environment or in .env, or unset it for its default.`,
  };
}

const ratio = ["always_on", "always_off", "traceidratio"];
const spoken = {
  OTEL_EXPORTER_OTLP_PROTOCOL: ["http/protobuf"],
  OTEL_TRACES_EXPORTER: ["otlp", "none"],
  OTEL_METRICS_EXPORTER: ["otlp", "none"],
  OTEL_TRACES_SAMPLER: [...ratio, ...ratio.map((name) => `parentbased_${name}`)],
};

const telemetryIsOn = (env: Environment) => shapeConfig(env, {}).telemetry !== null;

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
  if (env.BLOBS === "s3" && env.S3_BUCKET === undefined) {
    find("CONFIG_MISSING", "S3_BUCKET", "BLOBS is s3, but S3_BUCKET is not set", "Set S3_BUCKET, or BLOBS=postgres.");
  }
  if ((env.S3_ACCESS_KEY_ID === undefined) !== (env.S3_SECRET_ACCESS_KEY === undefined)) {
    const missing = env.S3_ACCESS_KEY_ID === undefined ? "S3_ACCESS_KEY_ID" : "S3_SECRET_ACCESS_KEY";
    find(
      "CONFIG_MISSING",
      missing,
      `${missing} is not set, but the other part of the key is`,
      "Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or neither.",
    );
  }
  if (env.STALLED_INTERVAL_MS > env.LOCK_DURATION_MS) {
    find(
      "CONFIG_CONFLICT",
      "STALLED_INTERVAL_MS",
      `STALLED_INTERVAL_MS (${env.STALLED_INTERVAL_MS}) is longer than LOCK_DURATION_MS (${env.LOCK_DURATION_MS}), so crashed workers would be detected late`,
      "Set it to a third of LOCK_DURATION_MS.",
    );
  }
  for (const [name, known] of Object.entries(spoken)) {
    const value = env[name as keyof typeof spoken];
    // Other programs read these variables too. They concern us only if telemetry is on.
    if (known.includes(value) || !telemetryIsOn(env)) continue;
    const message = `${name} is ${JSON.stringify(value.slice(0, 40))}, but only ${known.join(", ")} is supported`;
    find("CONFIG_CONFLICT", name as VariableName, message, `Set ${name}=${known[0]}, or OTEL_SDK_DISABLED=true.`);
  }
  for (const name of env.WORKFLOW_ENV ?? []) {
    if (!secretNames.has(name)) continue;
    find(
      "CONFIG_SECRET_EXPOSED",
      "WORKFLOW_ENV",
      `WORKFLOW_ENV names ${name}, which would give Markmill's own credentials to workflows`,
      `Remove ${name} from WORKFLOW_ENV, and give workflows their own credentials.`,
    );
  }
  return findings;
}
