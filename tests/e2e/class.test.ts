// A teacher grades the example class: each student gets the right grade, attacks are reported and not rewarded, and kill -9 does no harm.
import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@markmill/embedded-postgres";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { type GatedModel, startGatedModel } from "../support/gated-model.ts";
import { type MarkmillPlace, makePlace, markmill, startMarkmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");
const example = join(root, "examples/class-roman");
const script = join(example, "model.yaml");

interface Expected {
  readonly outcome: string;
  readonly tests?: Readonly<Record<string, number>>;
  readonly opinion?: Readonly<Record<string, number>> | null;
  readonly points?: number | null;
  readonly total?: number | null;
  readonly flags?: readonly string[];
}
interface Student {
  readonly student: { readonly key: string };
  readonly status: string;
  readonly total: number | null;
  readonly points: number | null;
  readonly flags: readonly { readonly kind: string }[];
  readonly criteria: readonly { readonly is: string; readonly id: string; readonly points: number }[];
  readonly tries: number;
}
const expected: Record<string, Expected> = JSON.parse(
  readFileSync(join(root, "tests/fixtures/class-roman/expected.json"), "utf8"),
);
/** The grades of a class in a form that can be compared. */
const gradesOf = (json: string) => {
  const { students } = JSON.parse(json) as { readonly students: readonly Student[] };
  return Object.fromEntries(
    students.map(({ student, status, total, points, flags, criteria, tries }) => [
      student.key,
      {
        status,
        total,
        points,
        tries,
        flags: [...new Set(flags.map(({ kind }) => kind))],
        criteria: Object.fromEntries(criteria.flatMap((one) => (one.is === "scored" ? [[one.id, one.points]] : []))),
      },
    ]),
  );
};

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "a class in the jail", reason: jail.message });

