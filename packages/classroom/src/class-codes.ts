/** Lists the errors in the files of a class: class.yaml, its rubric, its roster, the export of its submissions, an old batch. */
export const classFindingCodes = {
  CFG_FILE_MISSING: {
    means: "A workflow that the batch file names is not there.",
    fix: "Correct the path; it counts from the folder of the batch file, else from the working directory.",
  },
  CFG_JSON: { means: "The batch file cannot be read as JSON.", fix: "Correct it at this place." },
  CFG_KEY: { means: "A key of the batch file does not exist.", fix: "Remove it, or correct its spelling." },
  CFG_NOT_A_CLASS: {
    means: "The file is a batch of workflows and values, not a class with submissions.",
    fix: "`markmill grade FILE` runs it; for a class, name its folder or export.",
  },
  CFG_RUNS: { means: "The batch file asks for more runs than are taken at once.", fix: "Split it." },
  CFG_VALUE: {
    means: "A key of the batch file has a value of the wrong kind.",
    fix: "Correct the value, or leave it out.",
  },
  CLASS_DEADLINE: {
    means: "Attempts are counted up to a deadline, and there is none.",
    fix: "Add a deadline, or write attempts: last.",
  },
  CLASS_FILE_MISSING: {
    means: "A file that the class names is not there.",
    fix: "Correct the path; it counts from the folder of class.yaml.",
  },
  CLASS_IDENTITY: {
    means: "It is not clear whether a student of the roster is one who is stored in this class. Nothing was changed.",
    fix: "Say so: `--same OLD=NEW` for the same person, `--new KEY` for somebody else.",
  },
  CLASS_KEY: { means: "A setting of the class does not exist.", fix: "Remove it, or correct its spelling." },
  CLASS_ALLOW_UNTRUSTED: {
    means:
      "class.yaml says where repositories may be read with this machine's credentials, and you have not trusted this file. No credentials are sent there.",
    fix: "If you wrote it, or know who did: markmill trust DIR, with the folder of class.yaml. A change of the file asks again.",
  },
  CLASS_PATH_MISSING: {
    means: "There is nothing at the path that was named.",
    fix: "Name a folder with class.yaml, or an export.",
  },
  CLASS_REPOSITORIES: {
    means: "Works are in git repositories, and nothing says which repository is whose.",
    fix: "Add a roster, with a column `repository` where class.yaml says repositories: roster.",
  },
  CLASS_SUBMISSIONS: {
    means: "The class does not say where its submissions are.",
    fix: "Add submissions: with a folder or an export.",
  },
  CLASS_VALUE: {
    means: "A setting of the class has a value of the wrong kind.",
    fix: "Correct the value, or leave it out.",
  },
  CLASS_YAML: { means: "The file of the class cannot be read as YAML.", fix: "Correct it at this place." },
  INTAKE_AMBIGUOUS: {
    means: "A submission could belong to several students, or its key and its name disagree. It was left out.",
    fix: "Correct the roster, or the name of the folder or file, so that key and name are one student's.",
  },
  INTAKE_CHOICE: {
    means:
      "A choice of `--counts` names a submission that the student does not have, or a newer submission came since the choice was made.",
    fix: "Choose again with `--counts STUDENT=SUBMISSION`; without a choice the policy for attempts decides.",
  },
  INTAKE_EMPTY: { means: "A submission holds no file.", fix: "Ask the student for their work." },
  INTAKE_FILE_MISSING: {
    means: "A submission lacks a file that the class requires.",
    fix: "Rename it, or ask the student for it.",
  },
  INTAKE_LATE_UNKNOWN: {
    means: "Being late costs points, and nobody says whether a work is late, or by how much: none are taken off.",
    fix: "Take a roster or worksheet that says when each work was handed in, or take points off by hand.",
  },
  INTAKE_COMMIT_DATE: {
    means:
      "The date of the commit that counts cannot be true, or contradicts other dates of the repository. Its author sets it.",
    fix: "Ask the host when the commit was pushed.",
  },
  INTAKE_LFS: {
    means:
      "A file of a submission is kept in Git LFS, and only its pointer is in the repository. The pointer is not graded.",
    fix: "Ask the student to commit the file itself (git lfs migrate export), or hand it in as a folder.",
  },
  INTAKE_LINK: { means: "A submission is a link; what it leads to was not fetched.", fix: "Fetch it yourself." },
  INTAKE_METADATA: {
    means:
      "The list of owners in an export of Gradescope is missing, is not what Gradescope writes, or lists a submission that is not there.",
    fix: "Export the submissions again, or write layout: plain.",
  },
  INTAKE_NOT_FETCHED: {
    means:
      "A repository could not be asked: no network, no answer, no right, no git. What was known of the work stands.",
    fix: "Check the network, the address and the access, then run the same command again.",
  },
  INTAKE_NOTHING: {
    means: "No submission belongs to anybody in the class.",
    fix: "Look at what is listed as unmatched, and at the roster.",
  },
  INTAKE_REPOSITORY_NOT_ALLOWED: {
    means:
      "A roster names a repository that is neither public over https nor at a place that class.yaml allows. What was known of the work stands.",
    fix: "Look whether it is the student's; then add its place to repositories.allow in class.yaml.",
  },
  INTAKE_SAME_CONTENT: {
    means: "Works of different students are the same, byte by byte.",
    fix: "Look at them; nothing was decided.",
  },
  INTAKE_SAME_REPOSITORY: {
    means:
      "Students who are no group name one repository. It was fetched for none of them; what was known of their works stands.",
    fix: "Find out whose it is and correct the roster, or give them the same group.",
  },
  INTAKE_TIME: {
    means: "The name of a submission says a time that cannot be read or does not exist. The work has no time.",
    fix: "Correct the name, or the group time of match in class.yaml.",
  },
  INTAKE_TIME_ZONE: {
    means: "Times in the names of submissions do not say their distance from UTC, and the class has no timezone.",
    fix: "Add a line such as timezone: Europe/Berlin to class.yaml.",
  },
  INTAKE_TOGETHER_AND_ALONE: {
    means:
      "A student is in several submissions with different people. The policy for attempts says which one counts for that student; the others keep theirs.",
    fix: "Nothing, if that is right. Else choose: `markmill grade PATH --counts STUDENT=SUBMISSION`.",
  },
  INTAKE_UNMATCHED: {
    means: "A submission belongs to nobody, and was left out.",
    fix: "Rename it to the student's id or login, add the student to the roster, or set match.",
  },
  INTAKE_UNORDERED: {
    means:
      "A student has several submissions, and no attempt number, time or number in the name says which one is the latest. None of them counts yet.",
    fix: "Choose one: `markmill grade PATH --counts STUDENT=SUBMISSION`. Or number their names, or write attempts: best.",
  },
  ROSTER_AMBIGUOUS: {
    means: "Two columns of the roster could say the same of a student, and the first was taken.",
    fix: "Say which one is meant: columns in class.yaml.",
  },
  ROSTER_CELLS: {
    means: "A row of the roster has more cells than the header.",
    fix: "Put cells that hold a separator into quotes.",
  },
  ROSTER_COLUMN: {
    means: "A column that the class names is not in the roster, or is nothing a roster can say.",
    fix: "Correct columns in class.yaml.",
  },
  ROSTER_CONSENT: {
    means: "The roster does not say clearly whether a model may see a student's work.",
    fix: "Write none, local or any.",
  },
  ROSTER_DUPLICATE: {
    means: "Two students of the roster have the same key of one kind. A git handle may be shared in one group.",
    fix: "Give each student a key of their own.",
  },
  ROSTER_EMAIL: { means: "An e-mail address of the roster is none.", fix: "Correct it, or check the columns." },
  ROSTER_EMPTY: { means: "The roster has no rows, or no students.", fix: "Export it again, with its header." },
  ROSTER_ENCODING: {
    means: "The roster is not UTF-8 and was read as Windows-1252.",
    fix: "Look whether accents are right, or save it as CSV UTF-8.",
  },
  ROSTER_HEADER: {
    means: "No column of the roster says who a student is.",
    fix: "Name a column id, name, email or login, or set columns in class.yaml.",
  },
  ROSTER_LONG: { means: "The roster has more rows than are taken.", fix: "Split it." },
  ROSTER_PARTICIPANT: {
    means: "A cell of the column with participant numbers has no number at its end.",
    fix: "Download the grading worksheet again, or correct columns in class.yaml.",
  },
  ROSTER_QUOTE: {
    means: "A quote in the roster is never closed.",
    fix: "Close it, or write it twice if it is part of the text.",
  },
  ROSTER_ROW: { means: "A row of the roster names nobody and was left out.", fix: "Fill it in, or remove it." },
  ROSTER_ORDINARY_WORD: {
    means:
      "A name, id, login or handle of the roster is an ordinary word, such as `function`. It is not taken out of the works of others.",
    fix: "Nothing has to be done. To hide it from models in all works, give the student another login or handle in the roster.",
  },
  ROSTER_TIME: {
    means:
      "The roster says when a work was handed in, and the time cannot be read, does not exist or contradicts its weekday.",
    fix: "Write it as 2026-11-13T17:16:00+01:00, or remove the column from the roster.",
  },
  ROSTER_TIME_ZONE: {
    means: "Times in the roster do not say their distance from UTC, and the class has no timezone.",
    fix: "Add a line such as timezone: Europe/Berlin to class.yaml.",
  },
  ROSTER_TWICE: { means: "A row of the roster stands twice and counts once.", fix: "Remove one of the two." },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ClassFindingCode = keyof typeof classFindingCodes;
