import type { NameUse } from "./collect-names.ts";
import { roleOf } from "./read-document.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

/** Reports names that are not a prompt of the file and get no value anywhere. Most of them are misspelt. */
export function checkNames(
  uses: readonly NameUse[],
  prompts: readonly string[],
  known: ReadonlySet<string>,
  report: WorkflowReport,
): void {
  const promptIds = new Set(prompts);
  for (const { as, name, where, at } of uses) {
    if (known.has(name) || promptIds.has(name)) continue;
    const near = report.didYouMean(name, () => (as === "prompt" ? [...prompts, ...known] : [...known, ...prompts]));
    if (as === "prompt") {
      const message = `${where} sends "${name.slice(0, 60)}", which is neither a prompt nor a variable of this workflow.`;
      const fix = `${near}Write the section ## ${roleOf(name) === null ? `User ${name.slice(0, 40)}` : name.slice(0, 60)}, or quote the text if it is literal.`;
      if (roleOf(name) === null) report.warn("PROMPT_UNKNOWN", at, message, fix);
      else report.error("PROMPT_UNKNOWN", at, message, fix);
    } else if (as === "assign") {
      report.warn(
        "ASSIGN_LITERAL",
        at,
        `"${name.slice(0, 60)}" in ${where} is neither a prompt nor a variable, so RESULT becomes this literal text.`,
        `${near}If this is intended, quote the text.`,
      );
    } else {
      report.warn(
        "VARIABLE_UNKNOWN",
        at,
        `${where} uses ${name}, but the workflow never sets it.`,
        `${near}Declare it in PARAMS, set it with a SET node, or name an environment variable in WORKFLOW_ENV.`,
      );
    }
  }
}
