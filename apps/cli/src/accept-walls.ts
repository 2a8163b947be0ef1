/**
 * Handles weak walls. A wall is one protection of this machine's sandbox. A weak one is explained once, the person is asked once, and the
 * answer is stored for the project.
 *
 * A1  A weak wall that SANDBOX_ACCEPT names, or that is stored for the project, is not mentioned again.
 * A2  On a terminal the person decides, and a "no" refuses.
 * A3  Without a terminal a wall that only bounds resources (no-cgroup) is explained, accepted and stored: it limits time and memory less
 *     strictly, but allows no escape. A wall with known escapes (old-engine) is refused.
 * A4  SANDBOX_ACCEPT=none accepts no weak wall and asks no question.
 */
import { type Config, rememberWalls } from "@markmill/config";
import { hasCommands, openSandbox } from "@markmill/stack";
import type { Definition } from "@markmill/store";
import { CommandError, type Terminal } from "./command.ts";

type WallName = Config["sandbox"]["accept"][number];

interface Wall {
  readonly name: WallName;
  readonly message: string;
  readonly fix: string;
}

type WallsDecision = "nothing" | "ask" | "accept" | "refuse";

/** Pure. `walls`: the weak walls that are not accepted yet. */
export function decideWalls(walls: readonly Pick<Wall, "name">[], asks: boolean, strict: boolean): WallsDecision {
  if (walls.length === 0) return "nothing";
  if (strict) return "refuse";
  if (asks) return "ask";
  return walls.every(({ name }) => name === "no-cgroup") ? "accept" : "refuse";
}

/** Returns the settings to use. Throws CLASS_SANDBOX if the wall is refused. Runs before any submission is started. */
export async function acceptWalls(
  definitions: readonly Definition[],
  config: Config,
  terminal: Terminal,
): Promise<Config> {
  const { kind, accept } = config.sandbox;
  if (config.server !== null || kind === "none" || !definitions.some(hasCommands)) return config;
  const walls = (await wallsHere(config, terminal.cwd)).filter(({ name }) => !accept.includes(name));
  const names = walls.map(({ name }) => name);
  const decision = decideWalls(walls, terminal.ask !== undefined, config.sandbox.strict);
  if (decision === "nothing") return config;
  for (const { name, message } of walls)
    terminal.err(`! A protection of the sandbox is weak on this machine (${name}): ${message}`);
  for (const { name, fix } of walls)
    terminal.err(
      name === "no-cgroup" ? `  Files, network, other students and grades stay protected. ${fix}` : `  ${fix}`,
    );
  if (decision === "ask") {
    const answer = await terminal.ask?.(`Accept this for the project (${config.project ?? terminal.cwd})? [y/N] `);
    if (!/^(y|yes|j|ja)$/i.test((answer ?? "").trim())) throw refusal(walls);
  } else if (decision === "refuse") throw refusal(walls);
  else terminal.err("  Accepted, because no terminal is available to ask. To refuse, set SANDBOX_ACCEPT=none.");
  if (rememberWalls(config.project ?? terminal.cwd, names))
    terminal.err("  Markmill remembers this for the project and does not show it again.");
  return { ...config, sandbox: { ...config.sandbox, accept: [...accept, ...names] } };
}

function refusal(walls: readonly Wall[]): CommandError {
  const names = walls.map(({ name }) => name).join(",");
  return new CommandError(
    "CLASS_SANDBOX",
    `Nothing was started, because the weak protection of this machine's sandbox (${names}) was not accepted.`,
    walls.map(({ fix }) => fix).join(" "),
  );
}

/** Returns the walls of this machine's sandbox. Empty if there is no sandbox at all: then the part that needs one reports the reason. */
async function wallsHere(config: Config, cwd: string): Promise<readonly Wall[]> {
  try {
    const sandbox = await openSandbox(config.sandbox.kind, config, cwd, () => undefined);
    try {
      return (await sandbox.thinWalls?.()) ?? [];
    } finally {
      await sandbox.close();
    }
  } catch {
    return [];
  }
}
