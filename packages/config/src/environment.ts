// All environment variables with their meaning, unit and default. `.env.example` is generated from this file.
//
// V1 An empty value counts as not set: compose files and shells pass `NAME=` for "not set".
// V2 A secret has no default and never appears in a message.
// V3 A trusted `.env` file sets any of them, an untrusted one sets none (env-file.ts).
import { z } from "zod";
import { parseAllowed } from "./allowed-address.ts";
import { modelAddress } from "./model-address.ts";

type VariableFacts = {
  readonly section: string;
  readonly description: string;
  /** The default, written as in the environment. null: a missing variable has its own meaning, given in the description. */
  readonly fallback: string | null;
  readonly unit?: string;
  readonly secret?: true;
  /** A path: in a `.env` file it is relative to the folder of the file. */
  readonly path?: true;
};

type Telling = Omit<VariableFacts, "section" | "fallback">;

const told = new Map<z.ZodType, Omit<VariableFacts, "section">>();

function optional<S extends z.ZodType>(schema: S, telling: Telling): z.ZodOptional<S> {
  const variable = z.optional(schema);
  told.set(variable, { ...telling, fallback: null });
  return variable;
}

function defaulted<S extends z.ZodType<unknown, string>>(
  fallback: z.input<S>,
  schema: S,
  telling: Telling,
): z.ZodPrefault<S> {
  const variable = z.prefault(schema, fallback);
  told.set(variable, { ...telling, fallback });
  return variable;
}

function whole(least: number, most: number) {
  const range = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\s*-?\d+\s*$/, range)
    .transform(Number)
    .pipe(z.number().min(least, range).max(most, range));
}

function decimal(least: number, most: number) {
  const range = `must be a number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\s*\d+(\.\d+)?\s*$/, range)
    .transform(Number)
    .pipe(z.number().min(least, range).max(most, range));
}

function choice<const Options extends readonly [string, ...string[]]>(options: Options) {
  return z.string().pipe(z.enum(options, `must be one of ${options.join(", ")}`));
}

function address(schemes: readonly string[]) {
  const example = schemes.map((scheme) => `${scheme}://…`).join(" or ");
  return z
    .string()
    .refine(
      (text) => URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1)),
      `must be a URL of the form ${example}`,
    );
}

/** pg accepts a URL without a host if the socket directory is a parameter; the URL standard does not. */
const postgresAddress = z
  .string()
  .refine(
    (text) => /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace("@/", "@localhost/")),
    "must be a URL of the form postgresql://user:password@host:5432/database",
  );

function list(item: RegExp, items: string) {
  return z
    .string()
    .transform((text) => text.split(",").map((part) => part.trim()))
    .pipe(z.array(z.string().regex(item, `must be a comma-separated list of ${items}`)));
}

const text = z.string().trim().min(1, "must not be blank");
const minute = 60_000;

