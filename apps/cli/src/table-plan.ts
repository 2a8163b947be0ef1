/**
 * Plans a `.cfg.json` as a table of runs: each combination of workflow, repetition, settings and values is one row. All rows are checked
 * before any run starts. File paths are relative to the folder of the table, or else to the working directory.
 *
 * A row's key is computed from its content, not from its position: adding, removing or moving rows does not affect the other rows.
 */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { type CfgBatch, type CfgSettings, type CfgWorkflow, readCfgBatch } from "@markmill/classroom";
import type { Config } from "@markmill/config";
import { checkStart, type Definition as LoadedDefinition, type Place, Report } from "@markmill/definition";
import type { Definition } from "@markmill/store";
import { tell } from "./class-plan.ts";
import { type Terminal, UsageError } from "./command.ts";
import { definitionOf, findWorkflow, tellFindings } from "./find-workflow.ts";
import { readFileValues } from "./read-params.ts";

export interface TablePlan {
  readonly key: string;
  readonly name: string;
  readonly file: string;
  readonly rows: readonly PlannedRow[];
  /** Run once before all rows, and once after them, whatever the results are. null: none. */
  readonly setup: PlannedRow | null;
  readonly cleanup: PlannedRow | null;
  readonly expectedLength: number | null;
  readonly expectedFacts: CfgBatch["expectedFacts"];
  readonly definitions: readonly Definition[];
}

export interface PlannedRow {
  /** The key stays the same while the row's content is unchanged. */
  readonly key: string;
  /** From 1, in the order of the file. 0 for the setup and the cleanup. */
  readonly number: number;
  readonly label: string;
  /** The path as written in the table file. */
  readonly workflow: string;
  readonly definition: Definition;
  readonly variables: Readonly<Record<string, string>>;
}

export const isTableFile = (path: string) => /\.cfg\.json$/i.test(path);

/** null: there was an error, and it was reported. */
export function planTable(
  path: string,
  model: string | undefined,
  config: Config,
  terminal: Terminal,
): TablePlan | null {
  const file = resolve(terminal.cwd, path);
  const { batch, findings } = readCfgBatch(textOf(file, path), file);
  tell(findings, terminal);
  if (batch === null) return null;
  const named = batch.runs.some(({ settings }) => settings.model !== null);
  if (model !== undefined && named) {
    throw new UsageError(`${path} names its models in ai_model_names. Remove them from the file, or remove --model.`);
  }
  const folder = dirname(file);
  const report = new Report();
  const loaded = new Map<string, LoadedWorkflow | null>();
  for (const workflow of [batch.setup, ...batch.runs.map((run) => run.workflow), batch.cleanup]) {
    if (workflow === null || loaded.has(workflow.path)) continue;
    loaded.set(workflow.path, loadWorkflow(workflow, folder, config, report, terminal));
  }
  const flows = [...loaded.values()].filter((one) => one !== null);
  const environment = Object.keys(config.workflowEnvironment);
  const told = new Set<string>();
  const plan = (row: Omit<PlannedRow, "definition" | "variables">, written: Values, at: Place, which: string) => {
    const found = loaded.get(row.workflow);
    if (found === null || found === undefined) return null;
    const variables = valuesOf(
      written,
      { cwd: folder, root: terminal.cwd },
      `${path}:${at.line}:${at.column}: ${which}`,
    );
    // A value may be for another workflow of the table. A value that no workflow uses is a mistake.
    const checked = Object.entries(variables).filter(
      ([name]) => found.takes(name) || !flows.some((one) => one.takes(name)),
    );
    const start = { variables: Object.fromEntries(checked), environment, submission: null };
    for (const { severity, code, message, fix } of checkStart(found.checked, start)) {
      const same = `${row.workflow} ${code} ${message}`;
      // Rows of a table have no submission. Their commands run in an empty folder, so this finding is not reported.
      if (told.has(same) || code === "NO_SUBMISSION") continue;
      told.add(same);
      const instead =
        code === "SUBMISSION_REQUIRED"
          ? "A table of runs has no submissions. To grade a class, run 'markmill grade FOLDER'."
          : fix;
      report.add([{ severity, code, at, message: `${which}, ${row.workflow}: ${message}`, fix: instead }]);
    }
    return { ...row, definition: found.definition, variables };
  };
  const seen = new Map<string, number>();
  const rows = batch.runs.flatMap(({ number, workflow, repeat, values, settings, at, label }) => {
    const written = { ...values, ...settingValues(settings), ...(model === undefined ? {} : { AI_MODEL_NAME: model }) };
    const sorted = Object.entries(written).sort(([one], [other]) => (one < other ? -1 : 1));
    const base = digest([workflow.path, repeat, sorted]);
    const times = (seen.get(base) ?? 0) + 1;
    seen.set(base, times);
    const row = { key: times === 1 ? base : `${base}-${times}`, number, label, workflow: workflow.path };
    return plan(row, written, at, label === "" ? `run ${number}` : `run ${number} (${label})`) ?? [];
  });
  const first = batch.runs[0];
  const around = (key: "setup" | "cleanup") => {
    const workflow = batch[key];
    if (workflow === null || first === undefined) return null;
    const row = { key, number: 0, label: first.label, workflow: workflow.path };
    return plan(row, first.values, workflow.at, `${key}_workflow_file`);
  };
  const [setup, cleanup] = [around("setup"), around("cleanup")];
  tell(report.findings, terminal);
  if (report.hasErrors || flows.length < loaded.size) return null;
  return {
    key: `class ${file}`,
    name: basename(file).replace(/\.cfg\.json$/i, ""),
    file,
    rows,
    setup,
    cleanup,
    expectedLength: batch.expectedLength,
    expectedFacts: batch.expectedFacts,
    definitions: flows.map(({ definition }) => definition),
  };
}

