// Files run side by side; one that takes minutes and starts last would be waited for alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds, roughly, side by side with others on two cores. Files that are not here take less than half a minute. */
const seconds: readonly (readonly [file: string, seconds: number])[] = [
  ["e2e/cli-run", 189],
  ["integration/hostile-class", 169],
  ["e2e/cli-setup", 158],
  ["integration/embedded-postgres", 142],
  ["integration/sandbox-jail", 127],
  ["integration/judge-sessions", 125],
  ["integration/sandbox-docker", 116],
  ["chaos/kill-commands-jail", 112],
  ["chaos/kill-commands-none", 98],
  ["integration/sandbox-conformance-docker", 97],
  ["integration/docker-recovery", 95],
  ["integration/telemetry", 89],
  ["e2e/board", 83],
  ["chaos/lost-queue", 80],
  ["integration/model-trouble", 79],
  ["integration/sandbox-conformance-jail", 76],
  ["chaos/kill-worker-postgres", 75],
  ["conformance/codementor-runs", 74],
  ["chaos/troubled-endpoint", 74],
  ["chaos/kill-worker-redis", 68],
  ["chaos/health", 66],
  ["e2e/pasted-commands", 80],
  ["integration/call-trees", 60],
  ["grading/src/foreign-text", 55],
  ["e2e/cli-trust", 50],
  ["integration/judge-cases-command", 46],
  ["e2e/json-vocabulary", 45],
  ["e2e/class-marks", 38],
  ["integration/student-outcomes", 34],
  ["integration/queued-runs", 20],
  ["e2e/cli-server", 65],
  ["e2e/cli-server-commands", 64],
  ["integration/session-tools-none", 60],
  ["chaos/kill-session-tools-none", 57],
  ["chaos/paused-worker", 55],
  ["integration/passage-index", 52],
  ["integration/api-walls", 51],
  ["integration/value-bombs", 48],
  ["integration/session-tools-jail", 48],
  ["conformance/interrupted-runs", 45],
  ["chaos/kill-mcp-tools", 44],
  ["integration/blobs", 43],
  ["chaos/kill-queued-runs", 40],
  ["integration/fair-starts", 40],
  ["integration/api-outside", 42],
  ["integration/api-attacks", 42],
  ["chaos/busy-loop", 41],
  ["integration/unfit-servers", 32],
  ["e2e/class.test", 54],
  ["work/foreign-text", 40],
  ["integration/batch-deletion-races", 33],
  ["e2e/cli-init", 43],
  ["e2e/judge-cheats", 39],
  ["integration/secrets", 39],
  ["chaos/kill-workflow-tools", 39],
  ["integration/queue", 38],
  ["integration/session-files", 36],
  ["chaos/kill-batch", 35],
  ["integration/one-job", 34],
  ["conformance/graded-runs", 34],
  ["integration/batch-budget", 33],
  ["chaos/kill-tools", 33],
  ["chaos/kill-session-tools-jail", 32],
  ["integration/batches.test", 30],
  ["integration/inline-activities-writes", 20],
  ["integration/inline-activities-whole-database", 10],
  ["integration/inline-activities", 20],
  ["integration/store-outside-events", 15],
  ["conformance/tasks-json-runs", 31],
  ["integration/hand-over", 31],
  ["integration/docker-engine-trouble", 30],
  ["conformance/", 28],
  ["classroom/src/example-class", 33],
  ["codementor/robustness", 20],
  ["grading/src/strip-words", 15],
  ["engine/src/fill-command", 15],
  ["grading/src/submission/read-submission", 12],
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
