import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Config } from "@markmill/config";
import { checkStart, inputName, settleFindings } from "@markmill/definition";
import { readSubmission, type Submission } from "@markmill/grading/submission";
import {
  catchInterrupts,
  isSandboxChoice,
  keepScript,
  livingWorkers,
  openSandbox,
  openStackOrServer,
  type RunOptions,
  readScript,
  requireConfig,
  requireOwnWorker,
  type ScriptFile,
  type StartRequest,
  serveScript,
  startRun,
} from "@markmill/stack";
import { acceptWalls } from "../accept-walls.ts";
import { attendRun } from "../attend-run.ts";
import { readCapFlags } from "../cap-flags.ts";
import { type Command, exitCodes, type Terminal, UsageError } from "../command.ts";
import { definitionOf, findWorkflow, tellFindings } from "../find-workflow.ts";
import { jsonText } from "../json-text.ts";
import { leaveToBackground, tellHowToContinue } from "../leave-run.ts";
import { readFileValues, readParamFile, splitAssignments } from "../read-params.ts";
import { requireModel } from "../require-model.ts";
import { warnOfNoExecutor } from "../require-sandbox.ts";
import { terminalLog } from "../terminal-log.ts";

export const run: Command = {
  help: `Usage: markmill run FILE [KEY=VALUE…] [OPTIONS]

Run a workflow. Its RESULT goes to stdout. Progress and a summary go to stderr.
'markmill watch' continues an interrupted run.

Examples:
  markmill run grade.wf.md STUDENT=Ada --submission ada/ --budget '$0.50'
  markmill run grade.wf.md ESSAY=file:ada.md --model gpt-5-mini > report.md
  markmill run grade.wf.md --script replies.yaml --json
  markmill run research.json --input 'tides' --model gpt-5-mini

  KEY=VALUE            set a parameter; the value starts after the first '='
  KEY=file:PATH        set a parameter to the text of a file (at most 1 MiB) in
                       the workflow's folder or the working directory
  --input TEXT         set the input of a workflow of tasks (.json); file:PATH
                       reads it from a file
  --param-file FILE    read parameters from .json, .yaml, or NAME=value lines
  --submission PATH    give these files to the workflow's commands: a folder, a
                       .zip, .tar or .tar.gz, or a single file
  --model NAME         use this model (AI_MODEL_NAME)
  --script FILE        use a scripted model, to try things out
  --sandbox KIND       auto, docker, jail, or none (your own files only)
  --budget $           stop when the run has cost this much
  --max-time 10m       stop after this time
  --max-tokens N       stop after this many tokens
  --patience 30m       wait this long for a model endpoint in trouble, then
                       interrupt the run, so that you can resume it
  --label KEY=VALUE    add a label to find the run by; may be repeated
  --strict             treat warnings as errors
  --detach             start the run, print its id and exit
  --json               print one JSON object instead of RESULT
  --root DIR           the workflow folder (see 'markmill validate --help')

A run does not start (exit code 2) if a parameter is missing or unknown, or if a
required submission is missing.

Exit codes:
  0  success          5  a limit was reached (cost, tokens, time …)
  1  failed           6  the workflow is invalid
  2  wrong use        8  model endpoint in trouble; 'markmill resume' continues
  130  you interrupted the run`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        model: { type: "string" },
        script: { type: "string" },
        input: { type: "string" },
        "param-file": { type: "string" },
        submission: { type: "string" },
        sandbox: { type: "string" },
        json: { type: "boolean" },
        detach: { type: "boolean" },
        budget: { type: "string" },
        "max-time": { type: "string" },
        "max-tokens": { type: "string" },
        patience: { type: "string" },
        label: { type: "string", multiple: true },
        strict: { type: "boolean" },
        root: { type: "string" },
      },
    });
    const [file, ...words] = positionals;
    if (file === undefined) throw new UsageError("Name a workflow file.");
    const given = splitAssignments(words);
    const labels = splitAssignments(values.label ?? [], "--label KEY=VALUE");
    const { caps, patienceMs } = await readCapFlags(values);
    const submissions = values.submission === undefined ? [] : [values.submission];
    const config = withSandbox(requireConfig(terminal, { submissions }), values.sandbox);

    const found = findWorkflow(file, terminal.cwd, values.root, Object.keys(config.workflowEnvironment));
    const input = values.input === undefined ? {} : { [inputName]: values.input };
    const variables = readFileValues(
      {
        ...(values["param-file"] === undefined ? {} : readParamFile(values["param-file"], terminal.cwd)),
        ...given,
        ...input,
      },
      { cwd: terminal.cwd, root: found.root },
    );
    if (values.model !== undefined) variables.AI_MODEL_NAME = values.model;
    const script = values.script === undefined ? null : await readScript(values.script, terminal.cwd);
    const submission =
      values.submission === undefined ? null : await takeSubmission(values.submission, config, terminal);
    const files = submission === null ? null : [...submission.paths];
    const environment = Object.keys(config.workflowEnvironment);
    const needs =
      found.definition === null ? [] : checkStart(found.definition, { variables, environment, submission: files });
    const findings = tellFindings({ ...found, findings: settleFindings(found.findings, files) });
    for (const text of findings) terminal.err(`${text}\n`);
    for (const one of needs) terminal.err(`${one.severity} ${one.code}: ${one.message}\n  fix: ${one.fix}\n`);
    if (needs.some(({ severity }) => severity === "error")) {
      terminal.err(`${file} was not run: a parameter, variable or submission is missing.`);
      return exitCodes.usage;
    }
    if (found.definition === null || (values.strict === true && findings.length + needs.length > 0)) {
      terminal.err(
        `${file} was not run: ${found.definition === null ? "it is invalid" : "it has warnings, and --strict is set"}.`,
      );
      return exitCodes.invalid;
    }
    await requireModel([definitionOf(found)], config, terminal, {
      variables,
      rubric: null,
      scripted: script !== null,
      budget: values.budget !== undefined,
      probe: false,
    });
    const notes = [
      ...needs.map(({ code, message }) => ({ code, message })),
      ...(submission?.notes ?? []).map((message) => ({ code: "SUBMISSION_NOTE", message })),
    ];
    const request = {
      definition: definitionOf(found),
      variables,
      environment: config.workflowEnvironment,
      labels,
      caps,
      patienceMs,
      submission,
      notes,
    };
    return await start({ request, script }, config, terminal, {
      json: values.json === true,
      detach: values.detach === true,
      ownWorker: ["script" as const, "sandbox" as const].flatMap((flag) =>
        values[flag] === undefined ? [] : `--${flag}`,
      ),
    });
  },
};

