import { canEnd } from "./check-flow.ts";
import type { FindingReport } from "./finding-codes.ts";
import type { LoadedFile } from "./loaded-file.ts";

/**
 * Workflows may call each other in a circle, because the limit on depth ends such calls. It is an error if a workflow cannot end without
 * calling itself again.
 */
export function checkCalls(parsed: ReadonlyMap<string, LoadedFile>, root: string, report: FindingReport): void {
  const done = new Set<string>();
  const path: { file: string; next: number }[] = [{ file: root, next: 0 }];
  const onPath = new Set([root]);
  const circles: { chain: string[]; at: LoadedFile["calls"][number]["at"] }[] = [];
  while (path.length > 0) {
    const top = path[path.length - 1];
    if (top === undefined) break;
    const call = parsed.get(top.file)?.calls[top.next++];
    if (call === undefined) {
      done.add(top.file);
      onPath.delete(top.file);
      path.pop();
    } else if (onPath.has(call.program)) {
      const files = path.map(({ file }) => file);
      circles.push({ chain: [...files.slice(files.indexOf(call.program)), call.program], at: call.at });
    } else if (!done.has(call.program) && parsed.has(call.program)) {
      path.push({ file: call.program, next: 0 });
      onPath.add(call.program);
    }
  }
  if (circles.length === 0) return;
  const ending = workflowsThatEnd(parsed);
  for (const { chain, at } of circles) {
    const shown = chain.join(" -> ");
    if (chain.some((file) => parsed.get(file)?.program === null)) continue;
    if (chain.every((file) => !ending.has(file))) {
      report.error(
        "CALL_ENDLESS",
        at,
        `Every path through this workflow calls the workflow again: ${shown}.`,
        "Add a CHECK with an edge that ends the workflow without the call.",
      );
    } else {
      report.warn(
        "CALL_CYCLE",
        at,
        `These workflows call each other in a circle: ${shown}. Only the depth limit is certain to end the calls.`,
        "Make sure a CHECK ends the recursion.",
      );
    }
  }
}

/** Starts with the workflows that end without any call, and adds their callers until nothing is added. */
function workflowsThatEnd(parsed: ReadonlyMap<string, LoadedFile>): Set<string> {
  const ending = new Set<string>();
  for (let before = -1; before !== ending.size; ) {
    before = ending.size;
    for (const [file, { program }] of parsed) {
      if (program === null || ending.has(file)) continue;
      if (canEnd(program, (node) => node.kind === "call" && !ending.has(node.program))) ending.add(file);
    }
  }
  return ending;
}
