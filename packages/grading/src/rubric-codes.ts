/** The errors that a rubric table can have. */
export const rubricFindingCodes = {
  RUBRIC_CELLS: {
    means: "A row has more cells than the header.",
    fix: "Write \\| for a bar that is part of the text.",
  },
  RUBRIC_COLUMN: {
    means: "A column of the rubric is unknown, missing, or appears twice.",
    fix: "Correct the header. The finding lists the valid columns.",
  },
  RUBRIC_CRITERION: { means: "A criterion has no description.", fix: "Describe the criterion in one sentence." },
  RUBRIC_EMPTY: {
    means: "The rubric has no criteria, or too many.",
    fix: "Write one row for each criterion.",
  },
  RUBRIC_EVIDENCE: {
    means: "The column evidence contains something other than yes, no or comments.",
    fix: "Write yes or no. Write comments if the criterion is about comments in the code.",
  },
  RUBRIC_ID: {
    means: "A criterion has no valid id, or its id appears twice.",
    fix: "Give each criterion its own id of letters, digits, - and _.",
  },
  RUBRIC_KIND: {
    means: "The kind of a criterion is unknown, or its step is not a number of points.",
    fix: "Write binary, levels or points.",
  },
  RUBRIC_LEVELS: {
    means: "The levels of a criterion cannot be read, or do not fit its points.",
    fix: "Write them as in levels: none=0, half=1, full=2.",
  },
  RUBRIC_POINTS: {
    means: "Points are not a number, or no criterion of the rubric gives points.",
    fix: "Write a number such as 4 or 2.5; below zero for a deduction.",
  },
  RUBRIC_ROW: {
    means: "A line in or below the table looks like a row, but it does not start with a bar.",
    fix: "Start the row with | and keep it on one line.",
  },
  RUBRIC_SOURCE: {
    means: "The source of a criterion's grade is missing or unknown.",
    fix: "Write tests, llm or human.",
  },
  RUBRIC_STEP: {
    means: "The step of a criterion does not divide its points, so no student could reach full marks.",
    fix: "Choose a step that divides the points, or remove the step.",
  },
  RUBRIC_TABLE: {
    means: "The section Rubric contains no table.",
    fix: "Write a header, a line of dashes, and a line for each criterion.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type RubricFindingCode = keyof typeof rubricFindingCodes;
