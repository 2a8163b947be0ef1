// What the programs work with: the environment with its alternatives spelled out, so that no caller asks "is this set?".
import type { Environment } from "./environment.ts";

export type Config = {
  readonly database: { readonly kind: "embedded" } | { readonly kind: "external"; readonly url: string };
  readonly queue: { readonly backend: "postgres" } | { readonly backend: "redis"; readonly url: string };
  /** As given; relative to the working directory. */
  readonly home: string;
  readonly pgPoolSize: number;
  /** 0 keeps finished runs. */
  readonly retentionDays: number;
  /** `kind`: where new files go; `s3`: the bucket, null where there is none. */
  readonly blobs: {
    readonly kind: "postgres" | "s3";
    readonly s3: {
      readonly bucket: string;
      /** null: Amazon's own. */
      readonly endpoint: string | null;
      readonly region: string;
      /** null: as the machine has them. */
      readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
      readonly pathStyle: boolean;
    } | null;
  };
  readonly models: {
    readonly baseUrl: string;
    readonly apiKey: string | null;
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
  };
  /** What no run may go beyond. */
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
    /** null: the usual one, or any. */
    readonly port: number | null;
    readonly url: string | null;
    readonly trustProxy: readonly string[];
    readonly requestsPerMinute: number;
    readonly uploadBytes: number;
    /** On the board. */
    readonly boardWrites: boolean;
  };
  /** The server the commands speak to; null: the stack of this directory. */
  readonly server: { readonly url: string; readonly token: string | null } | null;
  readonly logLevel: Environment["LOG_LEVEL"];
  readonly sandbox: {
    readonly kind: Environment["SANDBOX"];
    /** `none` runs commands on the bare machine only when the person at the command asked for it; set elsewhere it refuses them. */
    readonly byFlag: boolean;
    readonly hosts: readonly string[];
    readonly image: string;
    /** Every image a workflow may name, the default one first. */
    readonly images: readonly string[];
    readonly runtime: string | null;
    /** Names of thin walls the operator accepts. */
    readonly accept: readonly ("no-cgroup" | "old-engine")[];
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
  /** left out: a process that works on in this folder leaves the `.env` out as well. */
  readonly envFile: "counts" | "left out";
  /** The only variables of the environment that a workflow can see. */
  readonly workflowEnvironment: Readonly<Record<string, string>>;
};

export function shapeConfig(env: Environment, workflowEnvironment: Readonly<Record<string, string>>): Config {
  return {
    database: env.DATABASE_URL === undefined ? { kind: "embedded" } : { kind: "external", url: env.DATABASE_URL },
    queue:
      env.REDIS_URL === undefined || env.QUEUE_BACKEND === "postgres"
        ? { backend: "postgres" }
        : { backend: "redis", url: env.REDIS_URL },
    home: env.MARKMILL_HOME,
    pgPoolSize: env.PG_POOL_SIZE,
    retentionDays: env.RETENTION_DAYS,
    blobs: { kind: env.BLOBS, s3: bucketOf(env) },
    models: {
      baseUrl: env.OPENAI_BASE_URL,
      apiKey: env.OPENAI_API_KEY ?? null,
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
      accept: (env.SANDBOX_ACCEPT ?? []) as readonly ("no-cgroup" | "old-engine")[],
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
    envFile: "counts",
    workflowEnvironment,
  };
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
