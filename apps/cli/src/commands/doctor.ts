import { existsSync } from "node:fs";
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import {
  type Config,
  describeFindings,
  readProcessConfig,
  redactConfig,
  redactText,
  redactUrl,
} from "@markmill/config";
import type { DockerDescription, JailDescription, Sandbox } from "@markmill/sandbox";
import {
  describeError,
  hasDatabase,
  livingWorkers,
  markmillVersion,
  openStack,
  sandboxTrouble,
  type Trouble,
  tellSandboxTrouble,
} from "@markmill/stack";
import type { Store } from "@markmill/store";
import { formatBytes } from "../amounts.ts";
import { checkSandboxes } from "../check-sandboxes.ts";
import { type Command, exitCodes, type Terminal } from "../command.ts";
import { type Finding, judgeRoom } from "../finding.ts";
import { foldText } from "../fold-text.ts";
import { jsonText } from "../json-text.ts";
import { parseFlags } from "../parse-words.ts";
import { withSandboxToTest } from "../sandbox-to-test.ts";
import { describePause } from "../tell-wait.ts";

export const doctor: Command = {
  help: `Usage: markmill doctor [--quick] [--sandbox] [--json]

Check this machine and its configuration: Node, settings, database, queue, model
endpoint, sandbox with its self-test, and disk. Each line says ok, warn or fail,
and how to fix the problem. With MARKMILL_URL, check the server instead: its
answer, your key, its database, its queue and its workers.

  --quick     skip the self-test of the sandbox
  --sandbox   check only the sandbox: for each engine of SANDBOX_HOSTS and for
              the jail, its answer, version, images, free space and self-test
  --json      print one JSON object

Exit codes: 0 no check failed, 1 a check failed.`,

  async run(args, terminal) {
    const { json, quick, ...flags } = parseFlags(args, {
      json: { type: "boolean" },
      quick: { type: "boolean" },
      sandbox: { type: "boolean" },
    });
    const findings: Finding[] = [];
    const reading = readProcessConfig(terminal.cwd);
    // Errors of servers and libraries contain the addresses they were given, including passwords.
    const hide = (text: string) => redactText(text, reading.ok ? reading.config : null);
    const tell = (told: readonly Finding[]) => {
      const found = told.map(
        (one): Finding => ({
          ...one,
          message: hide(one.message),
          ...(one.fix === undefined ? {} : { fix: hide(one.fix) }),
        }),
      );
      findings.push(...found);
      if (json !== true) for (const finding of found) terminal.out(lineOf(finding, terminal));
    };
    tell([checkNode()]);
    if (!reading.ok) {
      const message = describeFindings(reading.findings);
      tell([
        {
          check: "configuration",
          state: "fail",
          message,
          fix: "Correct these settings and run 'markmill doctor' again.",
        },
      ]);
    } else {
      const { config } = reading;
      tell([describeConfig(config)]);
      if (reading.notes.length > 0) tell([{ check: ".env", state: "warn", message: reading.notes.join("\n") }]);
      if (flags.sandbox === true) tell(await checkSandboxes(config, terminal.cwd, quick !== true));
      else if (config.server !== null) tell(await checkServer(config.server));
      else {
        tell([await checkDisk(config, terminal)]);
        tell(await checkStores(config, terminal));
        tell([await checkModel(config)]);
        tell(await checkSandbox(config, terminal, quick !== true));
      }
    }
    const fine = findings.every(({ state }) => state !== "fail");
    if (json === true) {
      const config = reading.ok ? redactConfig(reading.config) : null;
      const items = findings.map(({ fix, ...one }) => ({ ...one, hint: fix ?? null }));
      terminal.out(jsonText({ ok: fine, version: markmillVersion(), items, next: null, config }));
    }
    return fine ? exitCodes.success : exitCodes.failed;
  },
};

/** Folds the line on a screen, and keeps it whole in a file. */
function lineOf({ check, state, message, fix }: Finding, { shown, columns }: Terminal): string {
  const indent = " ".repeat(21);
  const told = state === "ok" || fix === undefined ? message : `${message}\nfix: ${fix}`;
  const lines = shown ? foldText(told, Math.max(20, columns - indent.length)) : told.split("\n");
  return `${state.padEnd(4)}  ${check.padEnd(13)}  ${lines.join(`\n${indent}`)}`;
}

