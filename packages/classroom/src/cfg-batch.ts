/**
 * Reads a `.cfg.json` batch of CodeMentor: workflows, values and settings. Every combination of them is a run. Keys may be missing. The
 * runs have CodeMentor's order, so that numbers and labels in its tables mean the same here. This file starts no run.
 */
import { type Finding, type Place, Report } from "@markmill/definition";
import { z } from "zod";
import type { ClassFindingCode } from "./class-codes.ts";
import { readPositioned } from "./positioned-yaml.ts";

export interface CfgBatch {
  /** Runs once before and after the batch, with the first values. null: none. */
  readonly setup: CfgWorkflow | null;
  readonly cleanup: CfgWorkflow | null;
  readonly runs: readonly CfgRun[];
  /** The number of words the result should have. null: not checked. */
  readonly expectedLength: number | null;
  /** Each fact is found or not. A list counts as found when one of its items is found. */
  readonly expectedFacts: readonly (string | readonly string[])[];
}

/** A path as written in the file, with its place. */
export interface CfgWorkflow {
  readonly path: string;
  readonly at: Place;
}

interface CfgRun {
  /** From 1, in the order of the file. */
  readonly number: number;
  readonly workflow: CfgWorkflow;
  /** The place of the values. */
  readonly at: Place;
  readonly repeat: number;
  readonly values: Readonly<Record<string, string>>;
  /** The value of LABEL. Empty: there is none. */
  readonly label: string;
  readonly settings: CfgSettings;
}

/** Settings as written in the file. null: the workflow's own setting applies. */
export interface CfgSettings {
  readonly model: string | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly frequencyPenalty: number | null;
  readonly presencePenalty: number | null;
}

const MOST_RUNS = 100_000;

const values = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const list = <T>(of: z.ZodType<T>) => z.union([z.array(of), of.transform((one) => [one])]).nullish();
const schema = z.strictObject({
  setup_workflow_file: z.string().nullish(),
  workflow_files: z.union([
    z
      .string()
      .min(1)
      .transform((one) => [one]),
    z.array(z.string().min(1)).min(1),
  ]),
  key_values: z.union([values.transform((one) => [one]), z.array(values)]).nullish(),
  repeats: z.int().min(1).max(10_000).nullish(),
  ai_model_names: list(z.string().min(1)),
  ai_temperature_values: list(z.number().min(0).max(2)),
  ai_top_p_values: list(z.number().min(0).max(1)),
  ai_f_penalty_values: list(z.number().min(-2).max(2)),
  ai_p_penalty_values: list(z.number().min(-2).max(2)),
  expected_length: z.number().positive().nullish(),
  expected_facts: z.array(z.union([z.string(), z.array(z.string())])).nullish(),
  cleanup_workflow_file: z.string().nullish(),
  /** Such files contain this key, but it has no effect. */
  csv_file: z.unknown().optional(),
});

export function readCfgBatch(
  text: string,
  file: string,
): { readonly batch: CfgBatch | null; readonly findings: readonly Finding[] } {
  const report = new Report<ClassFindingCode>();
  const codes = { syntax: "CFG_JSON", key: "CFG_KEY", value: "CFG_VALUE" } as const;
  const read = readPositioned(
    text.replace(/^\ufeff/, ""),
    file,
    schema,
    () => Object.keys(schema.shape),
    codes,
    report,
  );
  if (read === null) return { batch: null, findings: report.findings };
  const { data, placeOf } = read;
  const one = (key: "setup_workflow_file" | "cleanup_workflow_file"): CfgWorkflow | null => {
    const path = data[key];
    return path === null || path === undefined ? null : { path, at: placeOf([key]) };
  };
  // A one-item list may be written as the item itself. Then the place is the item's.
  const workflows = data.workflow_files.map((path, index) => ({ path, at: placeOf(["workflow_files", index]) }));
  const each = <T>(given: readonly T[] | null | undefined): readonly (T | null)[] =>
    given === null || given === undefined || given.length === 0 ? [null] : given;
  const entries =
    data.key_values === null || data.key_values === undefined || data.key_values.length === 0 ? [{}] : data.key_values;
  const axes = [
    each(data.ai_model_names),
    each(data.ai_temperature_values),
    each(data.ai_top_p_values),
    each(data.ai_f_penalty_values),
    each(data.ai_p_penalty_values),
  ];
  const count = axes.reduce(
    (sum, axis) => sum * axis.length,
    data.workflow_files.length * (data.repeats ?? 1) * entries.length,
  );
  if (count > MOST_RUNS) {
    report.error(
      "CFG_RUNS",
      { file, line: 1, column: 1 },
      `The batch has ${count} runs.`,
      `Split it. A batch may have at most ${MOST_RUNS} runs.`,
    );
    return { batch: null, findings: report.findings };
  }
  const runs: CfgRun[] = [];
  const entryAt = entries.map((_, index) => placeOf(["key_values", index]));
  for (const workflow of workflows)
    for (let repeat = 1; repeat <= (data.repeats ?? 1); repeat += 1)
      for (const model of each(data.ai_model_names))
        for (const temperature of each(data.ai_temperature_values))
          for (const topP of each(data.ai_top_p_values))
            for (const frequencyPenalty of each(data.ai_f_penalty_values))
              for (const presencePenalty of each(data.ai_p_penalty_values))
                for (const [index, entry] of entries.entries()) {
                  const texts = Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, String(value)]));
                  const settings = { model, temperature, topP, frequencyPenalty, presencePenalty };
                  runs.push({
                    number: runs.length + 1,
                    workflow,
                    at: entryAt[index] ?? { file, line: 1, column: 1 },
                    repeat,
                    values: texts,
                    label: texts.LABEL ?? "",
                    settings,
                  });
                }
  return {
    batch: {
      setup: one("setup_workflow_file"),
      cleanup: one("cleanup_workflow_file"),
      runs,
      expectedLength: data.expected_length ?? null,
      expectedFacts: data.expected_facts ?? [],
    },
    findings: report.findings,
  };
}

/** The score is 100 for the expected number of words. It falls linearly to 0 at no words and at twice the number. */
export function lengthScore(result: string, expected: number): number {
  const words = result.split(/\s+/).filter((word) => word !== "").length;
  const share = words / expected;
  return Math.max(0, 100 * (share <= 1 ? share : 2 - share));
}

/** The percentage of expected facts that occur literally in the result. */
export function factsScore(result: string, facts: CfgBatch["expectedFacts"]): number | null {
  if (facts.length === 0) return null;
  const found = facts.filter((fact) => (typeof fact === "string" ? [fact] : fact).some((one) => result.includes(one)));
  return (100 * found.length) / facts.length;
}
