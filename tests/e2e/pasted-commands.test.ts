/**
 * The commands of README and docs/grading.md, pasted as written into a checkout whose path has a space, by an ordinary user without
 * cgroups. The soak also pastes the language pages, and all commands as root.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { compileCache } from "../support/compile-cache.ts";

const repository = join(import.meta.dirname, "../..");
const nobody = 65_534;
const root = process.getuid?.() === 0;

/** Commands that need a key and a network, or run this suite. */
const needsOutside = /^(?:npm ci|export OPENAI_API_KEY)|--model gpt/;
/** Exit code 3: a student has no grade. The example class contains such a student on purpose. */
const fine = [0, 3];

function commandsOf(page: string): string[] {
  const text = readFileSync(join(repository, page), "utf8");
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .filter((line) => line !== "" && !needsOutside.test(line));
}

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "commands of the documentation", reason: jail.message });
const users = root ? (inject("thorough") ? ["nobody", "root"] : ["nobody"]) : ["this user"];
const pages = ["README.md", "docs/grading.md"];
const languages = ["python", "java", "c", "javascript"].map((name) => `docs/languages/${name}.md`);

describe.skipIf(jail !== null).each(users)("commands pasted by %s", (user) => {
  let place = "";
  let checkout = "";
  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), "markmill-pasted-"));
    chmodSync(place, 0o755);
    checkout = join(place, "my class room");
    copyCheckout(checkout, user === "nobody");
  });
  afterAll(() => rmSync(place, { recursive: true, force: true, maxRetries: 5 }));

  it.each(inject("thorough") ? [...pages, ...languages] : pages)(
    "the commands of %s work as written",
    async (page) => {
      if (page === "README.md") writeFileSync(join(checkout, "hello.wf.md"), helloWorkflow());
      const ended: [string, number | null, string][] = [];
      for (const command of commandsOf(page)) {
        const { code, said } = await paste(command);
        ended.push([command, code, fine.includes(code ?? -1) ? "" : said]);
      }
      expect(ended.length).toBeGreaterThan(1);
      expect(ended.filter(([, code]) => !fine.includes(code ?? -1))).toEqual([]);
    },
    600_000,
  );

  async function paste(command: string) {
    const { PATH = "" } = process.env;
    const as = user === "nobody" ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--"] : [];
    const [program = "", ...args] = [...as, "bash", "-c", command];
    const child = spawn(program, args, {
      cwd: checkout,
      env: { PATH, HOME: join(checkout, "home"), ...(user === "nobody" ? {} : compileCache) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    const [code] = (await once(child, "close")) as [number | null];
    return { code, said };
  }
});

function helloWorkflow(): string {
  const [, text] = /^````markdown\n([\s\S]*?)^````/m.exec(readFileSync(join(repository, "README.md"), "utf8")) ?? [];
  if (text === undefined) throw new Error("README.md has no workflow.");
  return text;
}

/** Tracked files as they are now, and the installed packages as hard links. With `foreign` the user nobody owns the folders. */
function copyCheckout(to: string, foreign: boolean): void {
  mkdirSync(to, { recursive: true });
  const run = (command: string) => {
    const { status, stderr } = spawnSync("bash", ["-c", command, "bash", to], { cwd: repository, encoding: "utf8" });
    if (status !== 0) throw new Error(`${command}: ${stderr}`);
  };
  run(
    `git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ -e "$f" ] && printf '%s\\0' "$f"; done | xargs -0 cp --parents -t "$1"`,
  );
  run(
    `for m in node_modules {packages,apps}/*/node_modules; do [ ! -d "$m" ] || cp -al "$m" "$1/$m" 2>/dev/null || { rm -rf "$1/$m"; cp -a "$m" "$1/$m"; }; done`,
  );
  mkdirSync(join(to, "home"));
  if (!foreign) return;
  for (const folder of ["", "home", "examples/class-roman", "examples/first"])
    chownSync(join(to, folder), nobody, nobody);
}
