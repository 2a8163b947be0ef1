// Files run side by side; one that takes minutes and starts last would be waited for alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds, roughly, side by side with others on two cores. Files that are not here take less than half a minute. */
const seconds: readonly (readonly [file: string, seconds: number])[] = [
  ["integration/hostile-class", 160],
  ["e2e/cli-setup", 160],
  ["e2e/cli-run", 150],
  ["integration/telemetry", 140],
  ["integration/sandbox-jail", 140],
  ["integration/judge-sessions", 130],
  ["integration/sandbox-conformance-docker", 130],
  ["integration/embedded-postgres", 120],
  ["integration/sandbox-docker", 110],
  ["chaos/kill-worker-redis", 110],
  ["chaos/kill-commands-none", 100],
  ["e2e/cli-server", 95],
  ["integration/model-trouble", 90],
  ["e2e/judge-cheats", 80],
  ["integration/sandbox-conformance-jail", 75],
  ["integration/session-files", 74],
  ["chaos/lost-queue", 73],
  ["e2e/cli-untrusted-folder", 70],
  ["chaos/kill-worker-postgres", 66],
  ["chaos/troubled-endpoint", 60],
  ["integration/sandbox-conformance-none", 60],
  ["integration/value-bombs", 60],
  ["integration/batches", 58],
  ["chaos/kill-commands-jail", 50],
  ["integration/testcontainers", 50],
  ["chaos/busy-loop", 45],
  ["integration/hand-over", 45],
  ["conformance/", 40],
  ["chaos/kill-workflow-tools", 60],
  ["submission/src/read-submission", 20],
  ["mermaid/differential", 15],
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
