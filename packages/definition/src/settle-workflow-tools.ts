/**
 * What models are told of workflows they may call as tools: arguments are what the callee takes, words its title where its caller has none.
 * Known when all files are loaded; programs without such tools stay as they are, and keep their hash.
 */
import { isSetting, type Json, type Program, type Tool, type WorkflowTool } from "@markmill/engine";
import { inputNeeded, namesUsed } from "./check-start.ts";
import { builtInNames, inputName } from "./names.ts";

/** As an argument. */
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
  // What a workflow of tasks has in its memory is its own; where there is an input, that is what it takes.
  for (const { name, default: otherwise } of takesInput ? [] : callee.params) {
    // Settings are the author's: a model chooses neither models nor limits.
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
