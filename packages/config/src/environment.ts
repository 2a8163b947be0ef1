// The environment, one variable at a time: what it means, its unit, its default. `.env.example` is written from this file.
//
// V1 An empty value is an absent one: compose files and shells pass `NAME=` for "not set".
// V2 A secret has no default and is never part of a message.
// V3 A `.env` file sets any of them where it is trusted, and none where it is not (env-file.ts).
import { z } from "zod";
import { parseAllowed } from "./allowed-address.ts";
import { modelAddress } from "./model-address.ts";

type VariableFacts = {
  readonly section: string;
  readonly description: string;
  /** As it would stand in the environment; null when absence has a meaning of its own, told in the description. */
  readonly fallback: string | null;
  readonly unit?: string;
  readonly secret?: true;
  /** A path: in a `.env` file it counts from the folder of the file. */
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

/** pg accepts a URL without a host when the socket directory is a parameter; the URL standard does not. */
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
      "Postgres 14 or newer, itself or behind a connection pooler in session mode; the database in UTF8. Absent: Markmill starts its own Postgres below MARKMILL_HOME.",
    secret: true,
  }),
  PG_POOL_SIZE: defaulted("10", whole(1, 500), {
    description: "Maximum number of connections of each process to Postgres, without those of the queue.",
    unit: "connections",
  }),
  REDIS_URL: optional(address(["redis", "rediss"]), {
    description:
      "One Redis server (not a Cluster), 6.2 or newer, with maxmemory-policy noeviction. Absent: the queue is in Postgres.",
    secret: true,
  }),
  QUEUE_BACKEND: defaulted("auto", choice(["auto", "redis", "postgres"]), {
    description: "Server of the queue: auto uses Redis if REDIS_URL is set, otherwise Postgres.",
  }),
  MARKMILL_HOME: defaulted(".markmill", text, {
    description: "Directory for all data of Markmill on this machine, relative to the project's folder.",
    path: true,
  }),
  RETENTION_DAYS: defaulted("0", whole(0, 36_500), {
    description: "Finished runs are deleted after this time. 0 keeps them.",
    unit: "days",
  }),
  GIT_TOKEN: optional(text, {
    description:
      "Token for `markmill grade` to read students' repositories over https at GIT_TOKEN_HOST, from addresses that class.yaml contains or allows.",
    secret: true,
  }),
  GIT_TOKEN_HOST: optional(text, { description: "The host of GIT_TOKEN, such as github.com." }),
  GIT_SSH_KEY: optional(text, {
    description:
      "File with the key for students' repositories over ssh. Absent: the keys of the user who runs the command.",
    path: true,
  }),
  GIT_KNOWN_HOSTS: optional(text, {
    description:
      "File with the host keys for ssh, in the format of known_hosts. Absent: the file of the user who runs the command.",
    path: true,
  }),
  GIT_CA_FILE: optional(text, {
    description:
      "Certificates of your own authority for students' repositories over https. Absent: the certificates of the system.",
    path: true,
  }),
  BATCH_RUNS: defaulted("256", whole(1, 100_000), {
    description: "Maximum number of running submissions, for all classes together.",
    unit: "runs",
  }),
  BATCH_RUNS_PER_TENANT: defaulted("192", whole(1, 100_000), {
    description:
      "Maximum number of running submissions of one tenant, for all its classes together. The rest is reserved for other tenants.",
    unit: "runs",
  }),
  RUNS_PER_TENANT: optional(whole(1, 1_000_000), {
    description:
      "Maximum number of running runs of one tenant that were started through the API. More runs are queued, so that other tenants do not wait for them. Absent: twice the slots of all workers, at least 64.",
    unit: "runs",
  }),
  BLOBS: defaulted("postgres", choice(["postgres", "s3"]), {
    description:
      "Storage for new files (submissions, uploads). Existing files stay in their storage and remain readable.",
  }),
  S3_BUCKET: optional(text, {
    description: "Existing bucket for files. Absent: no bucket is used.",
  }),
  S3_ENDPOINT: optional(address(["http", "https"]), {
    description: "Address of an S3-compatible server. Absent: Amazon S3.",
  }),
  S3_REGION: defaulted("us-east-1", text, { description: "Region of the bucket. Many servers accept any region." }),
  S3_ACCESS_KEY_ID: optional(text, {
    description:
      "Access key of the bucket. Absent: the AWS client searches the machine (AWS_… variables, a profile, a role).",
    secret: true,
  }),
  S3_SECRET_ACCESS_KEY: optional(text, { description: "The secret of S3_ACCESS_KEY_ID.", secret: true }),
  S3_PATH_STYLE: defaulted("yes", choice(["yes", "no"]), {
    description: "yes: addresses contain the bucket in their path, as most servers other than Amazon S3 require.",
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
      "Key of the endpoint. Local endpoints often need none. Markmill sends the key only to an endpoint that is set in the same place, or to the default endpoint.",
    secret: true,
  }),
  OPENAI_KEY_HEADER: defaulted("authorization", text.regex(/^[A-Za-z0-9-]+$/, "must be the name of an HTTP header"), {
    description:
      "The header with the key. authorization contains 'Bearer KEY'. Any other header, such as Azure's api-key, contains only the key.",
  }),
  MODELS_FILE: defaulted("models.yaml", text, {
    description: "File with aliases, prices, context sizes and rate limits of models. The file may be missing.",
    path: true,
  }),
  DEFAULT_MODEL: optional(text, {
    description: "Model or alias for workflows that name no model. Absent: each workflow must name one.",
  }),
  MODEL_TIMEOUT_MS: defaulted("600000", whole(1_000, 24 * 60 * minute), {
    description: "Maximum waiting time for one reply of a model.",
    unit: "ms",
  }),
  MODEL_PAUSE_MAX_MS: defaulted("300000", whole(100, 24 * 60 * minute), {
    description:
      "Maximum pause of a model after a refusal, before one request tests it again. This limit also applies if the model asks for a longer pause.",
    unit: "ms",
  }),
  MAX_REPLY_BYTES: defaulted("4194304", whole(1_024, 256 * 1024 * 1024), {
    description: "Maximum size of a model's reply. A larger reply fails.",
    unit: "bytes",
  }),
};

