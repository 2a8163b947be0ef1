import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { settleFindings } from "@markmill/definition";
import { type Command, exitCodes, UsageError } from "../command.ts";
import { findingAsJson, parametersAsJson } from "../definition-as-json.ts";
import { findWorkflow, tellFindings } from "../find-workflow.ts";
import { jsonText } from "../json-text.ts";

export const validate: Command = {
  help: `Usage: markmill validate FILE… [--strict] [--json] [--root DIR]
                              [--submission PATH]

Validate workflow files and all files that they include or call. Print every
finding with its place (file:line:column), its reason and its fix.

  --strict     treat warnings as errors
  --submission PATH
               assume that the files of this submission exist, as in a run
  --json       print one JSON object, for editors and CI
  --root DIR   the workflow folder; paths in the file may not leave it
               (default: the working directory if it contains the file)

Exit codes: 0 all valid, 2 wrong use, 6 at least one invalid.

Examples:
  markmill validate grade.wf.md
  markmill validate --strict workflows/*.wf.md
  markmill validate --json grade.wf.md
  markmill validate tides.json`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        strict: { type: "boolean" },
        json: { type: "boolean" },
        root: { type: "string" },
        submission: { type: "string" },
      },
    });
    if (positionals.length === 0) throw new UsageError("Name at least one workflow file.");
    const given = values.submission === undefined ? null : await filesOf(resolve(terminal.cwd, values.submission));
    const checked = positionals.map((file) => {
      const loaded = findWorkflow(file, terminal.cwd, values.root);
      const found = { ...loaded, findings: settleFindings(loaded.findings, given) };
      const errors = found.findings.filter((finding) => finding.severity === "error").length;
      const warnings = found.findings.length - errors;
      return { file, found, errors, warnings, valid: errors === 0 && !(values.strict && warnings > 0) };
    });
    if (values.json) {
      const files = checked.map(({ file, found, valid }) => ({
        file,
        valid,
        hash: found.definition?.hash ?? null,
        programs: Object.keys(found.definition?.programs ?? {}),
        parameters: parametersAsJson(found.definition?.programs[found.definition.root]),
        findings: found.findings.map(findingAsJson),
      }));
      terminal.out(jsonText({ valid: files.every((file) => file.valid), items: files, next: null }));
    } else {
      for (const { file, found, errors, warnings, valid } of checked) {
        for (const text of tellFindings(found)) terminal.err(`${text}\n`);
        const counts = [count(errors, "error"), count(warnings, "warning")].filter((part) => part !== "").join(", ");
        terminal.out(`${valid ? "ok     " : "invalid"} ${file}${counts === "" ? "" : `: ${counts}`}`);
      }
    }
    return checked.every(({ valid }) => valid) ? exitCodes.success : exitCodes.invalid;
  },
};

async function filesOf(path: string): Promise<string[]> {
  const { readSubmission } = await import("@markmill/grading/submission");
  return [...(await readSubmission(path)).paths];
}

function count(number: number, word: string): string {
  return number === 0 ? "" : `${number} ${word}${number === 1 ? "" : "s"}`;
}