const stores = {
  DATABASE_URL: optional(postgresAddress, {
    description:
      "Postgres 14 or newer, directly or behind a connection pooler in session mode; the database in UTF8. Default: Markmill starts a Postgres of its own below MARKMILL_HOME.",
    secret: true,
  }),
  PG_POOL_SIZE: defaulted("10", whole(1, 500), {
    description: "Maximum number of connections that each process opens to Postgres, without those of the queue.",
    unit: "connections",
  }),
  REDIS_URL: optional(address(["redis", "rediss"]), {
    description:
      "One Redis server, not a Cluster: 6.2 or newer with maxmemory-policy noeviction. Default: the queue is in Postgres.",
    secret: true,
  }),
  QUEUE_BACKEND: defaulted("auto", choice(["auto", "redis", "postgres"]), {
    description: "Where the queue is: auto uses Redis if REDIS_URL is set, else Postgres.",
  }),
  MARKMILL_HOME: defaulted(".markmill", text, {
    description: "Directory of all data that Markmill keeps on this machine, relative to the project's folder.",
    path: true,
  }),
  RETENTION_DAYS: defaulted("0", whole(0, 36_500), {
    description: "Markmill deletes finished runs after this time; 0 keeps them.",
    unit: "days",
  }),
  GIT_TOKEN: optional(text, {
    description:
      "Token with which `markmill grade` reads students' repositories over https at GIT_TOKEN_HOST, at addresses that class.yaml contains or allows.",
    secret: true,
  }),
  GIT_TOKEN_HOST: optional(text, { description: "The host of GIT_TOKEN, such as github.com." }),
  GIT_SSH_KEY: optional(text, {
    description:
      "File with the key for students' repositories over ssh. Default: the keys of the user who runs the command.",
    path: true,
  }),
  GIT_KNOWN_HOSTS: optional(text, {
    description:
      "File with the keys of ssh hosts, in the form of known_hosts. Default: that of the user who runs the command.",
    path: true,
  }),
  GIT_CA_FILE: optional(text, {
    description: "Certificates of your own authority for students' repositories over https. Default: the system's.",
    path: true,
  }),
  BATCH_RUNS: defaulted("256", whole(1, 100_000), {
    description: "Maximum number of runs of classes at the same time, of all classes together.",
    unit: "runs",
  }),
  BATCH_RUNS_PER_TENANT: defaulted("192", whole(1, 100_000), {
    description:
      "Maximum number of these runs for one tenant, with any number of classes; the rest stays free for other tenants.",
    unit: "runs",
  }),
  RUNS_PER_TENANT: optional(whole(1, 1_000_000), {
    description:
      "Maximum number of runs of one tenant at the same time, of those started through the API. Its other runs are queued, so that later tenants need not wait for them. Default: twice the slots of all workers, at least 64.",
    unit: "runs",
  }),
  BLOBS: defaulted("postgres", choice(["postgres", "s3"]), {
    description:
      "Where new files (submissions, uploads) are stored. Existing files stay where they are, and can be read.",
  }),
  S3_BUCKET: optional(text, {
    description: "Bucket for files; it must exist. Default: no bucket is read or written.",
  }),
  S3_ENDPOINT: optional(address(["http", "https"]), {
    description: "Address of an S3-compatible server. Default: Amazon's own.",
  }),
  S3_REGION: defaulted("us-east-1", text, { description: "Region of the bucket; many servers accept any." }),
  S3_ACCESS_KEY_ID: optional(text, {
    description:
      "Key to the bucket. Default: the key that the AWS client finds on the machine (AWS_… variables, a profile, a role).",
    secret: true,
  }),
  S3_SECRET_ACCESS_KEY: optional(text, { description: "The secret that belongs to S3_ACCESS_KEY_ID.", secret: true }),
  S3_PATH_STYLE: defaulted("yes", choice(["yes", "no"]), {
    description: "yes: the bucket is in the path of addresses, as most servers other than Amazon's need it.",
  }),
};

const models = {
  OPENAI_BASE_URL: defaulted(
    "https://api.openai.com/v1",
    z
      .string()
      .transform(modelAddress)
      .pipe(address(["http", "https"])),
    {
      description:
        "Address of an OpenAI-compatible endpoint, including its API path (docs/endpoints.md). Markmill removes spaces, quotes, slashes at the end and /chat/completions.",
    },
  ),
  OPENAI_API_KEY: optional(text, {
    description:
      "Key of the endpoint; local endpoints often need none. It is sent only to an endpoint that is set in the same place, or to the default one.",
    secret: true,
  }),
  OPENAI_KEY_HEADER: defaulted("authorization", text.regex(/^[A-Za-z0-9-]+$/, "must be the name of an HTTP header"), {
    description:
      "The header with the key. authorization: 'Bearer KEY'. Any other, such as Azure's api-key: the key alone.",
  }),
  MODELS_FILE: defaulted("models.yaml", text, {
    description: "File with aliases, prices, context sizes and rate limits of models; it may be missing.",
    path: true,
  }),
  DEFAULT_MODEL: optional(text, {
    description: "Model or alias for workflows that name none. Default: every workflow must name one.",
  }),
  MODEL_TIMEOUT_MS: defaulted("600000", whole(1_000, 24 * 60 * minute), {
    description: "Longest wait for one reply of a model.",
    unit: "ms",
  }),
  MODEL_PAUSE_MAX_MS: defaulted("300000", whole(100, 24 * 60 * minute), {
    description:
      "Longest pause of a model that refused, even if it asked for a longer one. Then one request tries it again.",
    unit: "ms",
  }),
  MAX_REPLY_BYTES: defaulted("4194304", whole(1_024, 256 * 1024 * 1024), {
    description: "A longer reply of a model fails its call.",
    unit: "bytes",
  }),
};

