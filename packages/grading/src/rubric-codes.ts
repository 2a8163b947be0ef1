/** The errors that a rubric table can have. */
export const rubricFindingCodes = {
  RUBRIC_CELLS: {
    means: "A row has more cells than the header.",
    fix: "Write \\| for a bar that is part of the text.",
  },
  RUBRIC_COLUMN: {
    means: "A column of the rubric is unknown, missing, or stands twice.",
    fix: "Correct the header; the finding lists the columns there are.",
  },
  RUBRIC_CRITERION: { means: "A criterion does not say what is judged.", fix: "Say it in one sentence." },
  RUBRIC_EMPTY: {
    means: "The rubric has no criteria, or more than are taken.",
    fix: "Give it one row for each thing you look at.",
  },
  RUBRIC_EVIDENCE: {
    means: "The column evidence says neither yes, no nor comments.",
    fix: "Write yes, no, or comments where comments are what is judged.",
  },
  RUBRIC_ID: {
    means: "A criterion has no proper id, or its id stands twice.",
    fix: "Give each criterion an id of its own, of letters, digits, - and _.",
  },
  RUBRIC_KIND: {
    means: "The kind of a criterion is unknown, or its step is no number of points.",
    fix: "Write binary, levels or points.",
  },
  RUBRIC_LEVELS: {
    means: "The levels of a criterion cannot be read, or do not fit its points.",
    fix: "Write them as in levels: none=0, half=1, full=2.",
  },
  RUBRIC_POINTS: {
    means: "Points are no number, or nothing can be got in the whole rubric.",
    fix: "Write a number such as 4 or 2.5; below zero for a deduction.",
  },
  RUBRIC_ROW: {
    means: "A line in or below the table looks like a row and does not begin with a bar.",
    fix: "Begin the row with |, and keep it on one line.",
  },
  RUBRIC_SOURCE: { means: "It is not known who or what judges a criterion.", fix: "Write tests, llm or human." },
  RUBRIC_STEP: {
    means: "The step of a criterion does not divide its points: full marks could not be reached.",
    fix: "Take a step that divides the points, or leave the step out.",
  },
  RUBRIC_TABLE: {
    means: "The section Rubric holds no table.",
    fix: "Write a header, a line of dashes, and a line for each criterion.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type RubricFindingCode = keyof typeof rubricFindingCodes;
