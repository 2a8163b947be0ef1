/** Checks the sandbox before a class is started: without one, every submission would end with a grader error. */
import type { Config } from "@markmill/config";
import { hasCommands, openSandbox, type Stack, warnNoExecutor } from "@markmill/stack";
import type { Definition } from "@markmill/store";
import { CommandError } from "./command.ts";

export async function requireSandbox({ programs }: Definition, config: Config, cwd: string): Promise<void> {
  if (!hasCommands({ programs })) return;
  if (config.sandbox.kind === "none" && !config.sandbox.byFlag) {
    throw new CommandError(
      "CLASS_SANDBOX",
      "The workflow runs commands, but SANDBOX=none forbids commands.",
      "Set SANDBOX to auto, docker or jail. For your own files only: pass --sandbox none.",
    );
  }
  let walls: readonly { readonly name: string; readonly message: string; readonly fix: string }[];
  try {
    const sandbox = await openSandbox(config.sandbox.kind, config, cwd, () => undefined);
    try {
      walls = (await sandbox.thinWalls?.()) ?? [];
    } finally {
      await sandbox.close();
    }
  } catch (error) {
    const fix = error instanceof Error && "fix" in error && typeof error.fix === "string" ? error.fix : null;
    throw new CommandError(
      "CLASS_SANDBOX",
      `The workflow runs programs of students, and this machine has no sandbox: ${error instanceof Error ? error.message : error}`,
      `${fix ?? "Start Docker, or install the tools of the jail (util-linux, perl and tar)."} 'markmill doctor' checks this machine.`,
      { cause: error },
    );
  }
  const thin = walls.filter(({ name }) => !config.sandbox.accept.some((accepted) => accepted === name));
  const [wall] = thin;
  if (wall !== undefined) {
    throw new CommandError(
      "CLASS_SANDBOX",
      `A protection of the sandbox is weak on this machine (${wall.name}): ${wall.message}`,
      `${wall.fix} For your own files only: SANDBOX_ACCEPT=${thin.map(({ name }) => name).join(",")}.`,
    );
  }
}

/** If other workers do the work, the request is accepted, and the person is warned at once that no worker can do it now. */
export async function warnOfNoExecutor(
  definitions: readonly Definition[],
  { store }: Pick<Stack, "store">,
  tell: (text: string) => void,
): Promise<void> {
  const warning = await warnNoExecutor(definitions, () => store.commandStandings());
  // The warning WORKERS_NONE does not depend on the workflow, so it is reported elsewhere.
  if (warning !== null && warning.code !== "WORKERS_NONE") tell(`! ${warning.code}: ${warning.message}`);
}