const processes = {
  WORKER_CONCURRENCY_CONTROL: defaulted("50", whole(1, 1_000), {
    description: "Activities without waiting (check, set, assign, call) that one worker performs at the same time.",
    unit: "activities",
  }),
  WORKER_CONCURRENCY_PROMPT: defaulted("20", whole(1, 1_000), {
    description:
      "Model calls that one worker makes at the same time. From 8 on, it also prepares further prompts: an eighth of this number, or up to the same number if models answer quickly.",
    unit: "activities",
  }),
  WORKER_CONCURRENCY_EXECUTE: defaulted("4", whole(1, 1_000), {
    description: "Commands that one worker runs at the same time.",
    unit: "activities",
  }),
  WORKER_NICE: defaulted("10", whole(0, 19), {
    description:
      "Unix niceness of a worker's process, which lets other processes of the machine (such as the API) go first. 0: no niceness.",
  }),
  LOCK_DURATION_MS: defaulted("3000", whole(500, 10 * minute), {
    description:
      "After this time without a sign of its worker, another worker takes an activity over. A prompt is taken over only if the worker was killed, or was paused for longer than MODEL_TIMEOUT_MS.",
    unit: "ms",
  }),
  STALLED_INTERVAL_MS: defaulted("1000", whole(100, 10 * minute), {
    description: "Time between two checks for silent workers.",
    unit: "ms",
  }),
  DRAIN_TIMEOUT_MS: defaulted("30000", whole(0, 60 * minute), {
    description: "How long a stopping worker may finish its activities before it releases them.",
    unit: "ms",
  }),
  HEALTH_PORT: optional(whole(0, 65_535), {
    description:
      "Port of /health/live and /health/ready on all interfaces, 0 for any free one. Default: no port is opened.",
  }),
  LOG_LEVEL: defaulted("info", choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]), {
    description: "Least severe log line that is written.",
  }),
};

const sandbox = {
  SANDBOX: defaulted("auto", choice(["auto", "docker", "jail", "none"]), {
    description:
      "Where commands of workflows run: auto uses Docker, else a jail, else refuses; none refuses all commands (only the flag --sandbox none runs them on the bare machine).",
  }),
  SANDBOX_HOSTS: optional(
    list(/^(unix|tcp|ssh|https?):\/\/\S+$/, "Docker addresses such as unix:///var/run/docker.sock"),
    {
      description:
        "Docker engines, comma-separated. Default: the local one. docker-compose.yml includes an engine of its own (docs/operations.md, Where commands run).",
    },
  ),
  SANDBOX_IMAGE: defaulted("markmill-sandbox", text, { description: "Image for workflows that name none." }),
  SANDBOX_IMAGES: optional(list(/^[\w][\w./:@-]*$/, "image names"), {
    description: "Further images that workflows may name, comma-separated. Default: only SANDBOX_IMAGE.",
  }),
  SANDBOX_RUNTIME: optional(text, {
    description: "OCI runtime of the engine, for example runsc (gVisor). Default: the engine's own.",
  }),
  SANDBOX_ACCEPT: optional(list(/^(no-cgroup|old-engine|none)$/, "no-cgroup and old-engine, or none"), {
    description:
      "Weak protections that the operator accepts, comma-separated: no-cgroup (a jail whose memory is watched, not bounded), old-engine (Docker or runc with known escapes). none: accept nothing and ask nothing. Default: Markmill asks a person once for a project; workers refuse.",
  }),
  SANDBOX_MEMORY_MB: defaulted("512", whole(16, 1_048_576), {
    description: "Maximum memory of a session.",
    unit: "MiB",
  }),
  SANDBOX_CPUS: defaulted("1", decimal(0.05, 1_024), {
    description: "Maximum processors of a session.",
    unit: "cores",
  }),
  SANDBOX_PIDS: defaulted("128", whole(4, 100_000), {
    description: "Maximum number of processes and threads of a session.",
    unit: "processes",
  }),
  SANDBOX_DISK_MB: defaulted("256", whole(1, 1_048_576), {
    description: "Maximum that a session may write.",
    unit: "MiB",
  }),
  SANDBOX_FILE_KB: defaulted("8192", whole(1, 1_048_576), {
    description: "Maximum size of a file that a workflow reads or writes as a value; 1024 if the workflow sets none.",
    unit: "KiB",
  }),
  SANDBOX_WALL_MS: defaulted("300000", whole(100, 24 * 60 * minute), {
    description: "Maximum time of one command.",
    unit: "ms",
  }),
  SANDBOX_CHECKPOINT_MB: defaulted("128", whole(0, 4_096), {
    description:
      "Maximum size of a checkpoint of a session's files, from which an interrupted command is repeated; a run has two at most. 0: no checkpoints.",
    unit: "MiB",
  }),
  SANDBOX_CHECKPOINT_FILES: defaulted("20000", whole(100, 200_000), {
    description: "Maximum number of entries in a checkpoint: files, folders and links together.",
    unit: "entries",
  }),
  SANDBOX_CHECKPOINT_SECONDS: defaulted("10", whole(1, 600), {
    description: "Maximum time to look through a session's files for a checkpoint.",
    unit: "s",
  }),
  SANDBOX_POOL_SIZE: defaulted("2", whole(0, 256), {
    description: "Sessions that a worker keeps ready; 0 starts each session when it is needed.",
    unit: "sessions",
  }),
  WORKFLOW_ENV: optional(list(/^[A-Za-z_][A-Za-z0-9_]*$/, "variable names"), {
    description: "Names of further variables that workflows may read, comma-separated. Default: none.",
  }),
};

