// Programs of this machine that a test needs, such as a compiler. Where one is missing the test is skipped, and the end of the run says so.
import { spawnSync } from "node:child_process";
import { reportSkip } from "./ask-services.ts";

/** Whether a test must be skipped for want of one of these programs; reported if so. */
export async function programsMissing(what: string, programs: readonly string[]): Promise<boolean> {
  const missing = programs.filter((program) => spawnSync("which", [program]).status !== 0);
  if (missing.length === 0) return false;
  await reportSkip({ what, reason: `${missing.join(", ")} not found on this machine` });
  return true;
}
