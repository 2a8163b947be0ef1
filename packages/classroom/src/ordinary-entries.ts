/**
 * Warns about students whose name, id, login or handle is an ordinary word. Removing such a word from every submission would damage
 * programs and tasks, so it stays in other students' submissions (scrub.ts). The teacher gets a list of these entries.
 */
import { readFile } from "node:fs/promises";
import type { Finding } from "@markmill/definition";
import { type AuthoredWords, authoredWords, unscrubbed } from "@markmill/grading";
import type { ClassFindingCode } from "./class-codes.ts";
import type { Member } from "./member.ts";

const code: ClassFindingCode = "ROSTER_ORDINARY_WORD";

export function ordinaryEntries(members: readonly Member[], authored: AuthoredWords, file: string): Finding[] {
  return members.flatMap((member) => {
    const found = unscrubbed(member, authored);
    if (found.length === 0) return [];
    const entries = found.map(({ field, value }) => `the ${field} "${value.slice(0, 60)}"`).join(" and ");
    const says =
      found.length === 1
        ? "is an ordinary word or number. It is not removed from the submissions of other students."
        : "are ordinary words or numbers. They are not removed from the submissions of other students.";
    return [
      {
        severity: "warning",
        code,
        at: member.at ?? { file, line: 1, column: 1 },
        message: `${member.name.slice(0, 60)}: ${entries} ${says}`,
        fix: "You need to do nothing. To hide it from models in all submissions, give the student another login or handle in the roster.",
      } satisfies Finding,
    ];
  });
}

/** Words of the teacher's files. A file that cannot be read adds none. */
export async function wordsOfFiles(paths: readonly string[]): Promise<AuthoredWords> {
  return authoredWords(await Promise.all(paths.map((path) => readFile(path, "utf8").catch(() => ""))));
}
