import type { SandboxNeeds } from "@markmill/engine";
import type { Limits } from "@markmill/sandbox";

/** What a workflow asks of a session, as limits; absent is absent. */
export function wishesOf(needs: SandboxNeeds): Partial<Limits> {
  const { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes } = needs;
  const given = { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