const processes = {
  WORKER_CONCURRENCY_CONTROL: defaulted("50", whole(1, 1_000), {
    description:
      "Number of activities without waiting (check, set, assign, call) that one worker runs at the same time.",
    unit: "activities",
  }),
  WORKER_CONCURRENCY_PROMPT: defaulted("20", whole(1, 1_000), {
    description:
      "Number of model calls that one worker makes at the same time. From 8 on, the worker also prepares more prompts: an eighth of this number, or up to the same number if models answer quickly.",
    unit: "activities",
  }),
  WORKER_CONCURRENCY_EXECUTE: defaulted("4", whole(1, 1_000), {
    description: "Number of commands that one worker runs at the same time.",
    unit: "activities",
  }),
  WORKER_NICE: defaulted("10", whole(0, 19), {
    description:
      "Unix niceness of a worker's process, so that the API can start runs while workers are busy. 0: normal priority.",
  }),
  LOCK_DURATION_MS: defaulted("3000", whole(500, 10 * minute), {
    description:
      "If a worker sends no heartbeat for this time, another worker takes its activities. A prompt moves only if the worker has crashed, or was paused for longer than MODEL_TIMEOUT_MS.",
    unit: "ms",
  }),
  STALLED_INTERVAL_MS: defaulted("1000", whole(100, 10 * minute), {
    description: "Time between two checks for crashed workers.",
    unit: "ms",
  }),
  DRAIN_TIMEOUT_MS: defaulted("30000", whole(0, 60 * minute), {
    description: "Time for a stopping worker to finish its activities. After this time, it releases them.",
    unit: "ms",
  }),
  HEALTH_PORT: optional(whole(0, 65_535), {
    description:
      "Port of /health/live and /health/ready on all interfaces. 0 chooses a free port. Absent: no port is opened.",
  }),
  LOG_LEVEL: defaulted("info", choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]), {
    description: "Lowest level of log lines that are written.",
  }),
};

