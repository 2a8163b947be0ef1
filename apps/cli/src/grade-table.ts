/**
 * Runs a table (table-plan.ts) as a batch. Each row has its own run, and a failure affects only that row. The setup and the cleanup are
 * submissions of the same batch, saved when it is their turn.
 *
 * On kill -9 at any line, the same command saves the same rows under the same keys. So finished rows stay, and the rest continues.
 */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Config } from "@markmill/config";
import type { Json } from "@markmill/engine";
import {
  catchInterrupts,
  mustWork,
  openStackOrServer,
  type RunOptions,
  requireOwnWorker,
  type ScriptFile,
  type Stack,
  workForBatch,
  writeRunOptions,
} from "@markmill/stack";
import type { NewBatch, NewWork } from "@markmill/store";
import { acceptWalls } from "./accept-walls.ts";
import { countOf } from "./amounts.ts";
import { attendClass, followClass } from "./attend-class.ts";
import { writeClassFacts } from "./class-facts.ts";
import { scriptFor } from "./class-script.ts";
import { CommandError, exitCodes, type Terminal, UsageError } from "./command.ts";
import { jsonText } from "./json-text.ts";
import { leaveToBackground } from "./leave-run.ts";
import { requireModel } from "./require-model.ts";
import { requireSandbox, warnOfNoExecutor } from "./require-sandbox.ts";
import type { PlannedRow, TablePlan } from "./table-plan.ts";
import { terminalLog } from "./terminal-log.ts";

export interface TableManner {
  readonly concurrency: number | null;
  readonly budget: number | null;
  readonly json: boolean;
  readonly detach: boolean;
  readonly dryRun: boolean;
  readonly script: ScriptFile | null;
  readonly ownWorker: readonly string[];
  readonly out: string;
}

