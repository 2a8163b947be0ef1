import type { SandboxNeeds } from "@markmill/engine";
import type { Limits } from "@markmill/sandbox";

/** Turns the sandbox options of a workflow into limits. An absent option stays absent. */
export function wishesOf(needs: SandboxNeeds): Partial<Limits> {
  const { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes } = needs;
  const given = { memoryBytes, cpus, pids, diskBytes, wallMs, cpuMs, silenceMs, outputBytes };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