const sandbox = {
  SANDBOX: defaulted("auto", choice(["auto", "docker", "jail", "none"]), {
    description:
      "Sandbox for commands of workflows: auto uses Docker, otherwise a jail, otherwise refuses commands. none refuses all commands. To run commands without a sandbox, use only the flag --sandbox none.",
  }),
  SANDBOX_HOSTS: optional(
    list(/^(unix|tcp|ssh|https?):\/\/\S+$/, "Docker addresses such as unix:///var/run/docker.sock"),
    {
      description:
        "Docker engines, comma-separated. Absent: the local engine. docker-compose.yml contains its own engine (docs/operations.md, Where commands run).",
    },
  ),
  SANDBOX_IMAGE: defaulted("markmill-sandbox", text, { description: "Image for workflows that name no image." }),
  SANDBOX_IMAGES: optional(list(/^[\w][\w./:@-]*$/, "image names"), {
    description: "More images that workflows may name, comma-separated. Absent: only SANDBOX_IMAGE.",
  }),
  SANDBOX_RUNTIME: optional(text, {
    description: "OCI runtime of the engine, for example runsc (gVisor). Absent: the engine's default.",
  }),
  SANDBOX_ACCEPT: optional(list(/^(no-cgroup|old-engine|none)$/, "no-cgroup and old-engine, or none"), {
    description:
      "Weak protections that the operator accepts, comma-separated: no-cgroup (a jail without a hard memory limit), old-engine (Docker or runc with known escapes). none: accept nothing and do not ask. Absent: commands ask a person once for each project; workers refuse.",
  }),
  SANDBOX_MEMORY_MB: defaulted("512", whole(16, 1_048_576), {
    description: "Maximum memory of a session.",
    unit: "MiB",
  }),
  SANDBOX_CPUS: defaulted("1", decimal(0.05, 1_024), {
    description: "Maximum number of processors of a session.",
    unit: "cores",
  }),
  SANDBOX_PIDS: defaulted("128", whole(4, 100_000), {
    description: "Maximum number of processes and threads of a session.",
    unit: "processes",
  }),
  SANDBOX_DISK_MB: defaulted("256", whole(1, 1_048_576), {
    description: "Maximum amount of data that a session writes.",
    unit: "MiB",
  }),
  SANDBOX_FILE_KB: defaulted("8192", whole(1, 1_048_576), {
    description:
      "Maximum size of a file that a workflow reads or writes as a value. If the workflow sets no size, 1024 applies.",
    unit: "KiB",
  }),
  SANDBOX_WALL_MS: defaulted("300000", whole(100, 24 * 60 * minute), {
    description: "Maximum time of one command.",
    unit: "ms",
  }),
  SANDBOX_CHECKPOINT_MB: defaulted("128", whole(0, 4_096), {
    description:
      "Maximum size of a checkpoint of a session's files. Markmill repeats an interrupted command from its checkpoint. A run has at most two. 0: no checkpoints.",
    unit: "MiB",
  }),
  SANDBOX_CHECKPOINT_FILES: defaulted("20000", whole(100, 200_000), {
    description: "Maximum number of files, folders and links in a checkpoint.",
    unit: "entries",
  }),
  SANDBOX_CHECKPOINT_SECONDS: defaulted("10", whole(1, 600), {
    description: "Maximum time to read a session's files for a checkpoint.",
    unit: "s",
  }),
  SANDBOX_POOL_SIZE: defaulted("2", whole(0, 256), {
    description: "Number of sessions that a worker starts in advance. 0: each session starts when it is needed.",
    unit: "sessions",
  }),
  WORKFLOW_ENV: optional(list(/^[A-Za-z_][A-Za-z0-9_]*$/, "variable names"), {
    description: "Names of environment variables that workflows may read, comma-separated. Absent: none.",
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
        "Private, loopback and link-local addresses that workflow tools and webhooks may reach, comma-separated, with or without a port. Workers read this variable for tools, and the supervisor for webhooks. Absent: only public addresses.",
    },
  ),
  TOOL_SECRETS: optional(
    z.string().transform((given, context) => {
      try {
        const parsed = secretsSchema.safeParse(JSON.parse(given));
        if (parsed.success) return parsed.data;
      } catch {
        // The same message: the text holds secrets.
      }
      context.addIssue({ code: "custom", message: secretsForm });
      return z.NEVER;
    }),
    {
      description:
        'Secrets for the headers of tools, with the hosts that may receive them: {"NAME":{"value":"…","hosts":["api.example.org"]}}. Markmill sends them over https, and over http only to a host written as http://HOST. Absent: none.',
      secret: true,
    },
  ),
  TOOL_SERPER_KEY: optional(text, {
    description: "Key of the built-in tool serper, a web search. Absent: the tool is off.",
    secret: true,
  }),
  TOOL_SERPER_URL: defaulted("https://google.serper.dev", address(["http", "https"]), {
    description: "Address of serper. Markmill adds /search, /scholar or /news.",
  }),
  TOOL_DUCKDUCKGO_URL: optional(address(["http", "https"]), {
    description:
      "Address for the built-in tool duckduckgo, such as https://html.duckduckgo.com/html/. Absent: the tool is off.",
  }),
  TOOL_JINA_URL: optional(address(["http", "https"]), {
    description:
      "Reader of the built-in tool jina, such as https://r.jina.ai. Markmill adds the address of the page. Absent: the tool is off.",
  }),
  TOOL_JINA_KEY: optional(text, { description: "Key for jina. Absent: no key is sent.", secret: true }),
  TOOL_BROWSERLESS_URL: optional(address(["http", "https"]), {
    description:
      "Headless browser of the built-in tool browserless, such as http://127.0.0.1:3000. TOOL_ALLOW must contain this address. Isolate the browser from your own network, because pages decide what it loads. Absent: the tool is off.",
  }),
  TOOL_BROWSERLESS_KEY: optional(text, {
    description: "Token for browserless. Absent: no token is sent.",
    secret: true,
  }),
  TOOL_SCRAPER: defaulted("no", choice(["no", "yes"]), {
    description: "yes: the built-in tool scraper reads public pages directly.",
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
        "Address for the built-in tool stock, with the placeholders {exchange} and {ticker}. Absent: the tool is off.",
    },
  ),
  TOOL_TIMEOUT_MS: defaulted("30000", whole(100, 60 * minute), {
    description: "Default maximum waiting time for one tool.",
    unit: "ms",
  }),
  TOOL_TIMEOUT_MAX_MS: defaulted("300000", whole(100, 60 * minute), {
    description: "Upper limit of the waiting time for one tool. A workflow cannot exceed it.",
    unit: "ms",
  }),
  TOOL_RESULT_KB: defaulted("64", whole(1, 1_024), {
    description: "Maximum size of a tool's result. A larger result fails.",
    unit: "KiB",
  }),
};