export async function gradeTable(
  plan: TablePlan,
  given: Config,
  terminal: Terminal,
  manner: TableManner,
): Promise<number> {
  if (manner.dryRun) return preview(plan, manner.json, terminal);
  if (manner.detach && (plan.setup !== null || plan.cleanup !== null)) {
    throw new UsageError(
      "--detach cannot be used, because this table names commands that run before or after all others. Remove --detach.",
    );
  }
  const config = await acceptWalls(plan.definitions, given, terminal);
  const interrupts = catchInterrupts();
  const stack = await openStackOrServer({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  let stopScript = async () => {};
  let begun = false;
  try {
    const works = await mustWork(stack, config);
    if (!works) requireOwnWorker(config, manner.ownWorker);
    if (works) for (const definition of plan.definitions) await requireSandbox(definition, config, terminal.cwd);
    else await warnOfNoExecutor(plan.definitions, stack, terminal.err);
    const { batches, definitions } = stack.tenant;
    const known = (await batches.list({ key: plan.key })).batches[0] ?? null;
    const before = known === null ? null : await batches.get(known.id);
    if (before?.state.is === "cancelled") {
      throw new CommandError(
        "CLASS_CANCELLED",
        `This table of runs was cancelled: ${before.state.reason}`,
        `'markmill resume ${before.id}' continues it.`,
      );
    }
    for (const row of [...plan.rows, plan.setup, plan.cleanup])
      if (row !== null)
        await requireModel([row.definition], config, terminal, {
          variables: row.variables,
          rubric: null,
          scripted: manner.script !== null,
          budget: manner.budget !== null,
          probe: works && row === plan.rows[0],
        });
    const script = await scriptFor(stack, manner.script, before?.settings.run.options ?? null);
    stopScript = script.stop;
    for (const definition of plan.definitions) await definitions.save(definition);
    const head = headOf(plan, config, script.ref, manner);
    const rows = await worksOf(stack, plan.rows);
    const [setup, cleanup] = [await worksOf(stack, [plan.setup]), await worksOf(stack, [plan.cleanup])];
    if (interrupts.signal.aborted) return exitCodes.interrupted;
    const stages: readonly (readonly NewWork[])[] = [
      ...(setup.length === 0 ? [] : [setup]),
      [...setup, ...rows],
      ...(cleanup.length === 0 ? [] : [[...setup, ...rows, ...cleanup]]),
    ];
    for (const [index, stage] of stages.entries()) {
      const last = index === stages.length - 1;
      const saved = await batches.save({ ...head, works: stage, whole: last });
      if (index === 0) tellBegun(saved, plan, terminal);
      const stands = await batches.get(saved.id);
      const halted = stands?.state.is === "paused" || stands?.troubles.some(({ held }) => held) === true;
      const jobs = halted ? (await batches.resume(saved.id)).jobs : [];
      if (manner.detach) {
        await stopScript();
        stopScript = async () => {};
        if (works) leaveToBackground(saved.id, config, terminal);
        else await stack.queues.enqueue(jobs);
        terminal.out(manner.json ? jsonText({ id: saved.id, created: saved.created }, 0) : saved.id);
        return exitCodes.success;
      }
      if (works && !begun) await workForBatch(stack, saved.id);
      begun = true;
      await stack.queues.enqueue(jobs);
      const attending = {
        json: manner.json,
        works,
        names: true,
        out: manner.out,
        home: resolve(terminal.cwd, config.home),
      };
      if (last) return await attendClass(stack, saved.id, attending, terminal, interrupts.signal);
      const { end } = await followClass(stack, saved.id, terminal, true, interrupts.signal);
      // Interrupted, paused or waiting: the results so far are reported, and the same command continues.
      if (end?.is !== "finished") return await attendClass(stack, saved.id, attending, terminal, interrupts.signal);
    }
    return exitCodes.success;
  } finally {
    await stack.close();
    await stopScript();
    if (interrupts.signal.aborted && begun) {
      terminal.err("next: run the same command again to continue; no model call is paid for twice");
    }
    interrupts.release();
  }
}

function headOf(
  plan: TablePlan,
  config: Config,
  script: RunOptions["script"],
  manner: TableManner,
): Omit<NewBatch, "works"> {
  const first = plan.rows[0]?.definition;
  if (first === undefined) throw new Error("a table has at least one row");
  const options: RunOptions = {
    sandbox: config.sandbox.kind === "none" && !config.sandbox.byFlag ? "auto" : config.sandbox.kind,
    defaultModel: config.models.defaultModel,
    script,
  };
  const all = [plan.setup, ...plan.rows, plan.cleanup].filter((row) => row !== null);
  return {
    key: plan.key,
    name: plan.name,
    definition: first,
    rubric: { criteria: [] },
    ...(manner.concurrency === null ? {} : { concurrency: manner.concurrency }),
    ...(manner.budget === null ? {} : { budget: { nanodollars: manner.budget, tokens: null } }),
    settings: {
      run: {
        environment: config.workflowEnvironment,
        options: writeRunOptions(options) as { readonly [name: string]: Json },
      },
      late: null,
      aiConsent: "any",
      language: null,
      facts: writeClassFacts({
        deadline: null,
        unmatched: [],
        similar: null,
        comparedPartly: [],
        left: 0,
        unsampled: [],
        unfetched: [],
        candidates: [],
        choices: [],
        out: manner.out,
        table: { expectedLength: plan.expectedLength, expectedFacts: plan.expectedFacts.map(plainFact) },
      }),
    },
    members: all.map((row) => ({ key: row.key, name: rowName(row) })),
  };
}

const plainFact = (fact: string | readonly string[]) => (typeof fact === "string" ? fact : [...fact]);

function rowName({ key, number, label }: PlannedRow): string {
  if (number === 0) return key;
  return label === "" ? `run ${number}` : `run ${number}, ${label}`;
}

/** The blob contains the row. An unchanged row has the same content; a changed row causes another grading attempt. */
async function worksOf(stack: Stack, rows: readonly (PlannedRow | null)[]): Promise<NewWork[]> {
  const works: NewWork[] = [];
  for (const row of rows) {
    if (row === null) continue;
    const { key, number, label, workflow, definition, variables } = row;
    const bytes = Buffer.from(JSON.stringify({ workflow, variables: Object.entries(variables).sort() }));
    const hash = createHash("sha256").update(bytes).digest("hex");
    const saved = await stack.tenant.blobs.save(bytes);
    if (saved.hash !== hash) throw new Error("a blob has another hash than its bytes");
    works.push({
      key,
      by: [key],
      group: null,
      attempt: 1,
      counts: true,
      label,
      sources: [String(number), workflow],
      submittedAt: null,
      lateness: { is: "unknown" },
      content: {
        is: "taken",
        hash,
        files: 0,
        bytes: bytes.length,
        paths: [],
        notes: [],
        start: { definition: definition.hash, variables },
      },
    });
  }
  return works;
}

function tellBegun(
  saved: { readonly created: boolean; readonly changed: number; readonly otherDefinition: number },
  { name, rows }: TablePlan,
  terminal: Terminal,
): void {
  terminal.err(`${saved.created ? "" : "continuing "}${name}: ${countOf(rows.length, "run")}`);
  if (saved.otherDefinition > 0) {
    terminal.err(`! ${countOf(saved.otherDefinition, "run")} with another version of a workflow not changed`);
  }
}

function preview(plan: TablePlan, json: boolean, terminal: Terminal): number {
  const all = [plan.setup, ...plan.rows, plan.cleanup].filter((row) => row !== null);
  if (json) {
    const rows = all.map(({ definition: _, ...row }) => row);
    terminal.out(jsonText({ version: 1, name: plan.name, rows }));
  } else {
    terminal.out(`${plan.name}: ${countOf(plan.rows.length, "run")}`);
    for (const row of all) {
      const values = Object.entries(row.variables).map(
        ([name, value]) => `${name}=${value.length > 40 ? `${value.slice(0, 39)}…` : value}`,
      );
      terminal.out(`  ${rowName(row)}: ${row.workflow} ${values.join(" ")}`.replaceAll("\n", " "));
    }
  }
  terminal.err("nothing was started: --dry-run");
  return exitCodes.success;
}
