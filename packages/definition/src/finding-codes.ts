import type { Report } from "./report.ts";

/** Codes of findings that every dialect may report. The meaning of a code never changes. Codes of one dialect are in its folder. */
export interface CodeEntry {
  /** The meaning of the code and the cause of the finding. */
  readonly means: string;
  readonly fix: string;
}

export const findingCodes = {
  FILE_MISSING: { means: "There is no such file, or it lies outside the workflow folder.", fix: "Check the path." },
  FILE_PROTECTED: {
    means: "A dot-file, a key file or a file of Markmill's own folder is named; no workflow reads these.",
    fix: "Copy what is needed into a file with an ordinary name, without any secret.",
  },
  FILE_TOO_LARGE: {
    means: "A file is larger than 16 MiB.",
    fix: "Hand long material to the run as a file of the submission.",
  },
  NOT_UTF8: { means: "A byte of the file is not valid UTF-8.", fix: "Save the file with the encoding UTF-8." },
  NUL_CHARACTER: {
    means: "The text holds a NUL character, as binary files do.",
    fix: "Remove the character, or name a text file.",
  },
  DIALECT_UNKNOWN: {
    means: "The file is in no language of workflow files, neither by its content nor by its name.",
    fix: "Write it as docs/workflow-files.md says, or name another file.",
  },
  DEFINITION_TOO_LARGE: {
    means: "The workflow, all it calls and the files they read are more text than one definition may hold.",
    fix: "Hand long files to the run with the submission, or read one file in fewer workflows.",
  },
  CALL_MISSING: { means: "A workflow that is called does not exist.", fix: "Correct the path, or add the file." },
  CALL_TOO_MANY: {
    means: "More than 500 workflow files belong to one workflow.",
    fix: "Pass what differs as parameters instead of writing a file for each case.",
  },
  CALL_ENDLESS: {
    means: "Every way through the workflow calls it again, so that it can never end.",
    fix: "Add a check with an edge that ends the workflow without the call.",
  },
  CALL_CYCLE: {
    means: "Workflows call each other in a circle; at the latest the limit on depth ends it.",
    fix: "Make sure that a check ends the recursion.",
  },
  COMMAND_RAW: {
    means: "Text of a model or a student is put into a command as shell.",
    fix: "Write {{NAME}} instead of {{{NAME}}}: the value is then quoted.",
  },
  COMMAND_PLACE: {
    means: "A value stands where the shell, or a program it starts, would evaluate it once more.",
    fix: "Give it to a variable first and use that in double quotes.",
  },
  COMMAND_WORD: {
    means: "A value stands where a command begins; it is taken as one word.",
    fix: "Write {{{NAME}}} if the value is a whole command of your own.",
  },
  CHECK_FORGEABLE: {
    means:
      "A check believes what a program printed or wrote into a file, or a model's reply to that; a submission that runs there can write the same.",
    fix: "Check EXIT_CODE, or let the command decide in a judge session (docs/workflow-files.md).",
  },
  TESTS_EXPOSED: {
    means: "A file is written into a session where the submission has already run, and is then run there.",
    fix: "Run it in a judge session (docs/workflow-files.md), or write it before the first command that runs the submission.",
  },
  RUBRIC_MISSING: { means: "The file has no section Rubric.", fix: "Add a line # Rubric and the table below it." },
  RUBRIC_TWICE: {
    means: "There are two rubrics: two sections, or a section and a file.",
    fix: "Keep one.",
  },
  RUBRIC_UNUSED: {
    means: "There is a rubric, and nothing in the workflow grades by it.",
    fix: "Add a GRADE node, or remove the rubric.",
  },
  RUBRIC_UNTESTED: {
    means:
      "Criteria are graded by tests, and no command of the workflow runs in the judge session, where results come from.",
    fix: "Write session: judge on the EXECUTE that runs the tests.",
  },
  GRADE_WITHOUT_RUBRIC: {
    means: "A GRADE has no rubric to judge by.",
    fix: "Write a section # Rubric, or name a file with rubric: in the front matter.",
  },
  GRADE_MISSING: {
    means: "The class brings a rubric, and the workflow has no GRADE that would use it.",
    fix: "Add a node such as GRADE_WORK to the flowchart.",
  },
  TEST_RESULTS_SET: {
    means: "TEST_RESULTS is given a value; it holds what tests in a judge session said, and nothing else may write it.",
    fix: "Use another name.",
  },
  NODE_UNREACHABLE: { means: "No path leads to a node.", fix: "Draw an edge to it, or remove it." },
  LOOP_WITHOUT_EXIT: {
    means: "Only the limit on hits ends a loop.",
    fix: "Add a check with an edge that leaves the loop.",
  },
  JUDGE_AUTOGRADER: {
    means: "What the judge should run as an autograder is none.",
    fix: "Name a zip, or a folder that holds setup.sh and run_autograder.",
  },
  JUDGE_FILE_TWICE: {
    means: "Two files of the judge would have the same name.",
    fix: "Rename one of them, or name a folder that holds them apart.",
  },
  JUDGE_FILES_TOO_MANY: {
    means: "The judge's files are too many, or too large together.",
    fix: "Keep only what the checks need; put programs and libraries into the judge's image.",
  },
  JUDGE_FILE_HIDDEN: {
    means: "A file for the judge is hidden, a link, or looks like a key; it is not taken.",
    fix: "Give it an ordinary name if the judge needs it.",
  },
  JUDGE_FILE_OUTSIDE: {
    means: "A file for the judge lies outside the workflow folder.",
    fix: "Copy it beside the workflow and name it there.",
  },
  JUDGE_FILE_MISSING: {
    means: "There is no such file for the judge, or the folder is empty.",
    fix: "Correct the path, or add the file.",
  },
} as const satisfies Record<string, CodeEntry>;

export type FindingCode = keyof typeof findingCodes;
export type FindingReport = Report<FindingCode>;

/** Findings when a run starts. */
export const startFindingCodes = {
  PARAM_MISSING: { means: "A parameter without a default was given no value.", fix: "Give it: NAME=VALUE." },
  PARAM_UNKNOWN: {
    means: "A parameter was given that the workflow neither declares nor uses.",
    fix: "Correct its name; `markmill show FILE` lists what there is.",
  },
  INPUT_MISSING: {
    means: "A step needs the run's input, and the run is started without one.",
    fix: "Add --input TEXT.",
  },
  INPUT_UNUSED: { means: "The run is given an input, and no task reads it.", fix: "Leave it out." },
  SUBMISSION_REQUIRED: { means: "The workflow needs a submission, and none is given.", fix: "Add --submission PATH." },
  SUBMISSION_UNUSED: {
    means: "The workflow says that it takes no submission, and one is given.",
    fix: "Leave it out, or correct 'submission' in the workflow.",
  },
  FILE_NOT_GIVEN: {
    means:
      "The workflow reads a file that came neither with it nor with the submission, and nothing in it writes the file before.",
    fix: "Add --submission PATH, or correct the path in the workflow.",
  },
  NO_SUBMISSION: {
    means: "The workflow runs commands, and no submission is given: they see an empty folder.",
    fix: "Add --submission PATH, or say in the workflow whether it needs one.",
  },
} as const satisfies Record<string, CodeEntry>;

export type StartFindingCode = keyof typeof startFindingCodes;