function failed(check: string, error: unknown): Finding {
  const { code, message, fix } = describeError(error);
  const text = code === null ? message : `${code}: ${message}`;
  return { check, state: "fail", message: text, ...(fix === null ? {} : { fix }) };
}

function checkNode(): Finding {
  const { node } = process.versions;
  const good = Number(node.split(".")[0]) >= 24;
  return good
    ? { check: "node", state: "ok", message: node }
    : { check: "node", state: "fail", message: `${node}; 24 is needed`, fix: "npm ci --ignore-scripts=false" };
}

function describeConfig(config: Config): Finding {
  const { database, queue, models } = redactConfig(config);
  if (config.server !== null) {
    const message = `the server at ${redactUrl(config.server.url)}, ${config.server.token === null ? "no key" : "key set"}`;
    return { check: "configuration", state: "ok", message };
  }
  const parts = [
    `database ${database.kind === "embedded" ? "embedded" : database.url}`,
    `queue ${queue.backend === "redis" ? queue.url : "in Postgres"}`,
    `home ${config.home}`,
    `models at ${models.baseUrl}, ${models.apiKey === null ? "no key" : "key set"}, default ${models.defaultModel ?? "none"}`,
  ];
  return { check: "configuration", state: "ok", message: parts.join("\n") };
}

async function checkDisk(config: Config, terminal: Terminal): Promise<Finding> {
  let place = resolve(terminal.cwd, config.home);
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const fix = "Free some space, or set MARKMILL_HOME to a directory on a larger disk.";
  return { check: "disk", state: judgeRoom(free), message: `${formatBytes(free)} free at ${place}`, fix };
}

async function checkStores(config: Config, terminal: Terminal): Promise<Finding[]> {
  try {
    if (!hasDatabase(config, terminal.cwd)) return [await tryPostgres()];
    const stack = await openStack({ config, cwd: terminal.cwd });
    try {
      const { server, schema } = await stack.store.about();
      const memory = await stack.store.passageSearch();
      const pauses = await stack.tenant.models.pauses();
      const counts = await stack.queues.counts();
      const waiting = Object.values(counts).reduce((sum, { waiting = 0, delayed = 0 }) => sum + waiting + delayed, 0);
      const workers = await livingWorkers(stack.store);
      const standings = await stack.store.commandStandings();
      const where = stack.embedded === null ? "external" : `embedded, process ${stack.embedded.pid}`;
      return [
        {
          check: "database",
          state: "ok",
          message: `Postgres ${server} (${where}), schema ${schema}`,
        },
        { check: "memory", state: "ok", message: describeSearch(memory) },
        {
          check: "queue",
          state: "ok",
          message: `${stack.queues.kind === "redis" ? "Redis, noeviction" : "in Postgres"}, ${waiting} jobs waiting, ${workers} workers alive`,
        },
        // If no worker is alive, a command that starts a run becomes its worker here. That sandbox is checked below.
        ...(standings.length === 0 ? [] : checkExecutors(sandboxTrouble(standings))),
        ...pauses.map(
          (pause): Finding => ({
            check: "pause",
            state: "warn",
            message: describePause(pause),
            fix: "Wait, or check its limits, credit and key. The waiting runs continue when the model answers again.",
          }),
        ),
      ];
    } finally {
      await stack.close();
    }
  } catch (error) {
    const { code } = describeError(error);
    return [failed(code?.startsWith("QUEUE_") === true ? "queue" : "database", error)];
  }
}

/** Checks the living workers, not this machine. */
function checkExecutors(trouble: Trouble | null): Finding[] {
  if (trouble === null) return [];
  return [{ check: "sandbox", state: "warn", message: tellSandboxTrouble(trouble), fix: trouble.fix }];
}

/**
 * Before the first run there is no database, and this check creates none in the project. It tests in another folder whether one can be
 * created.
 */
