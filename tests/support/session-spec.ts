import { defaultLimits, type Limits } from "../../packages/sandbox/src/limits.ts";
import type { SessionSpec } from "../../packages/sandbox/src/port.ts";

/** A session with two small files, a small memory and an hour to live. */
export function sessionSpec(
  id: string,
  { limits, ...more }: Partial<Omit<SessionSpec, "limits">> & { limits?: Partial<Limits> } = {},
): SessionSpec {
  const now = Date.now();
  return {
    id,
    files: {
      kind: "list",
      files: [
        { path: "main.py", mode: 0o644, bytes: Buffer.from("print('from main')\n") },
        { path: "lib/data.txt", mode: 0o600, bytes: Buffer.from("seven\n") },
      ],
    },
    limits: { ...defaultLimits, ...smallLimits, ...limits },
    environment: {},
    labels: {
      app: "markmill-test",
      run: `run-${id}`,
      worker: `worker-${process.pid}`,
      created: new Date(now).toISOString(),
      deadline: new Date(now + 3_600_000).toISOString(),
    },
    network: "none",
    ...more,
  };
}

const smallLimits = { memoryBytes: 192 * 1024 * 1024, diskBytes: 32 * 1024 * 1024, pids: 64 };