const ceilings = {
  CEILING_STEPS: defaulted("100000", whole(1, 1_000_000_000), {
    description: "Maximum number of activities of a run. A workflow cannot exceed it.",
    unit: "activities",
  }),
  CEILING_DEPTH: defaulted("50", whole(0, 1_000), {
    description: "Maximum depth of workflow calls.",
    unit: "runs",
  }),
  CEILING_RUNS: defaulted("2000", whole(1, 10_000_000), {
    description: "Maximum number of runs in a tree: a run and all runs that it calls directly or indirectly.",
    unit: "runs",
  }),
  CEILING_VALUE_CHARS: defaulted("2097152", whole(1_024, 100_000_000), {
    description:
      "Maximum length of a text (a variable, a rendered prompt, a reply, a transcript). A longer text fails its activity.",
    unit: "characters",
  }),
  CEILING_STATE_CHARS: defaulted("8388608", whole(16_384, 200_000_000), {
    description: "Maximum length of all texts of a run. An activity that exceeds it fails.",
    unit: "characters",
  }),
  CEILING_BLOB_MB: defaulted("1024", whole(1, 1_048_576), {
    description: "Maximum size of the files of a run, including its submission. A larger run is refused.",
    unit: "MiB",
  }),
};

const api = {
  API_HOST: defaulted("127.0.0.1", text, {
    description: "Address on which the API listens. Use 0.0.0.0 in a container.",
  }),
  API_PORT: optional(whole(0, 65_535), {
    description: "Port of the API. Absent: 8085, or a free port if 8085 is in use. 0 chooses a free port.",
  }),
  API_URL: optional(address(["http", "https"]), {
    description:
      "Public address of the API for browsers, such as https://mill.example.edu. Absent: the address of the request.",
  }),
  API_TRUST_PROXY: optional(list(/^[0-9a-fA-F.:]+(\/\d{1,3})?$/, "addresses or networks such as 10.0.0.0/8"), {
    description:
      "Proxies whose headers X-Forwarded-For and X-Forwarded-Proto Markmill trusts, comma-separated. Absent: none.",
  }),
  API_CORS_ORIGINS: optional(list(/^https?:\/\/[^\s/,*]+$/, "origins such as https://portal.example.edu"), {
    description:
      "Origins of other sites that may call the API from a browser with an API key, comma-separated. Absent: none. The API ignores login cookies from these sites.",
  }),
  API_RATE_PER_MINUTE: defaulted("6000", whole(1, 10_000_000), {
    description:
      "Maximum number of requests per minute from one key, or from one address without a key, for each API process.",
    unit: "requests",
  }),
  API_UPLOAD_MB: defaulted("64", whole(1, 1_024), {
    description: "Maximum size of an uploaded file.",
    unit: "MiB",
  }),
  BOARD_WRITES: defaulted("no", choice(["no", "yes"]), {
    description:
      "yes: people with the role ops may pause queues and remove jobs on the board. no: the board is read-only.",
  }),
  MARKMILL_URL: optional(address(["http", "https"]), {
    description: "The server that the commands use. Absent: the project in this directory.",
  }),
  MARKMILL_TOKEN: optional(text, {
    description: "The API key for MARKMILL_URL.",
    secret: true,
  }),
};