const secretsSchema = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  z.strictObject({
    value: z.string().regex(/^[\x20-\x7e]+$/),
    hosts: z.array(z.string().regex(/^(http:\/\/)?([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:\d{1,5})?$/)).min(1),
  }),
);
const secretsForm = 'must be JSON of the form {"NAME":{"value":"…","hosts":["api.example.org"]}}';

const tools = {
  TOOL_ALLOW: optional(
    z
      .string()
      .transform((given) => given.split(",").map((part) => parseAllowed(part)))
      .pipe(
        z.array(
          z.custom<NonNullable<ReturnType<typeof parseAllowed>>>(
            (one) => one !== null,
            "must be a comma-separated list of addresses or networks such as 10.1.0.0/16, 127.0.0.1:8080 or [::1]:3000",
          ),
        ),
      ),
    {
      description:
        "Private, loopback and link-local addresses that tools of workflows and webhooks may reach, comma-separated, with a port or without. Workers read it for tools, the supervisor for webhooks. Default: public addresses only.",
    },
  ),
  TOOL_SECRETS: optional(
    z.string().transform((given, context) => {
      try {
        const parsed = secretsSchema.safeParse(JSON.parse(given));
        if (parsed.success) return parsed.data;
      } catch {
        // The same message for every error, because the text contains secrets.
      }
      context.addIssue({ code: "custom", message: secretsForm });
      return z.NEVER;
    }),
    {
      description:
        'Secrets that headers of tools may name, with the hosts that may get them: {"NAME":{"value":"…","hosts":["api.example.org"]}}. They are sent over https; to a host written http://HOST also without. Default: none.',
      secret: true,
    },
  ),
  TOOL_SERPER_KEY: optional(text, {
    description: "Key of the built-in tool serper, a web search. Default: the tool is off.",
    secret: true,
  }),
  TOOL_SERPER_URL: defaulted("https://google.serper.dev", address(["http", "https"]), {
    description: "Address of serper; /search, /scholar or /news is added.",
  }),
  TOOL_DUCKDUCKGO_URL: optional(address(["http", "https"]), {
    description:
      "Address of the built-in tool duckduckgo, such as https://html.duckduckgo.com/html/. Default: the tool is off.",
  }),
  TOOL_JINA_URL: optional(address(["http", "https"]), {
    description:
      "Reader of the built-in tool jina, such as https://r.jina.ai; the page's address is added. Default: the tool is off.",
  }),
  TOOL_JINA_KEY: optional(text, { description: "Key of TOOL_JINA_URL. Default: no key is sent.", secret: true }),
  TOOL_BROWSERLESS_URL: optional(address(["http", "https"]), {
    description:
      "Headless browser of the built-in tool browserless, such as http://127.0.0.1:3000; TOOL_ALLOW must then name it. Keep the browser out of your own network, because pages choose what it loads. Default: the tool is off.",
  }),
  TOOL_BROWSERLESS_KEY: optional(text, {
    description: "Token of TOOL_BROWSERLESS_URL. Default: no token is sent.",
    secret: true,
  }),
  TOOL_SCRAPER: defaulted("no", choice(["no", "yes"]), {
    description: "yes: the built-in tool scraper is on; it reads public pages without another service.",
  }),
  TOOL_STOCK_URL: optional(
    z
      .string()
      .refine(
        (given) => URL.canParse(given) && /^https?:/.test(given) && given.includes("{ticker}"),
        "must be a URL with {ticker}, and {exchange} where it is needed",
      ),
    {
      description:
        "Address of the built-in tool stock, with the placeholders {exchange} and {ticker}. Default: the tool is off.",
    },
  ),
  TOOL_TIMEOUT_MS: defaulted("30000", whole(100, 60 * minute), {
    description: "Longest wait for one tool, if the workflow sets none.",
    unit: "ms",
  }),
  TOOL_TIMEOUT_MAX_MS: defaulted("300000", whole(100, 60 * minute), {
    description: "Longest wait for one tool, even if the workflow sets a longer one.",
    unit: "ms",
  }),
  TOOL_RESULT_KB: defaulted("64", whole(1, 1_024), {
    description: "A longer result of a tool counts as a failure of the tool.",
    unit: "KiB",
  }),
};