describe.skipIf(jail !== null)("the example class", () => {
  let place: MarkmillPlace & { remove(): Promise<void> };
  let model: ScriptedModel;
  let gate: GatedModel;
  let resident: ResidentMarkmill;
  let postgres: EmbeddedPostgres | null = null;

  beforeAll(async () => {
    resident = await residentMarkmill();
    const read = parseScript(readFileSync(script, "utf8"), "model.yaml");
    if (!read.ok) throw new Error("the example's script is wrong");
    model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
    gate = await startGatedModel(model.url);
    const models = { OPENAI_BASE_URL: gate.url, OPENAI_API_KEY: "test", DEFAULT_MODEL: "gpt-5-mini" };
    place = await makePlace(
      { ...models, SANDBOX_ACCEPT: process.env.SANDBOX_ACCEPT ?? "" },
      { command: "shipped", jail: "proven" },
    );
  });
  afterAll(async () => {
    await resident.close();
    await postgres?.stop();
    await gate.close();
    await model.close();
    await place.remove();
  });

  it("is graded correctly after everything was killed in the middle, and no model request is repeated", async () => {
    const args = ["grade", example, "--out", join(place.cwd, "out"), "--concurrency", "8", "--similarity"];
    gate.shutAfter(14);
    const first = startMarkmill(place, args);
    // From here on the model answers nothing. Answered requests have time to be stored. Then every process is killed with open requests.
    await until(() => gate.shut && gate.asked.length > gate.answered.size, { limitMs: 300_000 });
    await sleep(5_000);
    const postmaster = Number(
      readFileSync(join(place.cwd, ".markmill/postgres/data/postmaster.pid"), "utf8").split("\n")[0],
    );
    first.child.kill("SIGKILL");
    process.kill(postmaster, "SIGKILL");
    await first.ended;
    const answered = new Set(gate.answered);
    const unanswered = new Set(gate.asked.filter((key) => !answered.has(key)));
    expect(answered.size).toBeGreaterThan(0);
    gate.open();

    const second = await markmill(place, [...args, "--json"]);
    expect(second.stderr).toContain("continuing this class");
    expect(second.code).toBe(3);
    const grades = gradesOf(second.stdout);
    for (const [key, { outcome, tests, opinion, points, total, flags = [] }] of Object.entries(expected)) {
      expect({ key, ...grades[key] }).toMatchObject({
        key,
        status: outcome,
        total: total ?? null,
        ...(points === undefined ? {} : { points }),
        criteria: { ...tests, ...opinion },
      });
      for (const flag of flags) expect(grades[key]?.flags).toContain(flag);
    }
    for (const { tries } of Object.values(grades)) expect(tries).toBeLessThanOrEqual(1);
    const { similar } = JSON.parse(second.stdout);
    expect(similar).toContainEqual(expect.objectContaining({ one: "4117#1", other: "4118#1" }));

    // Only requests without a reply at the kill are sent again.
    const bodies = model.requests().map(({ messages }) => JSON.stringify(messages));
    expect(gate.asked).not.toContain("none");
    const again = gate.asked.filter((key, at) => gate.asked.indexOf(key) !== at);
    console.log(
      `requests: ${gate.asked.length}; at the kill ${answered.size} answered, ${unanswered.size} not; again: ${again.length}`,
    );
    expect(again.filter((key) => answered.has(key))).toEqual([]);
    expect(again.filter((key) => !unanswered.has(key))).toEqual([]);
    expect(again.length).toBe(new Set(again).size);

    // From here on no process is killed, so the commands share one running server.
    postgres = await startEmbeddedPostgres({ directory: join(place.cwd, ".markmill/postgres") });
    const before = model.requests().length;
    const third = await resident.say(place, [...args, "--json"]);
    expect(gradesOf(third.stdout)).toEqual(grades);
    expect(model.requests().length).toBe(before);
    expect(readFileSync(join(place.cwd, "out/class-report.html"), "utf8")).toContain("Åsa Öberg");
    // Grades are proposals: the teacher's table says so, and no student has a report yet.
    expect(readFileSync(join(place.cwd, "out/grades.csv"), "utf8")).toMatch(/4101,.*,not released,/);
    expect(existsSync(join(place.cwd, "out/students"))).toBe(false);
    // No name of a student reaches a model.
    for (const name of ["Öberg", "Achterberg", "Quist"]) expect(bodies.join("\n")).not.toContain(name);
  }, 900_000);

  it("is reviewed, overridden, released and exported", async () => {
    const table = () => readFileSync(join(place.cwd, "out/grades.csv"), "utf8");
    const pdf = join(place.cwd, "out/students/4119.pdf");
    const early = ["export", example, "--to", "csv", "--out", join(place.cwd, "early")];
    expect(await resident.say(place, early)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("EXPORT_NOT_RELEASED"),
    });
    const draft = await resident.say(place, [...early, "--draft"]);
    expect(draft).toMatchObject({ code: 3, stdout: `${join(place.cwd, "early/draft-grades.csv")}\n` });
    const listed = await resident.say(place, ["review", example, "--list", "--json"]);
    expect(
      JSON.parse(listed.stdout)
        .items.map(({ students }: { students: string[] }) => students[0])
        .sort(),
    ).toEqual(["4119", "4120", "4121", "4122"]);
    expect(
      await resident.say(place, [
        "override",
        "Quist",
        "--batch",
        example,
        "--criterion",
        "names",
        "--points",
        "9",
        "--reason",
        "r",
      ]),
    ).toMatchObject({ code: 2 });
    const set = await resident.say(place, [
      "override",
      "Quist",
      "--batch",
      example,
      "--criterion",
      "names",
      "--points",
      "0",
      "--reason",
      "it asks",
    ]);
    // A mark closes its criterion. The reviewer sees that the submission asks for points.
    expect(set).toMatchObject({ code: 0, stdout: "needs human\n" });
    expect(await resident.say(place, ["review", example, "--student", "Quist", "--accept"])).toMatchObject({ code: 0 });
    expect(table()).toMatch(/4119,.*Vera Quist,graded,2,12,.*,not released,/);
    expect(existsSync(join(place.cwd, "early/stale-draft-grades.csv"))).toBe(true);
    expect(existsSync(join(place.cwd, "early/draft-grades.csv"))).toBe(false);
    expect(existsSync(pdf)).toBe(false);
    const released = await resident.say(place, ["release", example]);
    expect(released.stderr).toContain("released: 21, 5 left out");
    expect(readFileSync(pdf).subarray(0, 5).toString()).toBe("%PDF-");
    expect(table()).toMatch(/4119,.*Vera Quist,graded,2,12,.*,released,/);
    expect((await resident.say(place, ["release", example])).stderr).toContain("released: 0, 21 before");
    const checked = await resident.say(place, [
      "export",
      example,
      "--to",
      "canvas",
      "--template",
      join(example, "roster.csv"),
      "--check",
    ]);
    // Five students who handed in have no grade. The command names them, and its exit code reports them.
    expect(checked).toMatchObject({ code: 3, stdout: "" });
    expect(checked.stderr).toContain("would read 21 grades");
    expect(checked.stderr).toMatch(/5 left out:\n +Freja Lund: ungradable: roman.js is missing/);
    const written = await resident.say(place, ["export", example, "--to", "csv", "--out", join(place.cwd, "exp")]);
    expect(readFileSync(written.stdout.trim(), "utf8")).toMatch(/4119,.*Vera Quist,graded,2,12/);
    // A grade that changed after its release is not exported as a released one.
    const later = ["override", "Quist", "--batch", example, "--criterion", "names", "--points", "1", "--reason", "r"];
    expect(await resident.say(place, later)).toMatchObject({ code: 0 });
    expect(table()).toMatch(/4119,.*Vera Quist,graded,3,12,.*,changed since its release,/);
    expect(existsSync(pdf)).toBe(false);
    expect(existsSync(join(place.cwd, "exp/stale-grades.csv"))).toBe(true);
    const given = await resident.say(place, ["export", example, "--to", "csv", "--out", join(place.cwd, "rel")]);
    expect(given).toMatchObject({ code: 3, stderr: expect.stringContaining("Vera Quist: changed since its release") });
    expect(readFileSync(given.stdout.trim(), "utf8")).toMatch(/4119,.*Vera Quist,not released,,12/);
    expect(await resident.say(place, later.with(7, "0"))).toMatchObject({ code: 0 });
    expect(existsSync(pdf)).toBe(true);
    // The results folder was deleted. The mark is stored, and the exit code reports the missing results.
    renameSync(join(place.cwd, "out"), join(place.cwd, "moved"));
    const gone = await resident.say(place, later.with(7, "0"));
    expect(gone).toMatchObject({ code: 4, stderr: expect.stringContaining("no longer exist and were not updated") });

    await resident.say(place, ["pause", example]);
    const halted = await resident.say(place, ["regrade", example, "--where", "student=4119", "--yes"]);
    expect(halted).toMatchObject({ code: 1, stdout: "" });
    expect(halted.stderr).toContain("CLASS_PAUSED");
    expect(await resident.say(place, ["resume", example])).toMatchObject({ code: 3 });
    const status = await resident.say(place, ["status", example]);
    expect(status.stdout).toMatch(/Vera Quist +graded +2 /);
  });
});
