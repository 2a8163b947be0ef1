// Files run side by side; one that takes minutes and starts last would be waited for alone.
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds, roughly. Files that are not here take less than half a minute. */
const seconds: readonly (readonly [file: string, seconds: number])[] = [
  ["integration/sandbox-conformance", 160],
  ["integration/sandbox-jail", 130],
  ["integration/sandbox-docker", 90],
  ["integration/hostile-class", 130],
  ["chaos/kill-worker-redis", 110],
  ["chaos/kill-commands-none", 100],
  ["integration/embedded-postgres", 100],
  ["chaos/kill-worker-postgres", 90],
  ["chaos/kill-commands-jail", 80],
  ["chaos/troubled-endpoint", 80],
  ["e2e/cli-run", 80],
  ["e2e/cli-setup", 80],
  ["chaos/lost-queue", 70],
  ["integration/value-bombs", 60],
  ["chaos/busy-loop", 45],
  ["integration/hand-over", 45],
  ["conformance/", 40],
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const long = ({ moduleId }: TestSpecification) =>
      seconds.find(([file]) => moduleId.includes(`/tests/${file}`))?.[1] ?? 0;
    return (await super.sort(files)).toSorted((a, b) => group(a) - group(b) || long(b) - long(a));
  }
}
