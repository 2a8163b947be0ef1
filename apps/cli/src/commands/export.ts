import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { decodeText } from "@markmill/classroom/csv";
import {
  checkExport,
  type ExportedFile,
  type ExportTarget,
  exportGrades,
  exportTargets,
  statusOf,
} from "@markmill/classroom/gradebook";
import { readBatchClass } from "../class-papers.ts";
import { resultsOf, sheetHash } from "../class-results.ts";
import { type Command, CommandError, exitCodes, type Terminal, UsageError } from "../command.ts";
import { draftSheet } from "../draft-sheet.ts";
import { exportNames, namesOfAll } from "../export-names.ts";
import { findClass } from "../find-batch.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { put, setAside } from "../put-file.ts";
import { releasedSheet, type Told } from "../released-sheet.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const exportCommand: Command = {
  help: `Usage: markmill export [BATCH] --to TARGET [OPTIONS]

Export released grades to a file that a gradebook can import. Markmill first
checks the file against the importer's rules. It lists the students and rows
that it leaves out, with the reason. A submission without a grade gets no number
and never a zero.

Examples:
  markmill export --to canvas --template gradebook.csv --check
  markmill export --to moodle --template worksheet.csv --out back/
  markmill export --to csv --draft

  --to TARGET          ${exportTargets.join(", ")}
  --template FILE      the gradebook (Canvas) or worksheet (Moodle) that you
                       exported; it contains the ids that the import needs
  --assignment NAME    title or number of the column (default: the class's name)
  --rescale            scale the points to those of the assignment
  --draft              export unreleased grades too; file names begin with
                       draft-, and feedback says DRAFT
  --check              print what an import would do, and write nothing
  --out DIR            write the file here (default: the results folder)

Exit codes:
  0  the grade of every submission is written (or would be, with --check)
  1  nothing is released
  3  some submissions are left out
  4  written, but other results on disk are out of date
  6  the importer would refuse the file, so it is not written`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        to: { type: "string" },
        template: { type: "string" },
        assignment: { type: "string" },
        rescale: { type: "boolean" },
        // Without --draft only released grades are exported. --released, a flag of earlier versions, means the same.
        released: { type: "boolean" },
        draft: { type: "boolean" },
        check: { type: "boolean" },
        out: { type: "string" },
      },
    });
    const to = exportTargets.find((target) => target === values.to);
    if (to === undefined) throw new UsageError(`Choose a target: --to ${exportTargets.join("|")}.`);
    if (values.released === true && values.draft === true)
      throw new UsageError("Use only one of --released and --draft.");
    const draft = values.draft === true;
    const template =
      values.template === undefined
        ? undefined
        : await readTemplate(resolve(terminal.cwd, values.template), values.template);
    return await withStack(terminal, async (stack, config) => {
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const results = resultsOf(stack, config, batch, terminal);
      await results.repair();
      const read = await readBatchClass(stack, batch);
      const released = releasedSheet(read);
      if (!draft && released.works.size === 0) {
        throw new CommandError(
          "EXPORT_NOT_RELEASED",
          "Nothing was exported, because no grade of this class is released.",
          `'markmill release ${shortId(batch.id)}' releases the grades; --draft exports them as drafts.`,
        );
      }
      const sheet = draft ? draftSheet(read.sheet) : released.sheet;
      const leftOut = draft
        ? released.leftOut.filter(({ key }) => read.works.get(key)?.grade?.total == null)
        : released.leftOut;
      const exported = exportGrades(to, sheet, {
        ...(template === undefined ? {} : { template }),
        ...(values.assignment === undefined ? {} : { assignment: values.assignment }),
        ...(values.rescale === undefined ? {} : { rescale: values.rescale }),
      });
      if (!draft) for (const one of released.earlier) terminal.err(`! ${oneLine(one.name)}: ${one.why}`);
      tellLeftOut(leftOut, terminal);
      const absent = sheet.rows
        .filter((row) => statusOf(row) === "nothing handed in")
        .map(({ student }) => student.name);
      if (absent.length > 0) terminal.err(`${absent.length} handed in nothing: ${oneLine(absent.join(", "))}`);
      for (const { severity, code, message, fix, line } of exported.findings) {
        // This finding was reported above, with the reason.
        if (code === "EXPORT_NO_GRADE") continue;
        terminal.err(`${severity} ${code}: ${line === null ? "" : `line ${line}: `}${message}\n  fix: ${fix}`);
      }
      const out = resolve(terminal.cwd, values.out ?? read.facts.out ?? ".");
      const named = exportNames(to, { draft, besideResults: (await results.placeAt(out)) !== null });
      const problems = exported.ok ? checkExport(to, exported.files, template) : null;
      for (const problem of problems?.problems ?? []) terminal.err(`the import ${problem}`);
      if (exported.ok && isPlatform(to))
        terminal.err(`an import would read ${exported.written} grades and change ${problems?.changes ?? 0}`);
      if (!exported.ok || (problems?.problems.length ?? 0) > 0) {
        if (values.check !== true) await tellNotWritten(join(out, named), terminal);
        return exitCodes.invalid;
      }
      const code =
        leftOut.length > 0 || exported.findings.some(({ severity }) => severity === "left out")
          ? exitCodes.someNotGraded
          : exitCodes.success;
      if (values.check === true) return code;
      const files = exported.files.map((file) => ({ ...file, name: namedAs(file, to, named) }));
      // First removes files of students whose grade must no longer be exported.
      const fresh = new Set(files.map(({ name }) => name));
      for (const name of namesOfAll(to, named, sheet)) {
        const stale = fresh.has(name) ? null : await setAside(join(out, name));
        if (stale !== null) terminal.err(`! out of date, renamed: ${stale}`);
      }
      const hash = sheetHash(sheet);
      const remembered = files.map(({ name }) => ({ file: join(out, name), draft, sheet: hash }));
      await results.exporting(remembered, async () => {
        for (const { name, text } of files) await put(join(out, name), text);
      });
      for (const { file } of remembered) terminal.out(file);
      return results.code(code);
    });
  },
};

/** Lists every student with a submission who gets no grade in this export. */
function tellLeftOut(all: readonly Told[], terminal: Terminal): void {
  if (all.length === 0) return;
  const width = terminal.shown ? terminal.columns : 200;
  terminal.err(`! ${all.length} left out:`);
  for (const { name, why } of all) terminal.err(fitWidth(`    ${oneLine(name)}: ${oneLine(why)}`, width));
}

/** An older file with that name must not look like this export. */
async function tellNotWritten(file: string, terminal: Terminal): Promise<void> {
  terminal.err(`not written: ${file}`);
  const stale = await setAside(file);
  if (stale !== null) terminal.err(`! the older export is out of date and was renamed: ${stale}`);
}

function namedAs({ name }: ExportedFile, to: ExportTarget, named: string): string {
  const [, ...rest] = name.split("/");
  return rest.length === 0 || (to !== "gradescope" && to !== "classroom") ? named : [named, ...rest].join("/");
}

function isPlatform(to: ExportTarget): boolean {
  return to === "canvas" || to === "moodle";
}

async function readTemplate(path: string, written: string): Promise<string> {
  try {
    return decodeText(await readFile(path)).text;
  } catch {
    throw new UsageError(`File ${written} not found.`);
  }
}
