import { randomBytes } from "node:crypto";
import type { JudgeSpec } from "../../packages/sandbox/src/judge/judge-session.ts";
import { defaultLimits } from "../../packages/sandbox/src/limits.ts";
import type { SessionFile } from "../../packages/sandbox/src/port.ts";

const file = (path: string, text: string, mode = 0o644): SessionFile => ({
  path,
  mode,
  bytes: Buffer.from(text),
});

const MIB = 1024 * 1024;
const limits = { ...defaultLimits, memoryBytes: 192 * MIB, diskBytes: 32 * MIB, pids: 64, wallMs: 60_000 };

const submission = [
  file("add.sh", '#!/bin/bash\nread -r a b; echo "$((a + b))"; echo noted >&2; exit 3\n', 0o755),
  file("notes.txt", "mine\n"),
];

/** A judge over a small submission, with two files of the teacher. */
export function judgeSpec(more: Partial<JudgeSpec> = {}): JudgeSpec {
  return {
    run: `t-${randomBytes(4).toString("hex")}`,
    submission: { kind: "list", files: submission },
    files: [file("expected.txt", "5\n"), file("lib/check.sh", "echo checked\n", 0o755)],
    limits,
    guests: limits,
    labels: { app: "markmill-test", worker: `worker-${process.pid}` },
    ...more,
  };
}
