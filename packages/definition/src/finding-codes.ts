import type { Report } from "./report.ts";

/** Codes of findings that every dialect may report. The meaning of a code never changes. Codes of one dialect are in its folder. */
export interface CodeEntry {
  /** The meaning of the code and the cause of the finding. */
  readonly means: string;
  readonly fix: string;
}

export const findingCodes = {
  FILE_MISSING: { means: "The file does not exist, or it is outside the workflow folder.", fix: "Check the path." },
  FILE_PROTECTED: {
    means:
      "The workflow names a hidden file, a key file or a file in Markmill's own folder. Workflows cannot read these files.",
    fix: "Copy the needed text into a file with an ordinary name, without secrets.",
  },
  FILE_TOO_LARGE: {
    means: "A file is larger than 16 MiB.",
    fix: "Pass long texts to the run as a file of the submission.",
  },
  NOT_UTF8: { means: "A byte of the file is not valid UTF-8.", fix: "Save the file with the encoding UTF-8." },
  NUL_CHARACTER: {
    means: "The text contains a NUL character, like a binary file.",
    fix: "Remove the character, or name a text file.",
  },
  DIALECT_UNKNOWN: {
    means: "Neither the content nor the name of the file is that of a workflow file.",
    fix: "Write the workflow as described in docs/workflow-files.md, or name another file.",
  },
  DEFINITION_TOO_LARGE: {
    means: "The workflow, its called workflows and their files are too long for one definition.",
    fix: "Pass long files to the run with the submission, or read a file in fewer workflows.",
  },
  CALL_MISSING: { means: "A called workflow does not exist.", fix: "Correct the path, or add the file." },
  CALL_TOO_MANY: {
    means: "One workflow consists of more than 500 workflow files.",
    fix: "Pass the differences as parameters instead of writing a file for each case.",
  },
  CALL_ENDLESS: {
    means: "Every path through the workflow calls the workflow again, so it can never end.",
    fix: "Add a check with an edge that ends the workflow without the call.",
  },
  CALL_CYCLE: {
    means: "Workflows call each other in a circle. Only the depth limit is certain to end it.",
    fix: "Make sure that a check ends the recursion.",
  },
  COMMAND_RAW: {
    means: "A command contains text from a model or a student as shell code.",
    fix: "Write {{NAME}} instead of {{{NAME}}}, so that the value is quoted.",
  },
  COMMAND_PLACE: {
    means: "A value is in a place where the shell or a program would evaluate it again.",
    fix: "Assign the value to a shell variable first, and use the variable in double quotes.",
  },
  COMMAND_WORD: {
    means: "A value is at the start of a command. It is used as one word.",
    fix: "Write {{{NAME}}} if the value is a whole command of your own.",
  },
  CHECK_FORGEABLE: {
    means:
      "A check trusts the output or a file of a program, or a model's reply to it. A submission that runs there can write the same.",
    fix: "Check EXIT_CODE, or let the command decide in a judge session (docs/workflow-files.md).",
  },
  TESTS_EXPOSED: {
    means: "A file is written into a session after the submission has run there, and then runs there.",
    fix: "Run the file in a judge session (docs/workflow-files.md), or write it before the first command that runs the submission.",
  },
  RUBRIC_MISSING: { means: "The file has no section Rubric.", fix: "Add a line # Rubric and the table below it." },
  RUBRIC_TWICE: {
    means: "There are two rubrics: two sections, or a section and a file.",
    fix: "Remove one of them.",
  },
  RUBRIC_UNUSED: {
    means: "The workflow has a rubric, but no node uses it.",
    fix: "Add a GRADE node, or remove the rubric.",
  },
  RUBRIC_UNTESTED: {
    means:
      "Tests grade some criteria, but no command of the workflow runs in the judge session, which produces the results.",
    fix: "Write session: judge on the EXECUTE that runs the tests.",
  },
  GRADE_WITHOUT_RUBRIC: {
    means: "A GRADE has no rubric.",
    fix: "Add a section # Rubric, or name a file with rubric: in the front matter.",
  },
  GRADE_MISSING: {
    means: "The class has a rubric, but the workflow has no GRADE node that uses it.",
    fix: "Add a node such as GRADE_WORK to the flowchart.",
  },
  TEST_RESULTS_SET: {
    means:
      "The workflow sets TEST_RESULTS. This variable contains the test results from a judge session, and a workflow cannot write it.",
    fix: "Use another name.",
  },
  NODE_UNREACHABLE: { means: "No path leads to a node.", fix: "Draw an edge to the node, or remove it." },
  LOOP_WITHOUT_EXIT: {
    means: "Only the limit of visits can end a loop.",
    fix: "Add a check with an edge that leaves the loop.",
  },
  JUDGE_AUTOGRADER: {
    means: "The judge's autograder is not a valid autograder.",
    fix: "Name a zip, or a folder that contains setup.sh and run_autograder.",
  },
  JUDGE_FILE_TWICE: {
    means: "Two files of the judge would have the same name.",
    fix: "Rename one of them, or put them into different folders.",
  },
  JUDGE_FILES_TOO_MANY: {
    means: "The judge's files are too many, or too large together.",
    fix: "Keep only the files that the checks need. Put programs and libraries into the judge's image.",
  },
  JUDGE_FILE_HIDDEN: {
    means: "A file for the judge is hidden, a link, or looks like a key. It was skipped.",
    fix: "If the judge needs the file, give it an ordinary name.",
  },
  JUDGE_FILE_OUTSIDE: {
    means: "A file for the judge is outside the workflow folder.",
    fix: "Copy the file next to the workflow, and name the copy.",
  },
  JUDGE_FILE_MISSING: {
    means: "A file for the judge does not exist, or its folder is empty.",
    fix: "Correct the path, or add the file.",
  },
} as const satisfies Record<string, CodeEntry>;

export type FindingCode = keyof typeof findingCodes;
export type FindingReport = Report<FindingCode>;

/** Findings when a run starts. */
export const startFindingCodes = {
  PARAM_MISSING: { means: "A parameter without a default has no value.", fix: "Pass the parameter: NAME=VALUE." },
  PARAM_UNKNOWN: {
    means: "A parameter was given that the workflow neither declares nor uses.",
    fix: "Correct its name. `markmill show FILE` lists the parameters.",
  },
  INPUT_MISSING: {
    means: "A step needs the run's input, but the run has no input.",
    fix: "Add --input TEXT.",
  },
  INPUT_UNUSED: { means: "The run has an input, but no task reads it.", fix: "Remove the input." },
  SUBMISSION_REQUIRED: {
    means: "The workflow needs a submission, but the run has none.",
    fix: "Add --submission PATH.",
  },
  SUBMISSION_UNUSED: {
    means: "The run has a submission, but the workflow forbids one.",
    fix: "Remove the submission, or correct 'submission' in the workflow.",
  },
  FILE_NOT_GIVEN: {
    means:
      "The workflow reads a file that is neither in the workflow folder nor in the submission, and no earlier step writes it.",
    fix: "Add --submission PATH, or correct the path in the workflow.",
  },
  NO_SUBMISSION: {
    means: "The workflow runs commands without a submission. The commands see an empty folder.",
    fix: "Add --submission PATH, or set 'submission' in the workflow.",
  },
} as const satisfies Record<string, CodeEntry>;

export type StartFindingCode = keyof typeof startFindingCodes;
