import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Grade, GradeEvent } from "@markmill/grading";
import type { Stack } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import type { BatchWork } from "@markmill/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readClassFacts, writeClassFacts } from "./class-facts.ts";
import { readBatchClass } from "./class-papers.ts";
import { ClassResults, sheetHash } from "./class-results.ts";
import { exitCodes, type Terminal } from "./command.ts";
import { releasedSheet } from "./released-sheet.ts";
import { killedAtChange } from "./testing-killed-files.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "results-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const released = (key: string, to: number): GradeEvent => ({
  id: 1,
  work: `${key}#1`,
  at: "2026-01-01T00:00:00.000Z",
  by: "ada",
  kind: "released",
  criterion: null,
  from: null,
  to,
  reason: "",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
  takesBack: null,
});

/** A class of two students, held in memory. */
function classOf() {
  const grades: Record<string, { grade: Grade; events: GradeEvent[] }> = {
    ada: { grade: gradeOf([6, 3]), events: [released("ada", 9)] },
    bob: { grade: gradeOf([4, 4]), events: [] },
  };
  const works: Record<string, Partial<BatchWork>> = {};
  const hooks: { onRead?: () => Promise<void> } = {};
  const out = join(folder, "results");
  const facts = writeClassFacts({ ...readClassFacts(undefined), out });
  const batch = { ...batchOf(), settings: { ...batchOf().settings, facts } };
  const said: string[] = [];
  const terminal = { err: (text: string) => said.push(text), out: () => undefined, cwd: folder } as unknown as Terminal;
  const stack = {
    store: { clock: { now: () => 1_800_000_000_000 } },
    tenant: {
      batches: {
        get: async () => batch,
        members: async () => ({ members: Object.keys(grades).map((key) => ({ key, name: `N ${key}` })), next: null }),
        works: async () => {
          await hooks.onRead?.();
          return {
            works: Object.entries(grades).map(([key, { grade, events }]) => workOf(key, grade, works[key], events)),
            next: null,
          };
        },
      },
    },
  } as unknown as Stack;
  const open = () => new ClassResults(stack, batch.id, { home: join(folder, "home"), terminal });
  const csv = () => readFile(join(out, "grades.csv"), "utf8");
  const students = async () => (await readdir(join(out, "students")).catch(() => [])).sort();
  return { grades, works, hooks, out, said, stack, batch, open, csv, students };
}
const md = { kinds: ["md" as const], draft: false };

