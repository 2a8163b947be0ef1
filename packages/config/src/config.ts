// The configuration that the programs use: the environment with all defaults filled in, so that no caller checks whether a variable is set.
import type { AllowedAddress } from "./allowed-address.ts";
import type { Environment } from "./environment.ts";

export type Config = {
  readonly database: { readonly kind: "embedded" } | { readonly kind: "external"; readonly url: string };
  readonly queue: { readonly backend: "postgres" } | { readonly backend: "redis"; readonly url: string };
  /** The folder of these settings (find-project.ts); null: not read from a folder. */
  readonly project: string | null;
  /** Relative to the working directory. */
  readonly home: string;
  readonly pgPoolSize: number;
  /** 0 keeps finished runs. */
  readonly retentionDays: number;
  /** The credentials of this machine for students' repositories. */
  readonly git: {
    readonly token?: { readonly host: string; readonly value: string };
    readonly sshKey?: string;
    readonly knownHosts?: string;
    readonly caFile?: string;
  };
  /** The maximum number of parallel runs of classes: of all tenants, and of one tenant. */
  readonly batchRuns: { readonly most: number; readonly mostOfTenant: number };
  /** The maximum number of parallel runs of one tenant, among runs queued for a slot; null: derived from all workers' slots. */
  readonly runsPerTenant: number | null;
  /** `kind`: where new files are stored. `s3`: the bucket, null if there is none. */
  readonly blobs: {
    readonly kind: "postgres" | "s3";
    readonly s3: {
      readonly bucket: string;
      /** null: Amazon's own. */
      readonly endpoint: string | null;
      readonly region: string;
      /** null: the credentials of the machine. */
      readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
      readonly pathStyle: boolean;
    } | null;
  };
  readonly models: {
    readonly baseUrl: string;
    readonly apiKey: string | null;
    /** In lower case. */
    readonly keyHeader: string;
    readonly file: string;
    readonly defaultModel: string | null;
    readonly timeoutMs: number;
    readonly pauseMaxMs: number;
    readonly maxReplyBytes: number;
  };
  readonly worker: {
    readonly concurrency: { readonly control: number; readonly prompt: number; readonly execute: number };
    readonly lockDurationMs: number;
    readonly stalledIntervalMs: number;
    readonly drainTimeoutMs: number;
    /** The nice value of a process that is only a worker. */
    readonly nice: number;
  };
  /** The upper limits of every run. */
  readonly ceilings: {
    readonly steps: number;
    readonly depth: number;
    readonly runsPerRoot: number;
    readonly valueCharacters: number;
    readonly stateCharacters: number;
    readonly blobBytes: number;
  };
  readonly healthPort: number | null;
  readonly api: {
    readonly host: string;
    /** null: the default port, or any free port. */
    readonly port: number | null;
    readonly url: string | null;
    readonly trustProxy: readonly string[];
    /** The origins of other sites whose pages may call the API. */
    readonly corsOrigins: readonly string[];
    readonly requestsPerMinute: number;
    readonly uploadBytes: number;
    /** Whether the board may make changes. */
    readonly boardWrites: boolean;
  };
  /** The server that the commands use; null: the stack of this directory. */
  readonly server: { readonly url: string; readonly token: string | null } | null;
  readonly logLevel: Environment["LOG_LEVEL"];
  readonly sandbox: {
    readonly kind: Environment["SANDBOX"];
    /**
     * `none` runs commands directly on the machine, and only if the person at the command line requested it. Set anywhere else, it refuses
     * all commands.
     */
    readonly byFlag: boolean;
    readonly hosts: readonly string[];
    readonly image: string;
    /** Every image that a workflow may name, the default one first. */
    readonly images: readonly string[];
    readonly runtime: string | null;
    /** Names of the weak isolation (thin walls) that the operator accepts. */
    readonly accept: readonly ("no-cgroup" | "old-engine")[];
    /** True: people are not asked about thin walls. Those that `accept` does not name are refused. */
    readonly strict: boolean;
    readonly ceilings: {
      readonly memoryMb: number;
      readonly cpus: number;
      readonly pids: number;
      readonly diskMb: number;
      readonly fileKb: number;
      readonly wallMs: number;
      /** 0: no checkpoints. */
      readonly checkpointMb: number;
      readonly checkpointFiles: number;
      readonly checkpointSeconds: number;
    };
    readonly poolSize: number;
  };
  /** The addresses and secrets that tools of workflows may use. */
  readonly tools: {
    readonly allow: readonly AllowedAddress[];
    readonly secrets: Readonly<Record<string, { readonly value: string; readonly hosts: readonly string[] }>>;
    /** By name; null: off. */
    readonly builtins: Readonly<
      Record<
        "serper" | "duckduckgo" | "jina" | "browserless" | "scraper" | "stock",
        { readonly url: string; readonly key: string | null } | null
      >
    >;
    readonly timeoutMs: number;
    readonly maxTimeoutMs: number;
    readonly resultBytes: number;
  };
  /** null: off, and no telemetry module is loaded. */
  readonly telemetry: TelemetrySettings | null;
  /** left out: the `.env` file was ignored. A process that continues this work in the same folder must ignore it too. */
  readonly envFile: "counts" | "left out";
  /** The only variables of the environment that a workflow can see. */
  readonly workflowEnvironment: Readonly<Record<string, string>>;
};

