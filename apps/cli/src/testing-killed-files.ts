/**
 * Simulates, for tests, a command that is killed between two file changes. The change with the given number and all later file operations
 * fail, reads too: like a killed process, the command changes no more files, however it handles the errors.
 */
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const changing = ["writeFile", "rename", "rm", "mkdir", "link"] as const;
const reading = ["readFile", "readdir", "stat"] as const;

/** `at`: the number of the change, from 1, before which the command is killed. Resolves with whether it was killed. */
export async function killedAtChange(
  at: number,
  command: (isDead: () => boolean) => Promise<unknown>,
): Promise<boolean> {
  const originals = [...changing, ...reading].map((name) => [name, files[name]] as const);
  let changes = 0;
  let dead = false;
  const die = () => {
    dead = true;
    throw Object.assign(new Error("killed"), { code: "KILLED" });
  };
  const own = files as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [name, original] of originals) {
    const counts = (changing as readonly string[]).includes(name);
    own[name] = async (...args: unknown[]) => {
      if (counts) changes += 1;
      if (dead || changes >= at) die();
      return await (original as (...all: unknown[]) => unknown)(...args);
    };
  }
  syncBuiltinESMExports();
  try {
    await command(() => dead).catch((error: unknown) => {
      if (!dead) throw error;
    });
  } finally {
    for (const [name, original] of originals) own[name] = original as (...args: unknown[]) => unknown;
    syncBuiltinESMExports();
  }
  return dead;
}
