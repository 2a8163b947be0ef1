/** What may be wrong, or worth knowing, when grades are handed over. */
export const exportFindingCodes = {
  CANVAS_ASSIGNMENT: {
    means: "The gradebook has no such assignment, or more than one.",
    fix: "Name it by its title or number.",
  },
  CANVAS_EXCUSED: {
    means: "A student is excused in Canvas and stays so.",
    fix: "Take the excuse away in Canvas if the grade shall count.",
  },
  CANVAS_POINTS: {
    means: "Rubric and assignment in Canvas have different points.",
    fix: "Change one of the two, or ask for the grades to be rescaled.",
  },
  CANVAS_TEMPLATE: {
    means: "The file is no gradebook exported from Canvas.",
    fix: "In Canvas: Grades, Export, Export Entire Gradebook.",
  },
  CLASSROOM_DEDUCTION: {
    means: "Penalties and deductions have no place in GitHub Classroom and are left out.",
    fix: "Take them off by hand, or use another export.",
  },
  EXPORT_KEY_FORMULA: {
    means: "What tells a student begins like a formula, and a spreadsheet would compute it.",
    fix: "Correct it at the platform, or in the roster.",
  },
  EXPORT_NO_GRADE: {
    means: "A student has no grade, so there is no result.",
    fix: "Grade it, or enter a grade by hand.",
  },
  EXPORT_NO_ROW: {
    means: "A student with a grade has no row in the platform's file and is left out.",
    fix: "Export that file again if the student is in the course.",
  },
  EXPORT_TEMPLATE: {
    means: "The platform knows students by ids that only its own file has, and none is given.",
    fix: "Export the file from the platform and give it with --template.",
  },
  MOODLE_FEEDBACK: {
    means: "The worksheet has no column for feedback, so none is written.",
    fix: "Enable feedback comments in the assignment's settings.",
  },
  MOODLE_LOCKED: { means: "A grade is locked in Moodle, which will skip it.", fix: "Unlock it in the gradebook." },
  MOODLE_POINTS: {
    means: "Rubric and assignment in Moodle have different points.",
    fix: "Change one of the two, or ask for the grades to be rescaled.",
  },
  MOODLE_TEMPLATE: {
    means: "The file is no grading worksheet of Moodle.",
    fix: "In Moodle: the assignment, Submissions, Download grading worksheet.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ExportFindingCode = keyof typeof exportFindingCodes;
