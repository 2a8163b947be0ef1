/**
 * A tool that is a workflow, as written in `tools:` of the front matter: the file, and a description for the model if the workflow's title
 * is not enough.
 */
import type { WorkflowTool } from "@markmill/engine";
import { z } from "zod";

export const calledWorkflow = z.strictObject({
  workflow: z.string().trim().min(1),
  description: z.string().min(1).max(4_096).optional(),
});

/**
 * The path is still unresolved. The parameters and the title of the callee are known when all files are loaded (settle-workflow-tools.ts).
 */
export function workflowToolOf({ workflow, description = "" }: z.output<typeof calledWorkflow>): WorkflowTool {
  return { kind: "workflow", program: workflow, description, schema: { type: "object" } };
}

export function writeWorkflowTool({ program, description }: WorkflowTool, path: (to: string) => string) {
  return { workflow: path(program), ...(description === "" ? {} : { description }) };
}
