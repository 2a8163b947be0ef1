/** A tool that is a workflow, as `tools:` of the front matter has it: the file, and words for the model where its title is not enough. */
import type { WorkflowTool } from "@markmill/engine";
import { z } from "zod";

export const calledWorkflow = z.strictObject({
  workflow: z.string().trim().min(1),
  description: z.string().min(1).max(4_096).optional(),
});

/** The path is still as written; what the callee takes, and its title, are known when all files are loaded (settle-workflow-tools.ts). */
export function workflowToolOf({ workflow, description = "" }: z.output<typeof calledWorkflow>): WorkflowTool {
  return { kind: "workflow", program: workflow, description, schema: { type: "object" } };
}

export function writeWorkflowTool({ program, description }: WorkflowTool, path: (to: string) => string) {
  return { workflow: path(program), ...(description === "" ? {} : { description }) };
}
