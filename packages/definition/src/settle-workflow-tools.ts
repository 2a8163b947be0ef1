/**
 * Completes tools that are workflows: the arguments are the parameters of the callee, and the description is the callee's title if the
 * caller gives none. This is possible when all files are loaded. Programs without such tools stay unchanged and keep their hash.
 */
import { isSetting, type Json, type Program, type Tool, type WorkflowTool } from "@markmill/engine";
import { inputNeeded, namesUsed } from "./check-start.ts";
import { builtInNames, inputName } from "./names.ts";

/** The name of the argument for the run's input. */
const input = "input";
const mostWords = 4_096;
const mostShown = 200;

export function settleWorkflowTools(program: Program, callees: ReadonlyMap<string, Program>): Program {
  const tools = Object.entries(program.tools ?? {});
  if (!tools.some(([, { kind }]) => kind === "workflow")) return program;
  const settled = tools.map(([name, tool]): [string, Tool] => {
    const callee = tool.kind === "workflow" ? callees.get(tool.program) : undefined;
    return tool.kind !== "workflow" || callee === undefined ? [name, tool] : [name, settle(tool, callee)];
  });
  return { ...program, tools: Object.fromEntries(settled) };
}

function settle(tool: WorkflowTool, callee: Program): WorkflowTool {
  const properties: Record<string, Json> = {};
  const required: string[] = [];
  const takesInput = namesUsed(callee).includes(inputName);
  if (takesInput) {
    properties[input] = { type: "string", description: "What the workflow works on." };
    if (inputNeeded(callee) !== undefined) required.push(input);
  }
  // A workflow of tasks keeps its memory to itself: if it has an input, the input is its only argument.
  for (const { name, default: otherwise } of takesInput ? [] : callee.params) {
    // The author chooses the settings: a model may set neither models nor limits.
    if (builtInNames.has(name) || isSetting(name)) continue;
    const known =
      otherwise === null || otherwise === "" ? {} : { description: `Without it: ${otherwise.slice(0, mostShown)}` };
    properties[name] = { type: "string", ...known };
    if (otherwise === null) required.push(name);
  }
  const words = callee.description === "" ? callee.name : `${callee.name}: ${callee.description}`;
  return {
    ...tool,
    description: tool.description === "" ? words.slice(0, mostWords) : tool.description,
    schema: { type: "object", properties, required, additionalProperties: false },
    ...(takesInput ? { variables: { [input]: inputName } } : {}),
  };
}
