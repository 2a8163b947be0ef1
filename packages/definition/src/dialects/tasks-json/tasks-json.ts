import type { LoadedFile } from "../../loaded-file.ts";
import { parseJson } from "../../parse-json.ts";
import { Report } from "../../report.ts";
import type { DialectRules, SourceFile } from "../dialect.ts";
import { compileTasks } from "./compile-tasks.ts";
import { drawTasks } from "./draw-tasks.ts";
import { formatTasks } from "./format-tasks.ts";
import { readingOf } from "./json-fields.ts";
import { readTaskFile } from "./read-task-file.ts";
import { type TaskReport, taskCodes } from "./task-codes.ts";

const jsonName = /\.json$/i;

export const tasksJson: DialectRules = {
  files: "JSON with config, tasks and steps (.json)",
  codes: taskCodes,
  recognises: ({ path, text }) => (isTasks(text) ? "content" : jsonName.test(path) ? "name" : null),
  load,
  format: formatTasks,
  draw: drawTasks,
  plan: null,
};

function isTasks(text: string): boolean {
  return /^\s*\{/.test(text) && /"tasks"\s*:/.test(text) && /"steps"\s*:/.test(text);
}

function load({ path, text }: SourceFile): LoadedFile {
  const report: TaskReport = new Report();
  const reading = readingOf(path, text, report, false);
  const compiled = compile(path, text, reading);
  const { program = null, sources = noSources } = compiled ?? {};
  const written = Object.values(program?.nodes ?? {}).flatMap(({ writes = [] }) =>
    writes.flatMap((effect) => (effect.do === "set" ? [effect.name] : [])),
  );
  const given = program?.params.map(({ name }) => name) ?? [];
  return {
    program: report.hasErrors ? null : program,
    sources,
    findings: report.findings,
    read: [],
    calls: [],
    defines: [...new Set([...given, ...written])],
    checkNames: () => undefined,
  };
}

const noSources = { nodes: {}, edges: [], prompts: {}, params: {} };

function compile(path: string, text: string, reading: ReturnType<typeof readingOf>) {
  const parsed = parseJson(text);
  if (!parsed.ok) {
    reading.report.error(parsed.code, reading.placeOf(parsed.at), parsed.message, parsed.fix);
    return null;
  }
  const file = readTaskFile(parsed.value, path, reading);
  return file === null ? null : compileTasks(file, reading);
}