/** Names and meanings are those of OpenTelemetry. What is no value of ours is refused only where telemetry is on (read-config.ts). */
const telemetry = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(address(["http", "https"]), {
    description:
      "OTLP collector, such as http://127.0.0.1:4318. Markmill adds /v1/traces and /v1/metrics. Absent: no traces and no metrics are sent.",
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: optional(address(["http", "https"]), {
    description: "The full address for traces, if it differs.",
  }),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: optional(address(["http", "https"]), {
    description: "The full address for metrics, if it differs.",
  }),
  OTEL_EXPORTER_OTLP_HEADERS: optional(text, {
    description: "Headers for the collector, such as a key: name=value, comma-separated. Absent: none.",
    secret: true,
  }),
  OTEL_EXPORTER_OTLP_PROTOCOL: defaulted("http/protobuf", text, { description: "Only http/protobuf is supported." }),
  OTEL_EXPORTER_OTLP_TIMEOUT: defaulted("10000", whole(100, 10 * minute), {
    description: "Maximum waiting time for the collector. Data that it does not accept in this time is lost.",
    unit: "ms",
  }),
  OTEL_SERVICE_NAME: defaulted("markmill", text, {
    description:
      "Name of this installation in the collector. Markmill adds the role (api, worker …) as service.instance.role.",
  }),
  OTEL_RESOURCE_ATTRIBUTES: optional(text, {
    description: "More attributes of this process: name=value, comma-separated. Absent: none.",
  }),
  OTEL_TRACES_EXPORTER: defaulted("otlp", text, { description: "otlp, or none: no traces." }),
  OTEL_METRICS_EXPORTER: defaulted("otlp", text, { description: "otlp, or none: no metrics." }),
  OTEL_TRACES_SAMPLER: defaulted("always_on", text, {
    description:
      "always_on, always_off, or traceidratio: complete traces of some of the runs (parentbased_… has the same effect, because each run starts its own trace).",
  }),
  OTEL_TRACES_SAMPLER_ARG: defaulted("1", decimal(0, 1), { description: "The share of traced runs for traceidratio." }),
  OTEL_METRIC_EXPORT_INTERVAL: defaulted("60000", whole(100, 60 * minute), {
    description: "Time between two exports of metrics.",
    unit: "ms",
  }),
  OTEL_BSP_SCHEDULE_DELAY: defaulted("1000", whole(10, 10 * minute), {
    description: "Time between two exports of traces.",
    unit: "ms",
  }),
  OTEL_BSP_MAX_QUEUE_SIZE: defaulted("20000", whole(1, 10_000_000), {
    description: "Maximum number of waiting spans. More spans are dropped.",
    unit: "spans",
  }),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: defaulted("2000", whole(1, 1_000_000), {
    description: "Maximum number of spans in one request.",
    unit: "spans",
  }),
  OTEL_SDK_DISABLED: defaulted("false", text, {
    description: "true: telemetry is off, regardless of the other variables.",
  }),
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