async function tryPostgres(): Promise<Finding> {
  const { startEmbeddedPostgres } = await import("@markmill/embedded-postgres");
  const directory = await mkdtemp(join(tmpdir(), "markmill-doctor-"));
  try {
    await (await startEmbeddedPostgres({ directory })).stop();
    const message =
      "not created yet: the first 'run' or 'grade' creates it here. The embedded Postgres starts on this machine";
    return { check: "database", state: "ok", message };
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

type PassageSearch = Awaited<ReturnType<Store["passageSearch"]>>;

const noIndex: Record<Extract<PassageSearch, { by: "scan" }>["why"], string> = {
  "not on the server": "the server does not have pgvector",
  "too old": "pgvector is older than 0.8",
  "not created": "pgvector is installed, but this role may not run CREATE EXTENSION vector",
  "no index": "pgvector is installed, but this role may not create or read the schema markmill_index",
};

function describeSearch(search: PassageSearch): string {
  return search.by === "pgvector"
    ? `passages of large scopes are found by pgvector ${search.version} (HNSW), others by an exact scan`
    : `passages are found by an exact scan: ${noIndex[search.why]}`;
}

/** Checks the server that owns the database, the queue and the workers. */
async function checkServer({ url, token }: NonNullable<Config["server"]>): Promise<Finding[]> {
  const { createClient } = await import("@markmill/contract");
  const client = createClient({ url, token: token ?? "" });
  try {
    // A server of an older version lists no components. The sandbox has its own line.
    const { components = {}, version } = await client.getReady();
    const away = Object.entries(components).flatMap(([name, { ok }]) => (ok || name === "sandbox" ? [] : name));
    const told = Object.entries(components).map(([name, { ok, code = "" }]) => `${name} ${ok ? "ok" : code}`);
    const { ok = true, code = "", means = "", fix = "" } = components.sandbox ?? {};
    const executors = ok || components.workers?.ok === false ? [] : checkExecutors({ code, means, fix });
    const server: Finding = {
      check: "server",
      state: away.includes("database") ? "fail" : away.length > 0 ? "warn" : "ok",
      message: [redactUrl(url), ...(version === undefined ? [] : [version]), ...told].join(", "),
      fix: "Runs wait until the component is available again. Inform the operator of the server.",
    };
    if (token === null) {
      const message = "MARKMILL_TOKEN is not set";
      return [server, ...executors, { check: "key", state: "fail", message, fix: "Set it to a key of the server." }];
    }
    const { name, tenant, roles, expiresAt } = await client.getSession();
    const until = expiresAt === null ? "" : `, until ${expiresAt}`;
    return [
      server,
      ...executors,
      { check: "key", state: "ok", message: `${name} of ${tenant}: ${roles.join(", ")}${until}` },
    ];
  } catch (error) {
    const { code } = describeError(error);
    return [failed(code === "UNAUTHENTICATED" ? "key" : "server", error)];
  }
}

const modelMs = 5_000;

async function checkModel({ models }: Config): Promise<Finding> {
  const check = "model";
  const [base = "", query] = models.baseUrl.split("?", 2);
  const url = `${base}/models${query === undefined ? "" : `?${query}`}`;
  const shown = redactUrl(models.baseUrl);
  if (models.apiKey === null && new URL(models.baseUrl).hostname === "api.openai.com") {
    const message = "OPENAI_API_KEY is not set: only scripted models (--script) can be asked";
    return {
      check,
      state: "warn",
      message,
      fix: "Set OPENAI_API_KEY in the environment or in .env, or OPENAI_BASE_URL to an endpoint that needs none.",
    };
  }
  try {
    const { keyHeaders } = await import("@markmill/llm");
    const headers = keyHeaders(models.apiKey, models.keyHeader);
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(modelMs) });
    const kind = response.headers.get("content-type") ?? "";
    await response.body?.cancel();
    if (response.status === 401 || response.status === 403) {
      return {
        check,
        state: "fail",
        message: `${shown} refuses the key in the header ${models.keyHeader} (${response.status})`,
        fix: "Set OPENAI_API_KEY to a valid key. For Azure, also set OPENAI_KEY_HEADER=api-key.",
      };
    }
    if (kind.includes("html")) {
      return {
        check,
        state: "fail",
        message: `${shown} answers with a web page`,
        fix: "OPENAI_BASE_URL must end in the API path, often /v1.",
      };
    }
    if (!response.ok) {
      return {
        check,
        state: "warn",
        message: `${shown} answers ${response.status} to GET /models`,
        fix: "Check OPENAI_BASE_URL. Some endpoints work although they list no models.",
      };
    }
    return { check, state: "ok", message: `${shown} answers` };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return {
      check,
      state: "fail",
      message: `${shown} does not answer: ${cause}`,
      fix: "Check OPENAI_BASE_URL and the network.",
    };
  }
}

