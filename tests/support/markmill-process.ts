// The markmill command as people run it: a process of its own, in a directory of its own. Most files start it bundled (bundle-programs.ts),
// which takes half the processor time, and in a home whose database has been made; the setup, the class and the project template are tried
// with the command as it is shipped.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordDecision, trustQuestions } from "@markmill/config";
import { startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { afterDeath } from "./after-death.ts";
import { askService } from "./ask-services.ts";
import { compileCache } from "./compile-cache.ts";
import { databaseDirectory } from "./database-directory.ts";
import { noteSelfTest } from "./jail-self-test.ts";
import { ownSettings } from "./own-settings.ts";

const shipped = join(import.meta.dirname, "../../apps/cli/bin/markmill.mjs");

export interface Said {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartedMarkmill {
  readonly child: ChildProcess;
  readonly ended: Promise<Said>;
  stdout(): string;
  stderr(): string;
  /** Resolves when what was said fits; rejects when the process ends without it. */
  says(where: "stdout" | "stderr", pattern: RegExp): Promise<RegExpExecArray>;
}

export interface MarkmillPlace {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** What is started; absent: the command as it is shipped. */
  readonly program?: string;
}

export interface PlaceOptions {
  /** Absent: bundled. */
  readonly command?: "shipped";
  /** Absent: with an empty database, whose making costs a second of processor time. */
  readonly home?: "bare";
  /** Its server runs from the beginning, and each command attaches to it; absent: a command that needs it starts and stops it. */
  readonly postgres?: "running";
  /** The jail has passed its self-test here already (jail-self-test.ts). */
  readonly jail?: "proven";
}

/** A directory with a MARKMILL_HOME of its own and no settings but those given. */
export async function makePlace(env: Readonly<Record<string, string>> = {}, options: PlaceOptions = {}) {
  const cwd = await mkdtemp(join(tmpdir(), "markmill-cli-"));
  await chmod(cwd, 0o755);
  const postgres = await mkdtemp(join(databaseDirectory(), "markmill-cli-postgres-"));
  const watch = afterDeath('sleep 12; rm -rf "$1" "$2"', [cwd, postgres]);
  const place: MarkmillPlace = {
    cwd,
    // Workers stand back for nobody here: a test waits for them.
    env: { MARKMILL_HOME: ".markmill", OPENAI_BASE_URL: "http://127.0.0.1:1/v1", WORKER_NICE: "0", ...env },
    ...(options.command === "shipped" ? {} : { program: (await askService("programs")).markmill }),
  };
  if (options.home !== "bare") {
    const home = join(cwd, ".markmill");
    await mkdir(home, { mode: 0o700 });
    await symlink(postgres, join(home, "postgres"));
    // Owner and modes with it.
    const copied = spawnSync("cp", ["-a", (await askService("cluster")).data, postgres]);
    if (copied.status !== 0) throw new Error(String(copied.stderr));
    if (options.jail === "proven") await noteSelfTest(await askService("jail-self-test"), home);
    // The copy counts as made here.
    for (const { subject } of trustQuestions(cwd)) recordDecision(subject, "trusted");
  }
  const server = options.postgres === "running" ? await startEmbeddedPostgres({ directory: postgres }) : null;
  return {
    ...place,
    async remove() {
      await server?.stop();
      for (const made of [cwd, postgres]) await rm(made, { recursive: true, force: true, maxRetries: 5 });
      watch.callOff();
    },
  };
}

export function startMarkmill(place: MarkmillPlace, args: readonly string[], input?: string): StartedMarkmill {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [place.program ?? shipped, ...args], {
    cwd: place.cwd,
    env: { PATH, HOME, ...ownSettings, ...compileCache, ...place.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // A test that failed half-way leaves nothing running.
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("close", () => process.off("exit", kill));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  const said = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
      for (const check of waiting) check();
    });
  }
  const ended = once(child, "close").then(([code, signal]): Said => ({ code, signal, ...said }));
  return {
    child,
    ended,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    says: (where, pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(said[where]);
          if (found === null) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
        ended.then(() => reject(new Error(`markmill ${args.join(" ")} ended without ${pattern}:\n${said.stderr}`)));
      }),
  };
}

export async function markmill(place: MarkmillPlace, args: readonly string[], input?: string): Promise<Said> {
  return await startMarkmill(place, args, input).ended;
}
