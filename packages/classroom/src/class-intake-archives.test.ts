import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { readClass } from "./class-intake.ts";
import { zipOf } from "./testing-class.ts";
import { both, deleteFolders, folder } from "./testing-intake.ts";

afterEach(deleteFolders);

describe("archives in a submission", () => {
  const alone = async (bytes: Buffer, name = "work.zip") =>
    (await readClass(folder({ [`ada/${name}`]: bytes }))).submissions[0]?.content;

  it("replace the submission if there is nothing else, without the folder around it", async () => {
    expect(await alone(zipOf({ "hw/src/a.js": "1", "hw/b.js": "2", "__MACOSX/hw/._b.js": "x" }))).toMatchObject({
      paths: ["b.js", "src/a.js"],
      notes: [expect.stringMatching("folder hw")],
    });
  });

  it("are unpacked beside the other files, at most two levels deep", async () => {
    const third = zipOf({ "deep.js": "3" });
    const second = zipOf({ "two.js": "2", "three.zip": third });
    const first = zipOf({ "one.js": "1", "two.zip": second });
    const { submissions } = await readClass(folder({ "ada/main.js": "0", "ada/one.zip": first }));
    expect(submissions[0]?.content).toMatchObject({
      paths: ["main.js", "one/one.js", "one/two/three.zip", "one/two/two.js"],
    });
  });

  it("that attack, nested ones too, refuse this submission and no other", async () => {
    const zeros = Buffer.alloc(8 * 1024 * 1024);
    const evil: [string, Buffer][] = [
      ["SUBMISSION_ARCHIVE_ESCAPES", zipOf({ "../x": "1" })],
      ["SUBMISSION_ARCHIVE_ESCAPES", zipOf({ "/etc/x": "1" })],
      ["SUBMISSION_ARCHIVE_CLASH", zipOf({ README: "1", readme: "2" })],
      ["SUBMISSION_ARCHIVE_BOMB", zipOf({ zeros })],
      ["SUBMISSION_ARCHIVE_BROKEN", Buffer.from("no zip")],
    ];
    for (const [code, bytes] of evil) {
      expect(await alone(bytes)).toMatchObject({ is: "refused", code, fix: expect.stringMatching(/\S/) });
      expect(await alone(zipOf({ "in.zip": bytes }))).toMatchObject({ is: "refused", code });
      const { submissions } = await both({ "ada.zip": bytes, "bob.zip": zipOf({ a: "1" }) });
      expect(submissions.map(({ content }) => content.is)).toEqual(["refused", "taken"]);
    }
    expect(await alone(gzipSync("no tar at all"), "x.tgz")).toMatchObject({ is: "refused" });
  });

  it("that are only broken stay as files beside others", async () => {
    const { submissions } = await readClass(
      folder({ "ada/main.js": "1", "ada/fixture.zip": "no zip", "ada/x.rar": "?" }),
    );
    expect(submissions[0]?.content).toMatchObject({
      is: "taken",
      paths: ["fixture.zip", "main.js", "x.rar"],
      notes: [expect.stringMatching("was not unpacked"), expect.stringMatching("was not unpacked")],
    });
  });

  it("count together with the other files towards the limits", async () => {
    const files = Object.fromEntries([1, 2, 3, 4].map((n) => [`f${n}`, "x"]));
    const at = folder({ "ada/main.js": "1", "ada/one.zip": zipOf(files), "ada/two.zip": zipOf(files) });
    const limited = async (count: number) =>
      (await readClass(at, { limits: { files: count, bytes: 1e6 } })).submissions[0]?.content;
    expect(await limited(8)).toMatchObject({ is: "refused", code: "SUBMISSION_TOO_LARGE" });
    expect(await limited(11)).toMatchObject({ is: "taken", files: 9 });
  });

  it("without content are reported as an empty submission", async () => {
    const found = await readClass(folder({ "ada/work.zip": zipOf({}), "bob/x": "1" }));
    expect(found.submissions[0]?.content).toEqual({ is: "empty" });
    expect(found.problems).toMatchObject([{ code: "INTAKE_EMPTY" }]);
  });
});