describe("the results of a class on disk", () => {
  it("contain reports of released grades only, and mark proposals as such", async () => {
    const { out, open, csv, students } = classOf();
    await open().remember({ out, ...md });
    const written = (await open().write()).get(out);
    expect(await students()).toEqual(["ada.md"]);
    expect(written?.reports).toEqual({ released: 1, drafts: 0, unreleased: 1 });
    expect(await csv()).toMatch(/ada,.*,released,[\s\S]*bob,.*,not released,/);
  });

  it("name the graded commit in the report of a student with a repository", async () => {
    const { out, open, works } = classOf();
    const hash = "0123456789abcdef0123456789abcdef01234567";
    works.ada = {
      content: {
        is: "taken",
        hash: "c",
        files: 1,
        bytes: 10,
        paths: ["a.js"],
        notes: [],
        commit: { hash, at: "2026-01-01T00:00:00.000Z", doubts: [] },
      },
    };
    await open().remember({ out, ...md });
    await open().write();
    expect(await readFile(join(out, "students/ada.md"), "utf8")).toContain(hash);
  });

  it("contain reports of unreleased grades if drafts are requested, each marked as a draft", async () => {
    const { out, open, students } = classOf();
    await open().remember({ out, ...md, draft: true });
    await open().write();
    expect(await students()).toEqual(["ada.md", "bob.md"]);
    expect(await readFile(join(out, "students/bob.md"), "utf8")).toMatch("DRAFT");
    expect(await readFile(join(out, "students/ada.md"), "utf8")).not.toMatch("DRAFT");
  });

  it("are updated after every release, override and withdrawal", async () => {
    const { grades, out, open, csv, students } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    const change = async (act: () => void) => {
      const results = open();
      await results.during(async () => {
        expect(await readdir(out)).toContain("OUT-OF-DATE.txt");
        act();
      });
      expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
      expect(results.code(exitCodes.success)).toBe(0);
    };
    await change(() => {
      grades.bob = { grade: gradeOf([4, 4]), events: [released("bob", 8)] };
    });
    expect(await students()).toEqual(["ada.md", "bob.md"]);
    await change(() => {
      grades.bob = { grade: gradeOf([5, 4]), events: [released("bob", 8)] };
    });
    expect(await students()).toEqual(["ada.md"]);
    expect(await csv()).toMatch(/bob,.*,graded,9,10,9,,changed since its release,5,4/);
    await change(() => {
      delete grades.bob;
    });
    expect(await csv()).not.toMatch("bob");
    await change(() => {
      grades.ada = { grade: gradeOf([6, 3]), events: [] };
    });
    expect(await students()).toEqual([]);
  });

  it("are repaired by the next command after a kill between the grade change and the files", async () => {
    const { grades, out, open, csv, students } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    // State after the kill: the note and the change were made, and one report already shows another grade.
    await open().note();
    grades.bob = { grade: gradeOf([1, 1]), events: [] };
    await writeFile(join(out, "students/ada.md"), "of a grade that was taken back");
    await open().repair();
    expect(await csv()).toMatch(/bob,.*,graded,2,/);
    expect(await readFile(join(out, "students/ada.md"), "utf8")).toMatch("N ada");
    expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
    expect(await students()).toEqual(["ada.md"]);
  });

  it("are correct or have a note after a kill between any two file changes, and the next command repairs them", async () => {
    const files = async (out: string) => {
      const names = (await readdir(out, { recursive: true })).filter((name) => /\.(?:md|csv|json|html)$/.test(name));
      const read = names.sort().map(async (name) => [name, await readFile(join(out, name), "utf8")] as const);
      return Object.fromEntries(await Promise.all(read));
    };
    let kills = 0;
    for (let at = 1; ; at += 1) {
      const { grades, out, open } = classOf();
      await open().remember({ out, ...md });
      await open().write();
      const died = await killedAtChange(at, async (isDead) => {
        await open().during(async () => {
          if (isDead()) return;
          // One report is removed, one is added, and both tables change.
          grades.ada = { grade: gradeOf([5, 3]), events: [released("ada", 9)] };
          grades.bob = { grade: gradeOf([4, 4]), events: [released("bob", 8)] };
        });
      });
      const found = await files(out);
      const isNoted = (await readdir(out)).includes("OUT-OF-DATE.txt");
      await open().repair();
      expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
      const repaired = await files(out);
      const fresh = join(folder, "fresh");
      await open().remember({ out: fresh, ...md });
      await open().write({ whole: fresh });
      expect(repaired, `killed before change ${at}`).toEqual(await files(fresh));
      if (!isNoted) expect(found, `killed before change ${at}, and no note`).toEqual(repaired);
      await rm(folder, { recursive: true });
      if (!died) break;
      kills += 1;
    }
    expect(kills).toBeGreaterThan(10);
  });

  it("are correct after two commands wrote the same folder at once, in any order", async () => {
    const { grades, out, open, csv, hooks } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    let reads = 0;
    // When this command reads the class again to detect changes, another command has changed it and written the results. For one file the
    // older content was written last.
    hooks.onRead = async () => {
      reads += 1;
      if (reads !== 2) return;
      delete hooks.onRead;
      const older = await csv();
      await open().during(async () => {
        grades.bob = { grade: gradeOf([1, 1]), events: [] };
      });
      await writeFile(join(out, "grades.csv"), older);
    };
    await open().during(async () => {
      grades.bob = { grade: gradeOf([2, 2]), events: [] };
    });
    expect(reads).toBe(2);
    expect(await csv()).toMatch(/bob,.*,graded,2,/);
    expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
  });

  it("keep the note of another command that has not yet written them", async () => {
    const { grades, out, open } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    const first = open();
    await first.note();
    const second = open();
    await second.note();
    grades.bob = { grade: gradeOf([2, 2]), events: [] };
    await first.write();
    expect(await readdir(out)).toContain("OUT-OF-DATE.txt");
    await second.write();
    expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
  });

  it("are recorded by twenty parallel commands without losing an entry", async () => {
    const { open, stack, batch } = classOf();
    const sheet = sheetHash(releasedSheet(await readBatchClass(stack, batch)).sheet);
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(
      numbers.map(async (number) => {
        const file = join(folder, `${number}.csv`);
        await open().remember({ out: join(folder, `out-${number}`), ...md });
        await open().exporting([{ file, draft: false, sheet }], () => writeFile(file, "x"));
      }),
    );
    const places = await Promise.all(numbers.map((number) => open().placeAt(join(folder, `out-${number}`))));
    expect(places.filter((place) => place !== null)).toHaveLength(20);
    // Every outdated export is renamed, which proves that each one was recorded.
    const { grades, open: later } = classOf();
    grades.ada = { grade: gradeOf([6, 3]), events: [] };
    await later().write();
    expect((await readdir(folder)).filter((name) => name.startsWith("stale-"))).toHaveLength(20);
  });

  it("are not touched when nothing changed", async () => {
    const { out, open, said } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    const before = (await stat(join(out, "grades.csv"))).mtimeMs;
    said.length = 0;
    await open().repair();
    expect((await stat(join(out, "grades.csv"))).mtimeMs).toBe(before);
    expect(said).toEqual([]);
  });

  it("are named in a message if they are missing or on another machine, with a non-zero exit code", async () => {
    const { out, open, said } = classOf();
    const elsewhere = open();
    await elsewhere.during(async () => undefined);
    expect(said.join("\n")).toMatch("this machine cannot find them");
    expect(elsewhere.code(exitCodes.success)).toBe(exitCodes.outOfDate);
    await open().remember({ out, ...md });
    await open().write();
    await rm(out, { recursive: true });
    said.length = 0;
    const gone = open();
    await gone.during(async () => undefined);
    expect(said.join("\n")).toMatch(`the results in ${out} no longer exist`);
    expect(gone.code(exitCodes.someNotGraded)).toBe(exitCodes.outOfDate);
    expect(gone.code(exitCodes.budget)).toBe(exitCodes.budget);
  });

  it("are named in a message if they cannot be written; the note stays, and the exit code is non-zero", async () => {
    const { grades, out, open, said } = classOf();
    await open().remember({ out, ...md });
    await open().write();
    await rm(join(out, "students"), { recursive: true });
    await writeFile(join(out, "students"), "a file where the folder was");
    const results = open();
    await results.during(async () => {
      grades.bob = { grade: gradeOf([4, 4]), events: [released("bob", 8)] };
    });
    expect(said.join("\n")).toMatch(`the results in ${out} are out of date`);
    expect(results.code(exitCodes.success)).toBe(exitCodes.outOfDate);
    expect(await readdir(out)).toContain("OUT-OF-DATE.txt");
    await rm(join(out, "students"));
    const later = open();
    await later.repair();
    expect(await readdir(out)).not.toContain("OUT-OF-DATE.txt");
    expect(later.code(exitCodes.success)).toBe(0);
  });

  it("rename an export that differs from the grades", async () => {
    const { grades, out, open, stack, batch, said } = classOf();
    const file = join(folder, "canvas.csv");
    const { sheet } = releasedSheet(await readBatchClass(stack, batch));
    await open().remember({ out, ...md });
    // A process that grades the class read the register before the export.
    const grading = open();
    await grading.expect(out);
    await open().exporting([{ file, draft: false, sheet: sheetHash(sheet) }], () => writeFile(file, "x"));
    await grading.write();
    expect(await readdir(folder)).toContain("canvas.csv");
    await open().during(async () => {
      grades.ada = { grade: gradeOf([6, 3]), events: [] };
    });
    expect(await readdir(folder)).toContain("stale-canvas.csv");
    expect(await readdir(folder)).not.toContain("canvas.csv");
    expect(said.join("\n")).toMatch("1 export out of date");
  });

  it("rename an export whose command was killed before all files were written", async () => {
    const { out, open, stack, batch } = classOf();
    const [file, other] = [join(folder, "a.csv"), join(folder, "b.csv")];
    const sheet = sheetHash(releasedSheet(await readBatchClass(stack, batch)).sheet);
    await open().remember({ out, ...md });
    const exports = [file, other].map((one) => ({ file: one, draft: false, sheet }));
    const killed = open().exporting(exports, async () => {
      await writeFile(file, "x");
      throw new Error("killed");
    });
    await expect(killed).rejects.toThrow("killed");
    await open().repair();
    expect((await readdir(folder)).filter((name) => name.endsWith(".csv"))).toEqual(["stale-a.csv"]);
  });

  it("leave out a student whose key begins like a formula, with the name and exit code 3", async () => {
    const { grades, out, open, csv, said } = classOf();
    grades["-bob"] = { grade: gradeOf([1, 1]), events: [] };
    await open().remember({ out, ...md });
    const results = open();
    await results.write();
    expect(await csv()).toMatch("ada");
    expect(said.join("\n")).toMatch(/EXPORT_KEY_FORMULA.*N -bob/);
    expect(results.code(exitCodes.success)).toBe(exitCodes.someNotGraded);
    // A command that only shows the class, or exports it elsewhere, reports only its own files.
    said.length = 0;
    const showing = open();
    await showing.repair();
    expect(said).toEqual([]);
    expect(showing.code(exitCodes.success)).toBe(0);
  });
});