const ceilings = {
  CEILING_STEPS: defaulted("100000", whole(1, 1_000_000_000), {
    description: "Maximum number of activities of a run, even if its workflow allows more.",
    unit: "activities",
  }),
  CEILING_DEPTH: defaulted("50", whole(0, 1_000), {
    description: "Maximum depth of calls.",
    unit: "runs",
  }),
  CEILING_RUNS: defaulted("2000", whole(1, 10_000_000), {
    description: "Maximum number of runs in a tree: a run and all runs that it calls, directly or through others.",
    unit: "runs",
  }),
  CEILING_VALUE_CHARS: defaulted("2097152", whole(1_024, 100_000_000), {
    description: "A longer text (a variable, a rendered prompt, a reply, a transcript) fails its activity.",
    unit: "characters",
  }),
  CEILING_STATE_CHARS: defaulted("8388608", whole(16_384, 200_000_000), {
    description: "Maximum of all text that a run holds; the activity that exceeds it fails.",
    unit: "characters",
  }),
  CEILING_BLOB_MB: defaulted("1024", whole(1, 1_048_576), {
    description: "Maximum size of all files of a run, including its submission; a run with more is refused.",
    unit: "MiB",
  }),
};

const api = {
  API_HOST: defaulted("127.0.0.1", text, {
    description: "Address at which the API listens; 0.0.0.0 in a container.",
  }),
  API_PORT: optional(whole(0, 65_535), {
    description: "Port of the API. Default: 8085, or any free one if 8085 is in use; 0 is any free one.",
  }),
  API_URL: optional(address(["http", "https"]), {
    description: "Where browsers reach the API, such as https://mill.example.edu. Default: the address of the request.",
  }),
  API_TRUST_PROXY: optional(list(/^[0-9a-fA-F.:]+(\/\d{1,3})?$/, "addresses or networks such as 10.0.0.0/8"), {
    description: "Proxies whose X-Forwarded-For and -Proto count, comma-separated. Default: none.",
  }),
  API_CORS_ORIGINS: optional(list(/^https?:\/\/[^\s/,*]+$/, "origins such as https://portal.example.edu"), {
    description:
      "Pages of other sites that may call the API from a browser, with an API key, comma-separated. Default: none. The cookie of a login never counts there.",
  }),
  API_RATE_PER_MINUTE: defaulted("6000", whole(1, 10_000_000), {
    description: "Requests a minute for one key, or for one address without a key, at each API process.",
    unit: "requests",
  }),
  API_UPLOAD_MB: defaulted("64", whole(1, 1_024), {
    description: "Largest file that can be uploaded.",
    unit: "MiB",
  }),
  BOARD_WRITES: defaulted("no", choice(["no", "yes"]), {
    description:
      "yes: people with the role ops may pause queues and remove jobs on the board. no: the board is read-only.",
  }),
  MARKMILL_URL: optional(address(["http", "https"]), {
    description: "Server on which the commands work. Default: the stack of this directory.",
  }),
  MARKMILL_TOKEN: optional(text, {
    description: "API key for MARKMILL_URL.",
    secret: true,
  }),
};