type Values = Readonly<Record<string, string>>;

interface LoadedWorkflow {
  readonly definition: Definition;
  readonly checked: LoadedDefinition;
  /** Whether the workflow uses a value of this name. */
  readonly takes: (name: string) => boolean;
}

function textOf(file: string, shown: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError(`File ${shown} not found.`);
  if (!stat.isFile()) throw new UsageError(`${shown} is not a file.`);
  return readFileSync(file, "utf8");
}

/** null: the workflow is missing or invalid, and this was reported. */
function loadWorkflow(
  { path, at }: CfgWorkflow,
  folder: string,
  config: Config,
  report: Report,
  terminal: Terminal,
): LoadedWorkflow | null {
  const places = [...new Set([resolve(folder, path), resolve(terminal.cwd, path)])];
  const file = places.find((place) => statSync(place, { throwIfNoEntry: false }) !== undefined);
  if (file === undefined) {
    report.error(
      "CFG_FILE_MISSING",
      at,
      `workflow ${path} not found (searched ${places.join(", ")}).`,
      "Correct the path. It is relative to the folder of the file, or to the working directory.",
    );
    return null;
  }
  const found = findWorkflow(file, terminal.cwd, undefined, Object.keys(config.workflowEnvironment));
  for (const text of tellFindings(found)) terminal.err(`${text}\n`);
  const { definition: checked } = found;
  if (checked === null) return null;
  const known = new Map<string, boolean>();
  const takes = (name: string) => {
    const unknown = () => checkStart(checked, { variables: { [name]: "" }, submission: null });
    if (!known.has(name)) known.set(name, !unknown().some(({ code }) => code === "PARAM_UNKNOWN"));
    return known.get(name) === true;
  };
  return { definition: definitionOf(found), checked, takes };
}

function valuesOf(written: Readonly<Record<string, string>>, places: { cwd: string; root: string }, where: string) {
  try {
    return readFileValues(written, places);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${where}: ${error.message}`);
    throw error;
  }
}

const variableOf = {
  model: "AI_MODEL_NAME",
  temperature: "AI_TEMPERATURE",
  topP: "AI_TOP_P",
  frequencyPenalty: "AI_FREQUENCY_PENALTY",
  presencePenalty: "AI_PRESENCE_PENALTY",
} as const satisfies Record<keyof CfgSettings, string>;

/** The model settings, in the order of the table's columns. */
export const settingNames = Object.values(variableOf);

function settingValues(settings: CfgSettings): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variableOf).flatMap(([setting, name]) => {
      const value = settings[setting as keyof CfgSettings];
      return value === null ? [] : [[name, String(value)]];
    }),
  );
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 20);
}
