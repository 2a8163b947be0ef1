// A course that 'markmill init DIR' creates can be graded at once, without a key.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { programsMissing } from "../support/installed-programs.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "a new course in the jail", reason: jail.message });

/** By language, the programs that its tests start. */
const programs = { javascript: ["node"], python: ["python3"], java: ["javac", "java"], c: ["gcc"] };
const skipped = new Set<string>();
for (const [language, needed] of Object.entries(programs)) {
  if (await programsMissing(`a course in ${language}`, needed)) skipped.add(language);
}

describe("markmill init DIR", () => {
  let place: MarkmillPlace & { remove(): Promise<void> };
  let resident: ResidentMarkmill;
  beforeAll(async () => {
    resident = await residentMarkmill();
    place = await makePlace({ SANDBOX: "jail" }, { command: "shipped", home: "bare" });
  });
  afterAll(async () => {
    await resident.close();
    await place.remove();
  });

  it("creates a whole course, names the next steps, and overwrites nothing", async () => {
    const { code, stderr } = await markmill(place, ["init", "leap"]);
    expect({ code, next: stderr.includes("cd leap && markmill grade . --script model.yaml") }).toEqual({
      code: 0,
      next: true,
    });
    expect(existsSync(join(place.cwd, "leap/.markmill"))).toBe(true);
    expect(readdirSync(join(place.cwd, "leap/submissions"))).toHaveLength(6);
    expect(readdirSync(place.cwd).filter((name) => name.startsWith(".leap"))).toEqual([]);
    const again = await resident.say(place, ["init", "leap"]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("is not empty");
    writeFileSync(join(place.cwd, "file"), "");
    expect((await resident.say(place, ["init", "file"])).code).toBe(2);
    expect((await resident.say(place, ["init", "one", "two"])).code).toBe(2);
    const valid = await resident.say(place, ["validate", "leap/grade.wf.md", "leap/tests.wf.md"]);
    expect(valid).toMatchObject({ code: 0 });
  });

  it("refuses a language without a course template, and a language without a folder", async () => {
    const wrong = await resident.say(place, ["init", "course", "--language", "pyhton"]);
    expect({ code: wrong.code, made: existsSync(join(place.cwd, "course")) }).toEqual({ code: 2, made: false });
    expect(wrong.stderr).toContain("Choose javascript, python, java, c. Did you mean python?");
    expect((await resident.say(place, ["init", "--language", "c"])).code).toBe(2);
  });

  describe.skipIf(jail !== null).each(Object.keys(programs))("a course in %s", (language) => {
    it.skipIf(skipped.has(language))(
      "gives each student the points that the submission deserves, and reports the attack without rewarding it",
      async () => {
        await markmill(place, ["init", language, "--language", language]);
        const said = await markmill(place, ["grade", language, "--script", `${language}/model.yaml`, "--json"]);
        const { students } = JSON.parse(said.stdout) as {
          students: { student: { key: string }; status: string; total: number | null; flags: { kind: string }[] }[];
        };
        const found = students.map(({ student, status, total, flags }) => [
          student.key,
          status,
          total,
          flags.length > 0,
        ]);
        expect({ code: said.code, found }).toEqual({
          code: 3,
          found: [
            ["ada", "graded", 10, false],
            ["ben", "graded", 8, false],
            ["cleo", "graded", 8, false],
            ["dan", "graded", 1, false],
            ["eve", "needs human", null, true],
            ["finn", "graded", 0, false],
          ],
        });
      },
      320_000,
    );
  });
});
