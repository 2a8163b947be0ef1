// Commands of markmill that ask or tell something and go, one after another in one process: most of what such a command costs is the start
// of its process. Whoever is killed, gets signals, reads stdin, stays, or runs beside another, is started by markmill-process.ts; the soak
// starts a process for each.
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inject } from "vitest";
import { askService } from "./ask-services.ts";
import { compileCache } from "./compile-cache.ts";
import { type MarkmillPlace, markmill, type Said } from "./markmill-process.ts";
import { ownSettings } from "./own-settings.ts";
import type { Wanted } from "./resident-commands.ts";

export interface ResidentMarkmill {
  /** As `markmill` of markmill-process.ts, when the command before it has ended. */
  say(place: MarkmillPlace, args: readonly string[]): Promise<Said>;
  close(): Promise<void>;
}

export async function residentMarkmill(): Promise<ResidentMarkmill> {
  if (inject("thorough")) return { say: markmill, close: async () => undefined };
  const program = (await askService("programs")).markmill;
  const [, main] = /import\("(\.\/main-[^"]+)"\)/.exec(await readFile(program, "utf8")) ?? [];
  if (main === undefined) throw new Error(`${program} does not say any more which file holds the command`);
  const { PATH = "", HOME = "" } = process.env;
  const shell = { PATH, HOME, ...ownSettings, ...compileCache };
  const child = fork(join(import.meta.dirname, "resident-commands.ts"), [join(dirname(program), main)], {
    env: shell,
    execArgv: [],
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = once(child, "exit").then(([code]) => {
    process.off("exit", kill);
    throw new Error(`the process of the commands ended with ${code}`);
  });
  ended.catch(() => undefined);
  await Promise.race([once(child, "message"), ended]);
  let last: Promise<unknown> = Promise.resolve();
  return {
    say(place, args) {
      const wanted: Wanted = { cwd: place.cwd, env: { ...shell, ...place.env }, args };
      const said = last.then(async () => {
        child.send(wanted);
        const [answer] = await Promise.race([once(child, "message"), ended]);
        return answer as Said;
      });
      last = said.catch(() => undefined);
      return said;
    },
    async close() {
      child.disconnect();
      await ended.catch(() => undefined);
    },
  };
}