export interface TelemetrySettings {
  /** Complete addresses; null: nothing is sent. */
  readonly tracesUrl: string | null;
  readonly metricsUrl: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  /** The share of runs that are traced, 0 to 1. */
  readonly share: number;
  readonly metricsEveryMs: number;
  readonly spans: { readonly everyMs: number; readonly mostWaiting: number; readonly mostTogether: number };
}

export function shapeConfig(env: Environment, workflowEnvironment: Readonly<Record<string, string>>): Config {
  return {
    database: env.DATABASE_URL === undefined ? { kind: "embedded" } : { kind: "external", url: env.DATABASE_URL },
    queue:
      env.REDIS_URL === undefined || env.QUEUE_BACKEND === "postgres"
        ? { backend: "postgres" }
        : { backend: "redis", url: env.REDIS_URL },
    project: null,
    home: env.MARKMILL_HOME,
    pgPoolSize: env.PG_POOL_SIZE,
    retentionDays: env.RETENTION_DAYS,
    git: {
      ...(env.GIT_TOKEN === undefined || env.GIT_TOKEN_HOST === undefined
        ? {}
        : { token: { host: env.GIT_TOKEN_HOST, value: env.GIT_TOKEN } }),
      ...(env.GIT_SSH_KEY === undefined ? {} : { sshKey: env.GIT_SSH_KEY }),
      ...(env.GIT_CA_FILE === undefined ? {} : { caFile: env.GIT_CA_FILE }),
      ...(env.GIT_KNOWN_HOSTS === undefined ? {} : { knownHosts: env.GIT_KNOWN_HOSTS }),
    },
    batchRuns: { most: env.BATCH_RUNS, mostOfTenant: env.BATCH_RUNS_PER_TENANT },
    runsPerTenant: env.RUNS_PER_TENANT ?? null,
    blobs: { kind: env.BLOBS, s3: bucketOf(env) },
    models: {
      baseUrl: env.OPENAI_BASE_URL,
      apiKey: env.OPENAI_API_KEY ?? null,
      keyHeader: env.OPENAI_KEY_HEADER.toLowerCase(),
      file: env.MODELS_FILE,
      defaultModel: env.DEFAULT_MODEL ?? null,
      timeoutMs: env.MODEL_TIMEOUT_MS,
      pauseMaxMs: env.MODEL_PAUSE_MAX_MS,
      maxReplyBytes: env.MAX_REPLY_BYTES,
    },
    worker: {
      concurrency: {
        control: env.WORKER_CONCURRENCY_CONTROL,
        prompt: env.WORKER_CONCURRENCY_PROMPT,
        execute: env.WORKER_CONCURRENCY_EXECUTE,
      },
      lockDurationMs: env.LOCK_DURATION_MS,
      stalledIntervalMs: env.STALLED_INTERVAL_MS,
      drainTimeoutMs: env.DRAIN_TIMEOUT_MS,
      nice: env.WORKER_NICE,
    },
    ceilings: {
      steps: env.CEILING_STEPS,
      depth: env.CEILING_DEPTH,
      runsPerRoot: env.CEILING_RUNS,
      valueCharacters: env.CEILING_VALUE_CHARS,
      stateCharacters: env.CEILING_STATE_CHARS,
      blobBytes: env.CEILING_BLOB_MB * 1024 * 1024,
    },
    healthPort: env.HEALTH_PORT ?? null,
    api: {
      host: env.API_HOST,
      port: env.API_PORT ?? null,
      url: env.API_URL ?? null,
      trustProxy: env.API_TRUST_PROXY ?? [],
      corsOrigins: env.API_CORS_ORIGINS ?? [],
      requestsPerMinute: env.API_RATE_PER_MINUTE,
      uploadBytes: env.API_UPLOAD_MB * 1024 * 1024,
      boardWrites: env.BOARD_WRITES === "yes",
    },
    server: env.MARKMILL_URL === undefined ? null : { url: env.MARKMILL_URL, token: env.MARKMILL_TOKEN ?? null },
    logLevel: env.LOG_LEVEL,
    sandbox: {
      kind: env.SANDBOX,
      byFlag: false,
      hosts: env.SANDBOX_HOSTS ?? [],
      image: env.SANDBOX_IMAGE,
      images: [...new Set([env.SANDBOX_IMAGE, ...(env.SANDBOX_IMAGES ?? [])])],
      runtime: env.SANDBOX_RUNTIME ?? null,
      accept: wallsNamed(env.SANDBOX_ACCEPT ?? []),
      strict: env.SANDBOX_ACCEPT?.includes("none") === true,
      ceilings: {
        memoryMb: env.SANDBOX_MEMORY_MB,
        cpus: env.SANDBOX_CPUS,
        pids: env.SANDBOX_PIDS,
        diskMb: env.SANDBOX_DISK_MB,
        fileKb: env.SANDBOX_FILE_KB,
        wallMs: env.SANDBOX_WALL_MS,
        checkpointMb: env.SANDBOX_CHECKPOINT_MB,
        checkpointFiles: env.SANDBOX_CHECKPOINT_FILES,
        checkpointSeconds: env.SANDBOX_CHECKPOINT_SECONDS,
      },
      poolSize: env.SANDBOX_POOL_SIZE,
    },
    tools: {
      allow: env.TOOL_ALLOW ?? [],
      secrets: env.TOOL_SECRETS ?? {},
      builtins: {
        serper: env.TOOL_SERPER_KEY === undefined ? null : { url: env.TOOL_SERPER_URL, key: env.TOOL_SERPER_KEY },
        duckduckgo: endpointOf(env.TOOL_DUCKDUCKGO_URL),
        jina: endpointOf(env.TOOL_JINA_URL, env.TOOL_JINA_KEY),
        browserless: endpointOf(env.TOOL_BROWSERLESS_URL, env.TOOL_BROWSERLESS_KEY),
        scraper: env.TOOL_SCRAPER === "yes" ? { url: "", key: null } : null,
        stock: endpointOf(env.TOOL_STOCK_URL),
      },
      timeoutMs: env.TOOL_TIMEOUT_MS,
      maxTimeoutMs: Math.max(env.TOOL_TIMEOUT_MS, env.TOOL_TIMEOUT_MAX_MS),
      resultBytes: env.TOOL_RESULT_KB * 1024,
    },
    telemetry: telemetryOf(env),
    envFile: "counts",
    workflowEnvironment,
  };
}