/** Our own state and settings, which may be in the same folder, are not part of the student's submission. */
async function takeSubmission(path: string, config: Config, terminal: Terminal): Promise<Submission> {
  const { cwd } = terminal;
  const without = [resolve(cwd, config.home), resolve(cwd, ".env")];
  const submission = await readSubmission(resolve(cwd, path), { without });
  for (const note of submission.notes) terminal.err(`! ${note}`);
  return submission;
}

interface Asked {
  readonly request: Omit<StartRequest, "id" | "options">;
  readonly script: ScriptFile | null;
}

interface Manner {
  readonly json: boolean;
  readonly detach: boolean;
  /** Flags that only a worker of this process supports. */
  readonly ownWorker: readonly string[];
}

async function start(asked: Asked, given: Config, terminal: Terminal, manner: Manner): Promise<number> {
  const config = await acceptWalls([asked.request.definition], given, terminal);
  const interrupts = catchInterrupts();
  const stack = await openStackOrServer({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  let stopScript = async () => {};
  let runId: string | null = null;
  try {
    const { uuidv7 } = await import("@markmill/store");
    const others = config.server === null && config.database.kind === "embedded" ? 0 : await livingWorkers(stack.store);
    const works = config.server === null && others === 0;
    if (!works) {
      requireOwnWorker(config, manner.ownWorker);
      await warnOfNoExecutor([asked.request.definition], stack, terminal.err);
    }
    const id = uuidv7(stack.store.clock.now());
    // Problems of this machine are found before a run is created.
    if (works && manner.detach) await requireSandbox(config, terminal.cwd);
    if (works && !manner.detach) await stack.work({ worker: true, supervisor: true, only: id, obeys: true });
    const script = asked.script === null ? null : await serveScript(asked.script, 0);
    if (script !== null) stopScript = () => script.close();
    if (interrupts.signal.aborted) return exitCodes.interrupted;

    const options: RunOptions = {
      // Another process performs the run with these stored options. The choice "none" is stored only if a person requested it on the
      // command line.
      sandbox: config.sandbox.kind === "none" && !config.sandbox.byFlag ? "auto" : config.sandbox.kind,
      defaultModel: config.models.defaultModel,
      script: asked.script === null || script === null ? null : await keepScript(stack, asked.script, script.port),
    };
    const created = await startRun(stack, { ...asked.request, id, options });
    runId = created.runId;
    if (manner.detach) {
      // The background process serves the script at the same port, and then enqueues the run.
      await stopScript();
      stopScript = async () => {};
      if (works) leaveToBackground(runId, config, terminal);
      else await stack.queues.enqueue(created.jobs);
      terminal.out(manner.json ? jsonText({ id: runId, created: true }, 0) : runId);
      return exitCodes.success;
    }
    await stack.queues.enqueue(created.jobs);
    return await attendRun(stack, runId, { json: manner.json, works }, terminal, interrupts.signal);
  } finally {
    await stack.close();
    await stopScript();
    if (interrupts.signal.aborted && runId !== null) tellHowToContinue(terminal, runId);
    interrupts.release();
  }
}

/** Refuses an explicit kind that this machine does not support. `auto` leaves the check to the commands that need a sandbox. */
async function requireSandbox(config: Config, cwd: string): Promise<void> {
  if (config.sandbox.kind === "auto" || !config.sandbox.byFlag) return;
  await (await openSandbox(config.sandbox.kind, config, cwd, () => undefined)).close();
}

function withSandbox(config: Config, kind: string | undefined): Config {
  if (kind === undefined) return config;
  if (!isSandboxChoice(kind)) throw new UsageError(`--sandbox must be auto, docker, jail or none, not '${kind}'.`);
  return { ...config, sandbox: { ...config.sandbox, kind, byFlag: true } };
}
