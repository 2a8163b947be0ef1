/** Whatever the machine cannot give is found before a class is begun: without a sandbox every work would fail by our fault. */
import type { Config } from "@markmill/config";
import { hasCommands, openSandbox, type Stack, warnNoExecutor } from "@markmill/stack";
import type { Definition } from "@markmill/store";
import { CommandError } from "./command.ts";

export async function requireSandbox({ programs }: Definition, config: Config, cwd: string): Promise<void> {
  if (!hasCommands({ programs })) return;
  if (config.sandbox.kind === "none" && !config.sandbox.byFlag) {
    throw new CommandError(
      "CLASS_SANDBOX",
      "The workflow runs commands, and SANDBOX=none lets none run.",
      "Set SANDBOX to auto, docker or jail, or say --sandbox none for work of your own.",
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
      `The workflow runs commands of students, and this machine has no sandbox: ${error instanceof Error ? error.message : error}`,
      `${fix ?? "Start a Docker engine, or use a Linux machine that allows user namespaces."} 'markmill doctor' checks this machine.`,
      { cause: error },
    );
  }
  const thin = walls.filter(({ name }) => !config.sandbox.accept.some((accepted) => accepted === name));
  const [wall] = thin;
  if (wall !== undefined) {
    throw new CommandError(
      "CLASS_SANDBOX",
      `The sandbox of this machine has a thin wall (${wall.name}): ${wall.message}`,
      `${wall.fix} For work of your own: SANDBOX_ACCEPT=${thin.map(({ name }) => name).join(",")}.`,
    );
  }
}

/** Where others work: what is asked for is accepted, and the person is told at once that no worker can do it now. */
export async function warnOfNoExecutor(
  definitions: readonly Definition[],
  { store }: Pick<Stack, "store">,
  tell: (text: string) => void,
): Promise<void> {
  const warning = await warnNoExecutor(definitions, () => store.commandStandings());
  // That no worker of a server is alive is said whatever the workflow does.
  if (warning !== null && warning.code !== "WORKERS_NONE") tell(`! ${warning.code}: ${warning.message}`);
}
