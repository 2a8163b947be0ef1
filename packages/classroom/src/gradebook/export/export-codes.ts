/** Lists the errors and notes of an export of grades. */
export const exportFindingCodes = {
  CANVAS_ASSIGNMENT: {
    means: "The gradebook has no such assignment, or more than one.",
    fix: "Name it by its title or number.",
  },
  CANVAS_EXCUSED: {
    means: "A student is excused in Canvas. The row stays as it is.",
    fix: "Remove the excuse in Canvas if the grade is to count.",
  },
  CANVAS_POINTS: {
    means: "Rubric and assignment in Canvas have different points.",
    fix: "Change one of the two, or bring the grades to the assignment's points with --rescale.",
  },
  CANVAS_TEMPLATE: {
    means: "The file is no gradebook exported from Canvas.",
    fix: "In Canvas: Grades, Export, Export Entire Gradebook.",
  },
  CLASSROOM_DEDUCTION: {
    means: "A grade has a penalty or a deduction, which GitHub Classroom cannot show. This student is left out.",
    fix: "Enter this grade by hand, or use another export.",
  },
  EXPORT_KEY_FORMULA: {
    means: "A key or name of a student begins like a formula. A spreadsheet would compute it, so this row is left out.",
    fix: "Correct it at the platform, or in the roster.",
  },
  EXPORT_MATCH_KEY: {
    means: "A row has the name of a student, but another id, login or e-mail address. It stays as it is.",
    fix: "Give the student the platform's key in the roster if they are the same person.",
  },
  EXPORT_MATCH_NAME: {
    means: "A row has a key of a student, but another name. It stays as it is.",
    fix: "Correct the key or the name in the roster or at the platform.",
  },
  EXPORT_MATCH_SEVERAL: {
    means: "A row may be of several students, or a student may be several rows. Those rows stay as they are.",
    fix: "Correct the keys in the roster or at the platform.",
  },
  EXPORT_NO_GRADE: {
    means: "A student has no grade, so there is no result.",
    fix: "Grade it, or enter a grade by hand.",
  },
  EXPORT_NO_ROW: {
    means: "A student with a grade has no row in the platform's file and is left out.",
    fix: "Export that file again if the student is in the course.",
  },
  EXPORT_RESCALE: {
    means: "Grades cannot be rescaled to or from a maximum that is 0, empty, or no number.",
    fix: "Give rubric and assignment a maximum above 0, or export without --rescale.",
  },
  EXPORT_TEMPLATE: {
    means: "The platform knows students by ids that only its own file has, and none is given.",
    fix: "Export the file from the platform and give it with --template.",
  },
  MOODLE_FEEDBACK: {
    means: "The worksheet has no column for feedback, so none is written.",
    fix: "Enable feedback comments in the assignment's settings.",
  },
  MOODLE_LOCKED: {
    means: "A grade is locked in Moodle, so its row stays as it is.",
    fix: "Unlock it in Moodle's gradebook, download the worksheet again and export again.",
  },
  MOODLE_POINTS: {
    means: "Rubric and assignment in Moodle have different points.",
    fix: "Change one of the two, or bring the grades to the assignment's points with --rescale.",
  },
  MOODLE_TEMPLATE: {
    means: "The file is no grading worksheet of Moodle.",
    fix: "In Moodle: the assignment, Submissions, Download grading worksheet.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ExportFindingCode = keyof typeof exportFindingCodes;
