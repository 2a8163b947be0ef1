import type { DialectRules } from "../dialect.ts";
import { drawWorkflow, formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";
import { workflowCodes } from "./workflow-codes.ts";

const markdownName = /\.(?:md|markdown)$/i;
/** The fence of a flowchart, or the heading of the section that contains it. */
const markdownContent = /^(?: {0,3}(?:`{3,}|~{3,})[ \t]*mermaid\b| {0,3}#[ \t]+workflow[ \t#]*$)/im;

export const codementor: DialectRules = {
  files: "Markdown with a section # Workflow that contains a mermaid flowchart (.wf.md)",
  codes: workflowCodes,
  recognises: ({ path, text }) => (markdownContent.test(text) ? "content" : markdownName.test(path) ? "name" : null),
  load: ({ path, text }, workspace) => parseWorkflow(text, path, workspace),
  format: formatWorkflow,
  draw: drawWorkflow,
  plan: null,
};
