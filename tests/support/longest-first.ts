// Files run side by side; one that takes minutes and starts last would be waited for alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds, roughly, side by side with others on two cores. Files that are not here take less than half a minute. */
const seconds: readonly (readonly [file: string, seconds: number])[] = [
  ["integration/embedded-postgres", 310],
  ["e2e/cli-setup", 275],
  ["e2e/cli-run", 269],
  ["integration/telemetry", 223],
  ["integration/judge-sessions", 189],
  ["chaos/kill-commands-none", 182],
  ["integration/sandbox-jail", 175],
  ["integration/hostile-class", 170],
  ["integration/sandbox-conformance-docker", 160],
  ["integration/sandbox-docker", 152],
  ["e2e/cli-server-commands", 143],
  ["chaos/kill-worker-redis", 126],
  ["chaos/kill-mcp-tools", 114],
  ["chaos/kill-worker-postgres", 96],
  ["integration/batches", 85],
  ["integration/model-trouble", 84],
  ["chaos/lost-queue", 82],
  ["e2e/judge-cheats", 80],
  ["integration/sandbox-conformance-jail", 75],
  ["integration/session-files", 74],
  ["chaos/troubled-endpoint", 72],
  ["e2e/cli-server", 70],
  ["conformance/codementor-runs", 69],
  ["e2e/cli-untrusted-folder", 68],
  ["chaos/kill-tools", 65],
  ["chaos/kill-commands-jail", 61],
  ["integration/sandbox-conformance-none", 60],
  ["integration/value-bombs", 60],
  ["chaos/kill-batch", 58],
  ["e2e/cli-model-trouble", 56],
  ["e2e/cli-resume", 52],
  ["e2e/cli-tasks", 52],
  ["e2e/cli-table", 51],
  ["integration/one-job", 50],
  ["e2e/cli-full-disk", 40],
  ["integration/secrets", 36],
  ["integration/testcontainers", 50],
  ["chaos/busy-loop", 45],
  ["integration/hand-over", 45],
  ["conformance/", 40],
  ["chaos/kill-workflow-tools", 60],
  ["integration/tools", 35],
  ["classroom/src/example-class", 33],
  ["codementor/robustness", 20],
  ["grading/src/strip-words", 15],
  ["engine/src/fill-command", 15],
  ["submission/src/read-submission", 12],
  ["mermaid/parse-flowchart", 12],
  ["grading/src/linear-time", 12],
  ["engine/src/properties", 12],
];

/** How long the file is known to take; 0 when it is not. */
export function knownSeconds(moduleId: string): number {
  return seconds.find(([file]) => moduleId.includes(`/${file}`))?.[1] ?? 0;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const long = ({ moduleId }: TestSpecification) => knownSeconds(moduleId);
    return (await super.sort(files)).toSorted((a, b) => group(a) - group(b) || long(b) - long(a));
  }
}