/** Describes how limits are enforced here: the jail's mechanisms, or the versions of each engine. */
async function describeMeans(sandbox: Sandbox): Promise<Finding[]> {
  if (!("describe" in sandbox) || typeof sandbox.describe !== "function") return [];
  const described: unknown = await sandbox.describe();
  const lines = Array.isArray(described)
    ? (described as readonly DockerDescription[]).map(({ host, facts, problem }) =>
        facts === undefined
          ? `${redactUrl(host)}: ${problem ?? "no answer"}`
          : `${redactUrl(host)}: Docker ${facts.engineVersion}, runc ${facts.runcVersion || "unknown"}, cgroup v${facts.cgroupVersion}`,
      )
    : Object.entries(described as JailDescription).map(([name, means]) => `${name}: ${means}`);
  return [{ check: "sandbox means", state: "ok", message: lines.join("\n") }];
}

async function checkSandbox(config: Config, terminal: Terminal, test: boolean): Promise<Finding[]> {
  if (config.sandbox.kind === "none") {
    const message = "none (SANDBOX=none): workflows cannot run commands";
    return [{ check: "sandbox", state: "warn", message, fix: "Set SANDBOX=auto." }];
  }
  try {
    const warnings: string[] = [];
    const place = { cwd: terminal.cwd, warn: (text: string) => void warnings.push(text) };
    return await withSandboxToTest(config.sandbox.kind, config, place, async (sandbox) => {
      const chosen: Finding = {
        check: "sandbox",
        state: warnings.length === 0 ? "ok" : "warn",
        message: [`${sandbox.kind} (SANDBOX=${config.sandbox.kind})`, ...warnings].join("\n"),
      };
      const means = await describeMeans(sandbox);
      const walls = ((await sandbox.thinWalls?.()) ?? []).map((wall): Finding => {
        const accepted = config.sandbox.accept.includes(wall.name);
        const asks = wall.name === "no-cgroup" && !config.sandbox.strict;
        const end = accepted
          ? "It is accepted for this project."
          : asks
            ? "The first 'grade' or 'run' explains it, asks once on a terminal, and remembers the answer for the project. Workers refuse commands until SANDBOX_ACCEPT names it."
            : "Commands are refused until you accept it by name.";
        const message = `WEAK PROTECTION (${wall.name}): ${wall.message}\n${end}`;
        return { check: "sandbox wall", state: accepted || asks ? "warn" : "fail", message, fix: wall.fix };
      });
      if (!test) return [chosen, ...means, ...walls];
      const { judgeSelfTest, runSelfTest } = await import("@markmill/sandbox");
      const report = await runSelfTest(sandbox, sandbox.kind === "docker" ? { image: config.sandbox.image } : {});
      const { safe, failures } = judgeSelfTest(report);
      return [
        chosen,
        ...means,
        ...walls,
        safe
          ? { check: "self-test", state: "ok", message: `all ${report.probes.length} probes were refused` }
          : {
              check: "self-test",
              state: "fail",
              message: failures.join("\n"),
              fix: "Do not run untrusted commands on this machine. 'markmill sandbox self-test' lists all probes.",
            },
      ];
    });
  } catch (error) {
    const finding = failed("sandbox", error);
    // Workflows without commands need no sandbox.
    return [config.sandbox.kind === "auto" ? { ...finding, state: "warn" } : finding];
  }
}