/** Names and meanings are those of OpenTelemetry. Unsupported values are refused only if telemetry is on (read-config.ts). */
const telemetry = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(address(["http", "https"]), {
    description:
      "OTLP collector, such as http://127.0.0.1:4318; /v1/traces and /v1/metrics are added. Default: no traces and no metrics are sent.",
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(address(["http", "https"]), {
    description: "The whole address for traces, if it is a different one.",
  }),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: optional(address(["http", "https"]), {
    description: "The whole address for metrics, if it is a different one.",
  }),
  OTEL_EXPORTER_OTLP_HEADERS: optional(text, {
    description: "Headers for the collector, such as a key: name=value, comma-separated. Default: none.",
    secret: true,
  }),
  OTEL_EXPORTER_OTLP_PROTOCOL: defaulted("http/protobuf", text, {
    description: "Markmill supports only http/protobuf.",
  }),
  OTEL_EXPORTER_OTLP_TIMEOUT: defaulted("10000", whole(100, 10 * minute), {
    description: "Longest wait for the collector; data that it does not accept in this time is lost.",
    unit: "ms",
  }),
  OTEL_SERVICE_NAME: defaulted("markmill", text, {
    description:
      "Name of this installation in the collector; the role (api, worker …) is added as service.instance.role.",
  }),
  OTEL_RESOURCE_ATTRIBUTES: optional(text, {
    description: "Further attributes of this process, name=value, comma-separated. Default: none.",
  }),
  OTEL_TRACES_EXPORTER: defaulted("otlp", text, { description: "otlp, or none: no traces." }),
  OTEL_METRICS_EXPORTER: defaulted("otlp", text, { description: "otlp, or none: no metrics." }),
  OTEL_TRACES_SAMPLER: defaulted("always_on", text, {
    description:
      "always_on, always_off, or traceidratio: a share of the runs, each with all its spans (parentbased_… means the same here: a run begins its trace).",
  }),
  OTEL_TRACES_SAMPLER_ARG: defaulted("1", decimal(0, 1), { description: "The share of runs for traceidratio." }),
  OTEL_METRIC_EXPORT_INTERVAL: defaulted("60000", whole(100, 60 * minute), {
    description: "Time between two exports of metrics.",
    unit: "ms",
  }),
  OTEL_BSP_SCHEDULE_DELAY: defaulted("1000", whole(10, 10 * minute), {
    description: "Time between two exports of traces.",
    unit: "ms",
  }),
  OTEL_BSP_MAX_QUEUE_SIZE: defaulted("20000", whole(1, 10_000_000), {
    description: "Maximum number of spans that wait to be sent; further spans are dropped.",
    unit: "spans",
  }),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: defaulted("2000", whole(1, 1_000_000), {
    description: "Maximum number of spans in one request.",
    unit: "spans",
  }),
  OTEL_SDK_DISABLED: defaulted("false", text, { description: "true: telemetry is off, whatever else is set." }),
};

export const environmentSchema = z.object({
  ...stores,
  ...models,
  ...processes,
  ...api,
  ...ceilings,
  ...sandbox,
  ...tools,
  ...telemetry,
});

export type Environment = z.output<typeof environmentSchema>;
export type VariableName = keyof Environment;

export type Variable = VariableFacts & { readonly name: VariableName };

const sections = {
  Stores: stores,
  Models: models,
  "Worker and supervisor": processes,
  API: api,
  Ceilings: ceilings,
  Sandbox: sandbox,
  Tools: tools,
  Telemetry: telemetry,
};

/** In the order of this file. */
export const variables: readonly Variable[] = Object.entries(sections).flatMap(([section, schemas]) =>
  Object.entries(schemas).map(([name, schema]) => {
    const facts = told.get(schema);
    if (facts === undefined) throw new Error(`${name} is not described`);
    return { ...facts, section, name: name as VariableName };
  }),
);

export const pathNames: ReadonlySet<string> = new Set(
  variables.filter(({ path }) => path === true).map(({ name }) => name),
);

export const secretNames: ReadonlySet<string> = new Set(
  variables.filter(({ secret }) => secret === true).map(({ name }) => name),
);
