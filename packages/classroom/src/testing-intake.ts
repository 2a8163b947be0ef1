/** Class folders that are read, for the tests of the intake. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type IntakeOptions, readClass } from "./class-intake.ts";
import { readRoster } from "./roster.ts";
import { type Files, folderOf, zipOf } from "./testing-class.ts";

const made: string[] = [];

/** Deletes the folders of this test. Each test file calls it after each test. */
export function deleteFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
}

export const folder = (files: Files) => {
  const at = folderOf(files);
  made.push(at);
  return at;
};
export const roster = (text: string) => readRoster(Buffer.from(text), "roster.csv");
/** Reads the class both as a folder and as the platform's zip. Both must give the same class. */
export const both = async (files: Files, options: IntakeOptions = {}) => {
  const unpacked = await readClass(folder(files), options);
  const at = folder({ "export.zip": zipOf(files) });
  const packed = await readClass(join(at, "export.zip"), options);
  expect({ ...packed, problems: packed.problems.map(({ code }) => code) }).toEqual({
    ...unpacked,
    problems: unpacked.problems.map(({ code }) => code),
  });
  return unpacked;
};
export const summary = ({ submissions }: Awaited<ReturnType<typeof readClass>>) =>
  submissions.map(({ key, content }) => [key, content.is === "taken" ? content.paths.join(" ") : content.is]);

export const canvasRoster = `Student,ID,SIS User ID,SIS Login ID,Section
"Lovelace, Ada",101,s1,ada,A
"Müller, Jörg",102,s2,jorg,A
"O'Neil, Zoë",103,s3,zoe,A
"Adams, Sam",104,s4,sam,A
`;