function endpointOf(url: string | undefined, key?: string) {
  return url === undefined ? null : { url, key: key ?? null };
}

function telemetryOf(env: Environment): TelemetrySettings | null {
  if (env.OTEL_SDK_DISABLED.toLowerCase() === "true") return null;
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const at = (path: string) => (base === undefined ? null : withPath(base, path));
  const sampler = env.OTEL_TRACES_SAMPLER.replace(/^parentbased_/, "");
  const share = sampler === "always_on" ? 1 : sampler === "always_off" ? 0 : env.OTEL_TRACES_SAMPLER_ARG;
  const traced = env.OTEL_TRACES_EXPORTER !== "none" && share > 0;
  const tracesUrl = traced ? (env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? at("v1/traces")) : null;
  const metricsUrl =
    env.OTEL_METRICS_EXPORTER === "none" ? null : (env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? at("v1/metrics"));
  if (tracesUrl === null && metricsUrl === null) return null;
  return {
    tracesUrl,
    metricsUrl,
    share,
    headers: pairsOf(env.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMs: env.OTEL_EXPORTER_OTLP_TIMEOUT,
    serviceName: env.OTEL_SERVICE_NAME,
    resource: pairsOf(env.OTEL_RESOURCE_ATTRIBUTES),
    metricsEveryMs: env.OTEL_METRIC_EXPORT_INTERVAL,
    spans: {
      everyMs: env.OTEL_BSP_SCHEDULE_DELAY,
      mostWaiting: env.OTEL_BSP_MAX_QUEUE_SIZE,
      mostTogether: Math.min(env.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, env.OTEL_BSP_MAX_QUEUE_SIZE),
    },
  };
}

/** Appends the path to the path of the address, before its parameters. */
function withPath(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "")}/${path}`;
  return url.href;
}

/** Parses name=value pairs, comma-separated and percent-encoded, as OpenTelemetry writes them. Other text is left out. */
function pairsOf(text = ""): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    return at < 1 || name === "" ? [] : [[decoded(name), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function bucketOf(env: Environment): Config["blobs"]["s3"] {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (bucket === undefined) return null;
  const given = accessKeyId !== undefined && secretAccessKey !== undefined;
  return {
    bucket,
    endpoint: env.S3_ENDPOINT ?? null,
    region: env.S3_REGION,
    credentials: given ? { accessKeyId, secretAccessKey } : null,
    pathStyle: env.S3_PATH_STYLE === "yes",
  };
}

/** The valid names of thin walls, each once. */
export function wallsNamed(names: readonly string[]): readonly ("no-cgroup" | "old-engine")[] {
  return (["no-cgroup", "old-engine"] as const).filter((wall) => names.includes(wall));
}
