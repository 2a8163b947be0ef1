/** Builds the findings about unmatched files, contents, times and equal submissions of a class. Pure. */

import type { Finding, Place } from "@markmill/definition";
import { showName } from "@markmill/grading/submission";
import type { IntakeOptions } from "./class-intake.ts";
import type { ClassSubmission, Content, Unmatched } from "./class-submission.ts";
import { type Layout, METADATA, type Work } from "./layout.ts";
import type { Match } from "./match-students.ts";

/** What the teacher can change so that the same command matches the submission. */
const correction: Record<Layout, string> = {
  canvas: "correct the student's name and user number in the file name, so that both belong to the same student",
  moodle:
    "use the grading worksheet of this assignment as roster, or correct the name and the number in the folder name, so that both belong to the same student",
  gradescope: `correct the submitters in ${METADATA}`,
  plain: "rename it to the student's id, login or e-mail address",
};

export function unmatchedFinding({ name, why, near }: Unmatched, layout: Layout, at: Place): Finding {
  const says = {
    "no rule": "does not follow the naming rules of this export",
    link: "is a link or a special file, and was not read",
    unknown: "does not belong to a student on the roster",
    ambiguous: "belongs to several students",
  };
  const guess = near[0] === undefined ? "" : `Did you mean ${near[0]}? `;
  return {
    severity: "warning",
    code: "INTAKE_UNMATCHED",
    message: `${name} ${says[why]}.`,
    fix: `${guess}Add the student to the roster, or ${correction[layout]}${layout === "plain" ? ", or set `match` in class.yaml" : ""}.`,
    at,
    about: name,
  };
}

export function ambiguousFinding(
  name: string,
  { among, why }: Match & { readonly is: "ambiguous" },
  layout: Layout,
  at: Place,
): Finding {
  const shown = among.slice(0, 5).map((member) => `${member.name} (${member.key})`);
  const more = among.length > 5 ? [`${among.length - 5} more`] : [];
  return {
    severity: "warning",
    code: "INTAKE_AMBIGUOUS",
    message: `${name} could belong to ${[...shown, ...more].join(" or ")}: ${why}.`,
    fix: `Correct the roster, or ${correction[layout]}.`,
    at,
    about: name,
  };
}

export function contentFindings(content: Content, { label, says, pieces }: Work, at: Place): Finding[] {
  const about = pieces[0]?.top ?? label;
  const finding = (code: string, message: string, fix: string): Finding[] => [
    { severity: "warning", code, message, fix, at, about },
  ];
  if (content.is === "refused") return finding(content.code, `${showName(about)}: ${content.message}`, content.fix);
  if (content.is === "empty") {
    return finding("INTAKE_EMPTY", `${showName(about)} contains no file.`, "Ask the student for the submission.");
  }
  // Reported once for all submissions of the student.
  if (content.is === "undecided") return [];
  const doubts = (content.commit?.doubts ?? []).flatMap((doubt) =>
    finding(
      "INTAKE_COMMIT_DATE",
      `${showName(about)}: the date of commit ${content.commit?.hash.slice(0, 12)} is doubtful: ${doubt}.`,
      "Ask the host when the commit was pushed.",
    ),
  );
  if (content.is === "incomplete") {
    return [
      ...doubts,
      ...finding(
        "INTAKE_FILE_MISSING",
        `${showName(about)}: ${content.message}`,
        "Rename the file, or ask the student for it.",
      ),
    ];
  }
  const isLink =
    (says.by === "canvas" || says.by === "canvas-anonymous") && pieces.every(({ as }) => as === "link.html");
  return isLink
    ? finding(
        "INTAKE_LINK",
        `${showName(about)} is a link. Its target was not fetched.`,
        "Download the target of the link yourself.",
      )
    : doubts;
}

/** Reports submissions with unknown lateness if lateness costs points. No points are deducted for them. */
export function untimed(
  submissions: readonly ClassSubmission[],
  { deadline, late }: IntakeOptions,
  at: Place,
): Finding[] {
  if ((late?.percentPerDay ?? 0) === 0) return [];
  const counting = submissions.filter(({ counts }) => counts);
  const of = (found: readonly ClassSubmission[], says: string): Finding[] =>
    found.length === 0
      ? []
      : [
          {
            severity: "warning",
            code: "INTAKE_LATE_UNKNOWN",
            message: `${found.map(({ key }) => showName(key)).join(", ")}: ${says}. No points are deducted.`,
            fix: "Use a roster or worksheet with the hand-in times, or deduct points by hand.",
            at,
          },
        ];
  return [
    ...of(
      counting.filter(({ lateness }) => lateness.is === "late" && lateness.byMs === null),
      "late, but the delay is unknown",
    ),
    ...of(
      deadline === undefined ? [] : counting.filter(({ lateness }) => lateness.is === "unknown"),
      "the hand-in time is unknown",
    ),
  ];
}

/** Reports equal content from different people. A person judges it. */
export function twins(submissions: readonly ClassSubmission[], at: Place): Finding[] {
  const byHash = new Map<string, ClassSubmission[]>();
  for (const one of submissions) {
    if (one.content.is !== "taken") continue;
    byHash.set(one.content.hash, [...(byHash.get(one.content.hash) ?? []), one]);
  }
  return [...byHash.values()]
    .filter((same) => same.some(({ by }) => same.some((other) => !other.by.some((key) => by.includes(key)))))
    .map((same) => ({
      severity: "warning",
      code: "INTAKE_SAME_CONTENT",
      message: `${same.map(({ key }) => showName(key)).join(", ")} are identical, byte by byte.`,
      fix: "Compare these submissions yourself. Markmill decides nothing here.",
      at,
    }));
}
