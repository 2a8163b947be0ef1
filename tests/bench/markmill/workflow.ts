/** The workflows of the benchmark, as a teacher would write them, through the real compiler. */
import { loadDefinition, renderFinding } from "@markmill/definition";
import type { Program } from "@markmill/engine";
import type { Definition } from "../../support/store.ts";
import type { Workload } from "../line-protocol.ts";

export function compileWorkload(workload: Workload): Definition {
  const path = "workload.wf.md";
  const bytes = new TextEncoder().encode(workload.kind === "ask" ? question : chainOf(chainLength));
  const { definition, findings } = loadDefinition({ read: (file) => (file === path ? bytes : undefined) }, path);
  if (definition === null) throw new Error(findings.map((finding) => renderFinding(finding)).join("\n"));
  const { hash, dialect, root } = definition;
  const laps = workload.kind === "ask" ? 1 : workload.steps / chainLength;
  const programs = Object.fromEntries(
    Object.entries(definition.programs).map(([file, program]) => [file, inLaps(program, laps)]),
  );
  return { hash: `${hash}-${laps}`, dialect, root, programs, name: programs[root]?.name ?? path, files: {} };
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
