// Files run side by side; one that takes minutes and starts last would be waited for alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds, roughly, side by side with others on two cores. Files that are not here take less than half a minute. */
const seconds: readonly (readonly [file: string, seconds: number])[] = [
  ["e2e/cli-run", 253],
  ["integration/hostile-class", 204],
  ["e2e/cli-setup", 193],
  ["chaos/troubled-endpoint", 141],
  ["e2e/cli-server-commands", 140],
  ["integration/sandbox-conformance-docker", 135],
  ["integration/embedded-postgres", 130],
  ["integration/sandbox-jail", 128],
  ["integration/sandbox-docker", 125],
  ["e2e/cli-server", 113],
  ["integration/judge-sessions", 109],
  ["chaos/kill-commands-jail", 105],
  ["chaos/kill-worker-redis", 104],
  ["chaos/kill-commands-none", 100],
  ["integration/telemetry", 93],
  ["conformance/codementor-runs", 87],
  ["chaos/lost-queue", 84],
  ["e2e/board", 81],
  ["integration/sandbox-conformance-jail", 72],
  ["integration/model-trouble", 70],
  ["integration/value-bombs", 67],
  ["chaos/kill-workflow-tools", 63],
  ["integration/api-walls", 58],
  ["chaos/kill-batch", 58],
  ["chaos/kill-tools", 57],
  ["e2e/judge-cheats", 53],
  ["e2e/cli-resume", 53],
  ["chaos/kill-session-tools-none", 52],
  ["integration/sandbox-conformance-none", 51],
  ["chaos/kill-mcp-tools", 50],
  ["integration/passage-index", 49],
  ["e2e/cli-model-trouble", 48],
  ["chaos/kill-worker-postgres", 47],
  ["chaos/busy-loop", 46],
  ["integration/api-outside", 46],
  ["chaos/tasks-json-laps", 44],
  ["integration/batch-budget", 43],
  ["integration/session-files", 43],
  ["conformance/graded-runs", 42],
  ["integration/session-tools-none", 42],
  ["integration/blobs", 40],
  ["e2e/cli-table", 39],
  ["conformance/interrupted-runs", 38],
  ["integration/session-tools-jail", 37],
  ["chaos/kill-session-tools-jail", 35],
  ["integration/batches", 35],
  ["integration/secrets", 33],
  ["integration/one-job", 33],
  ["integration/queue", 32],
  ["e2e/telemetry-off", 31],
  ["integration/testcontainers", 31],
  ["integration/sessions", 31],
  ["conformance/", 40],
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
