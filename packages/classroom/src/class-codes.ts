/** Lists the errors in the files of a class: class.yaml, its rubric, its roster, the export of its submissions, an old batch. */
export const classFindingCodes = {
  CFG_FILE_MISSING: {
    means: "A workflow named in the batch file does not exist.",
    fix: "Correct the path. It is relative to the folder of the batch file, or to the working directory.",
  },
  CFG_JSON: { means: "The batch file is not valid JSON.", fix: "Correct the file at this position." },
  CFG_KEY: { means: "A key of the batch file does not exist.", fix: "Remove it, or correct its spelling." },
  CFG_NOT_A_CLASS: {
    means: "The file is a batch of workflows and values, not a class with submissions.",
    fix: "To run the batch: `markmill grade FILE`. To grade a class, name its folder or export.",
  },
  CFG_RUNS: { means: "The batch file contains too many runs.", fix: "Split the file." },
  CFG_VALUE: {
    means: "A key of the batch file has a value of the wrong kind.",
    fix: "Correct the value, or remove the key.",
  },
  CLASS_DEADLINE: {
    means: "`attempts` counts submissions before a deadline, but the class has no deadline.",
    fix: "Add a deadline, or write attempts: last.",
  },
  CLASS_FILE_MISSING: {
    means: "A file named in class.yaml does not exist.",
    fix: "Correct the path. It is relative to the folder of class.yaml.",
  },
  CLASS_IDENTITY: {
    means:
      "Markmill cannot decide whether a student of the roster is a student already stored in this class. Nothing was changed.",
    fix: "Decide it: `--same OLD=NEW` for the same person, `--new KEY` for another person.",
  },
  CLASS_KEY: { means: "class.yaml contains an unknown setting.", fix: "Remove it, or correct its spelling." },
  CLASS_ALLOW_UNTRUSTED: {
    means:
      "class.yaml allows repositories to be read with this machine's credentials, but you have not trusted this file. No credentials are sent.",
    fix: "If you wrote the file, or know its author, run `markmill trust DIR` with the folder of class.yaml. After a change of the file, Markmill asks again.",
  },
  CLASS_PATH_MISSING: {
    means: "The given path does not exist.",
    fix: "Name a folder with class.yaml, or an export.",
  },
  CLASS_REPOSITORIES: {
    means: "The submissions are in git repositories, but their students are unknown.",
    fix: "Add a roster. If class.yaml contains `repositories: roster`, the roster needs a column `repository`.",
  },
  CLASS_SUBMISSIONS: {
    means: "class.yaml does not name the submissions.",
    fix: "Add `submissions:` with a folder or an export.",
  },
  CLASS_VALUE: {
    means: "A setting of the class has a value of the wrong kind.",
    fix: "Correct the value, or remove the key.",
  },
  CLASS_YAML: { means: "class.yaml is not valid YAML.", fix: "Correct the file at this position." },
  INTAKE_AMBIGUOUS: {
    means: "A submission could belong to several students, or its key and its name disagree. It was skipped.",
    fix: "Correct the roster or the name of the folder or file, so that key and name belong to the same student.",
  },
  INTAKE_CHOICE: {
    means:
      "A choice of `--counts` names a submission that the student does not have, or a newer submission arrived after the choice.",
    fix: "Choose again with `--counts STUDENT=SUBMISSION`. Without a choice, the policy for attempts decides.",
  },
  INTAKE_EMPTY: { means: "A submission contains no file.", fix: "Ask the student for the submission." },
  INTAKE_FILE_MISSING: {
    means: "A submission lacks a file that the class requires.",
    fix: "Rename the file, or ask the student for it.",
  },
  INTAKE_LATE_UNKNOWN: {
    means: "Lateness costs points, but the delay of a submission is unknown. No points are deducted.",
    fix: "Use a roster or worksheet with the hand-in times, or deduct points by hand.",
  },
  INTAKE_COMMIT_DATE: {
    means:
      "The date of the commit that counts is impossible, or it contradicts other dates of the repository. The author of a commit sets its date.",
    fix: "Ask the host when the commit was pushed.",
  },
  INTAKE_LFS: {
    means:
      "A file of a submission is stored in Git LFS, and the repository contains only its pointer. The pointer is not graded.",
    fix: "Ask the student to commit the file itself (git lfs migrate export), or to submit it as a folder.",
  },
  INTAKE_LINK: {
    means: "A submission is a link. Its target was not fetched.",
    fix: "Download the target of the link yourself.",
  },
  INTAKE_METADATA: {
    means:
      "The list of owners in a Gradescope export is missing, has the wrong format, or lists a submission that does not exist.",
    fix: "Export the submissions again, or write layout: plain.",
  },
  INTAKE_NOT_FETCHED: {
    means:
      "A repository could not be read: no network, no answer, no access or no git. The stored state of the submission is kept.",
    fix: "Check the network, the address and the access, then run the same command again.",
  },
  INTAKE_NOTHING: {
    means: "No submission belongs to a student of the class.",
    fix: "Compare the unmatched files with the roster.",
  },
  INTAKE_REPOSITORY_NOT_ALLOWED: {
    means:
      "A roster names a repository that is not public over https and not allowed in class.yaml. The stored state of the submission is kept.",
    fix: "Check that the repository belongs to the student. Then add its place to repositories.allow in class.yaml.",
  },
  INTAKE_SAME_CONTENT: {
    means: "Submissions of different students are identical, byte by byte.",
    fix: "Compare these submissions yourself. Markmill decides nothing here.",
  },
  INTAKE_SAME_REPOSITORY: {
    means:
      "Students who are not in the same group name the same repository. It was fetched for none of them. The stored state of their submissions is kept.",
    fix: "Find its owner and correct the roster, or put these students into the same group.",
  },
  INTAKE_TIME: {
    means: "The name of a submission contains an invalid time. The submission has no hand-in time.",
    fix: "Correct the name, or the group time of match in class.yaml.",
  },
  INTAKE_TIME_ZONE: {
    means: "Times in the names of submissions have no UTC offset, and the class has no timezone.",
    fix: "Add a line such as timezone: Europe/Berlin to class.yaml.",
  },
  INTAKE_TOGETHER_AND_ALONE: {
    means:
      "A student takes part in several submissions with different people. The policy for attempts decides which one counts for that student. The other people keep theirs.",
    fix: "If this is right, do nothing. Otherwise choose: `markmill grade PATH --counts STUDENT=SUBMISSION`.",
  },
  INTAKE_UNMATCHED: {
    means: "A submission belongs to no student and was skipped.",
    fix: "Rename the submission to the student's id or login, add the student to the roster, or set `match` in class.yaml.",
  },
  INTAKE_UNORDERED: {
    means:
      "A student has several submissions, and no attempt number, time or number in the name shows which one is the latest. None of them counts yet.",
    fix: "Choose one: `markmill grade PATH --counts STUDENT=SUBMISSION`. Or add numbers to the names, or write `attempts: best`.",
  },
  ROSTER_AMBIGUOUS: {
    means: "Two columns of the roster could have the same meaning. The first one was used.",
    fix: "Name the right column with `columns` in class.yaml.",
  },
  ROSTER_CELLS: {
    means: "A row of the roster has more cells than the header.",
    fix: "Put cells that contain a separator into quotes.",
  },
  ROSTER_COLUMN: {
    means: "A column named in class.yaml is missing in the roster, or is not a known field.",
    fix: "Correct `columns` in class.yaml.",
  },
  ROSTER_CONSENT: {
    means: "The roster contains an unknown answer to whether a model may see a student's submission.",
    fix: "Write none, local or any.",
  },
  ROSTER_DUPLICATE: {
    means: "Two students of the roster have the same key. Only students of one group may share a git handle.",
    fix: "Give each student a unique key.",
  },
  ROSTER_EMAIL: {
    means: "The roster contains an invalid e-mail address.",
    fix: "Correct the address, or check the columns.",
  },
  ROSTER_EMPTY: { means: "The roster has no rows or no students.", fix: "Export the roster again, with its header." },
  ROSTER_ENCODING: {
    means: "The roster is not UTF-8 and was read as Windows-1252.",
    fix: "Check that accents are right, or save the roster as CSV UTF-8.",
  },
  ROSTER_HEADER: {
    means: "No column of the roster identifies the students.",
    fix: "Name a column id, name, email or login, or set `columns` in class.yaml.",
  },
  ROSTER_LONG: { means: "The roster has too many rows.", fix: "Split the file." },
  ROSTER_PARTICIPANT: {
    means: "A cell of the column with participant numbers has no number at its end.",
    fix: "Download the grading worksheet again, or correct `columns` in class.yaml.",
  },
  ROSTER_QUOTE: {
    means: "A quote in the roster is never closed.",
    fix: "Close the quote, or write it twice if it is part of the text.",
  },
  ROSTER_ROW: {
    means: "A row of the roster names no student and was skipped.",
    fix: "Complete the row, or remove it.",
  },
  ROSTER_ORDINARY_WORD: {
    means:
      "A name, id, login or handle of the roster is an ordinary word, such as `function`. It is not removed from the submissions of other students.",
    fix: "You need to do nothing. To hide it from models in all submissions, give the student another login or handle in the roster.",
  },
  ROSTER_TIME: {
    means: "A hand-in time in the roster cannot be read, does not exist or contradicts its weekday.",
    fix: "Write it as 2026-11-13T17:16:00+01:00, or remove the column from the roster.",
  },
  ROSTER_TIME_ZONE: {
    means: "Times in the roster have no UTC offset, and the class has no timezone.",
    fix: "Add a line such as timezone: Europe/Berlin to class.yaml.",
  },
  ROSTER_TWICE: { means: "A row of the roster appears twice and counts once.", fix: "Remove one of the two rows." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ClassFindingCode = keyof typeof classFindingCodes;
