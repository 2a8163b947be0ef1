/** The workflows of the benchmark, as a teacher would write them, through the real compiler. */
import { loadDefinition, renderFinding } from "@markmill/definition";
import type { Program } from "@markmill/engine";
import type { Definition } from "../../support/store.ts";
import type { Workload } from "../line-protocol.ts";

const path = "workload.wf.md";

export function compileWorkload(workload: Workload): Definition {
  const { hash, dialect, root, ...definition } = compileText(workload.kind === "ask" ? question : chainOf(chainLength));
  const laps = workload.kind === "ask" ? 1 : workload.steps / chainLength;
  const programs = Object.fromEntries(
    Object.entries(definition.programs).map(([file, program]) => [file, inLaps(program, laps)]),
  );
  return { hash: `${hash}-${laps}`, dialect, root, programs, name: programs[root]?.name ?? path, files: {} };
}

export function compileText(text: string): Definition {
  const bytes = new TextEncoder().encode(text);
  const { definition, findings } = loadDefinition({ read: (file) => (file === path ? bytes : undefined) }, path);
  if (definition === null) throw new Error(findings.map((finding) => renderFinding(finding)).join("\n"));
  return { ...definition, name: definition.programs[definition.root]?.name ?? path, files: { [path]: text } };
}

/** One conversation: each prompt brings what was said before. */
export function compilePrompts(count: number): Definition {
  const parts = Array.from({ length: count }, (_, index) => `Part ${index + 1}`);
  const edges = parts.map((part, index) => {
    const from = index === 0 ? "START" : `PROMPT_${index}`;
    return `${from} --> PROMPT_${index + 1}["Prompt: ${part}"]`;
  });
  const prompts = parts.map((part) => `## ${part}\n\nLook at this part of the work and say what is wrong with it.\n`);
  return compileText(
    `${document("A class", [...edges, `PROMPT_${count} --> SUCCESS`])}\n# Prompts\n\n${prompts.join("\n")}`,
  );
}

const chainLength = 10;

/** A longer history of the same workflow: the chain is walked again and again, as a loop that improves does. */
function inLaps(program: Program, laps: number): Program {
  if (laps === 1) return program;
  const last = `SET_${chainLength}`;
  const back = { from: last, to: "SET_1", on: "ok", max: laps - 1 };
  const edges = [
    ...program.edges.filter(({ from }) => from !== last),
    back,
    ...program.edges.filter(({ from }) => from === last),
  ];
  return { ...program, edges, limits: { ...program.limits, hits: laps } };
}

const question = document("A question", [
  "START --> ASK_TEACHER[Ask: Is this worth a point?]",
  "ASK_TEACHER --> SUCCESS",
]);

function chainOf(steps: number): string {
  const edges = Array.from({ length: steps }, (_, index) => {
    const from = index === 0 ? "START" : `SET_${index}`;
    return `${from} --> SET_${index + 1}["Set: STEP='${index + 1}'"]`;
  });
  return document(`A chain of ${steps}`, [...edges, `SET_${steps} --> SUCCESS`]);
}

function document(title: string, edges: readonly string[]): string {
  const frontMatter = "---\nlimits:\n  steps: 100000\n---\n";
  return `${frontMatter}# ${title}\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${edges.join("\n")}\n\`\`\`\n`;
}
