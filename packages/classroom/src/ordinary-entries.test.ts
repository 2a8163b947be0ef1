import { rm } from "node:fs/promises";
import { expect, it } from "vitest";
import { readClassFolder } from "./read-class-folder.ts";
import { folderOf } from "./testing-class.ts";

it("a login, handle or name that is an ordinary word is reported with the student and the roster line", async () => {
  const folder = folderOf({
    "class.yaml": "submissions: works\nroster: roster.csv\nrubric: rubric.md\n",
    "rubric.md": "The median of a list.",
    "roster.csv":
      "id,name,login,github\n40171,Ada Lovelace,ada,criteria\n40172,Alan Turing,median,aturing\n40173,Clear,clea,x\n40174,Mark Grant,mgrant,mg\n",
    "works/40171/main.py": "x = 1\n",
  });
  try {
    const { findings } = await readClassFolder(folder);
    const told = findings.filter(({ code }) => code === "ROSTER_ORDINARY_WORD");
    expect(told.map(({ at, message, severity }) => `${severity} ${at.line} ${message}`)).toEqual([
      'warning 2 Ada Lovelace: the handle "criteria" is an ordinary word or number. It is not removed from the submissions of other students.',
      'warning 3 Alan Turing: the login "median" is an ordinary word or number. It is not removed from the submissions of other students.',
      'warning 4 Clear: the name "Clear" is an ordinary word or number. It is not removed from the submissions of other students.',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
