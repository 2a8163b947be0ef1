import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { decodeText } from "@markmill/csv";
import { checkExport, type ExportTarget, exportGrades, exportTargets } from "@markmill/gradebook";
import { put, readBatchClass } from "../class-papers.ts";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { oneLine } from "../fit-width.ts";
import { releasedSheet } from "../released-sheet.ts";
import { shortId } from "../short-id.ts";
import { withStack } from "../with-stack.ts";

export const exportCommand: Command = {
  help: `Usage: markmill export [BATCH] --to TARGET [OPTIONS]

Writes grades as a gradebook imports them. The file is tried against the rules
of the importer before it is written: what it would change, skip or refuse is
told. Work without a grade gets no number, and never a zero.

Examples:
  markmill export --to canvas --template gradebook.csv --check
  markmill export --to moodle --template worksheet.csv --out back/
  markmill export --to csv --released

  --to TARGET          ${exportTargets.join(", ")}
  --template FILE      the gradebook (Canvas) or worksheet (Moodle) as you
                       exported it; only it has the ids
  --assignment NAME    title or number of the column; else the class's name
  --rescale            bring the points to those of the assignment
  --released           only grades that were released, and are still the same
  --check              say what an import would do, and write nothing
  --out DIR            where the file goes; the folder of the results without it

A row that cannot be written is left out and named; the rest is written.

Exit codes: 0 all grades are written, or would be with --check; 3 some are left
out; 6 the file would be refused, and is not written.`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        to: { type: "string" },
        template: { type: "string" },
        assignment: { type: "string" },
        rescale: { type: "boolean" },
        released: { type: "boolean" },
        check: { type: "boolean" },
        out: { type: "string" },
      },
    });
    const to = exportTargets.find((target) => target === values.to);
    if (to === undefined) throw new UsageError(`Say where to: --to ${exportTargets.join("|")}.`);
    const template =
      values.template === undefined
        ? undefined
        : await readTemplate(resolve(terminal.cwd, values.template), values.template);
    return await withStack(terminal, async (stack) => {
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const read = await readBatchClass(stack, batch);
      const { sheet, changed } = values.released === true ? releasedSheet(read) : { sheet: read.sheet, changed: [] };
      if (changed.length > 0) {
        terminal.err(`! left out, since the grade changed after its release: ${oneLine(changed.join(", "))}`);
        terminal.err(`next: markmill release ${shortId(batch.id)}   releases them anew`);
      }
      const exported = exportGrades(to, sheet, {
        ...(template === undefined ? {} : { template }),
        ...(values.assignment === undefined ? {} : { assignment: values.assignment }),
        ...(values.rescale === undefined ? {} : { rescale: values.rescale }),
      });
      for (const { severity, code, message, fix, line } of exported.findings)
        terminal.err(`${severity} ${code}: ${line === null ? "" : `line ${line}: `}${message}\n  fix: ${fix}`);
      if (!exported.ok) return exitCodes.invalid;
      const { problems, changes } = checkExport(to, exported.files, template);
      for (const problem of problems) terminal.err(`the import ${problem}`);
      if (isPlatform(to)) terminal.err(`an import would take ${exported.written} grades and change ${changes}`);
      if (problems.length > 0) return exitCodes.invalid;
      const code = exported.findings.some(({ severity }) => severity === "left out")
        ? exitCodes.someNotGraded
        : exitCodes.success;
      if (values.check === true) return code;
      const out = resolve(terminal.cwd, values.out ?? read.facts.out ?? ".");
      for (const { name, text } of exported.files) {
        await put(join(out, name), text);
        terminal.out(join(out, name));
      }
      return code;
    });
  },
};

function isPlatform(to: ExportTarget): boolean {
  return to === "canvas" || to === "moodle";
}

async function readTemplate(path: string, written: string): Promise<string> {
  try {
    return decodeText(await readFile(path)).text;
  } catch {
    throw new UsageError(`There is no file ${written}.`);
  }
}
