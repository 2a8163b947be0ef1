/** The workflows of the benchmark, as a teacher would write them, through the real compiler. */
import { loadDefinition, renderFinding } from "@markmill/definition";
import type { Definition } from "@markmill/store";
import type { Workload } from "../line-protocol.ts";

export function compileWorkload(workload: Workload): Definition {
  const path = "workload.wf.md";
  const bytes = new TextEncoder().encode(workload.kind === "ask" ? question : chainOf(workload.steps));
  const { definition, findings } = loadDefinition({ read: (file) => (file === path ? bytes : undefined) }, path);
  if (definition === null) throw new Error(findings.map((finding) => renderFinding(finding)).join("\n"));
  const { hash, dialect, root, programs } = definition;
  return { hash, dialect, root, programs, name: programs[root]?.name ?? path, files: {} };
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
