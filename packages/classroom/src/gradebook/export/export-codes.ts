/** Lists the errors and notes of an export of grades. */
export const exportFindingCodes = {
  CANVAS_ASSIGNMENT: {
    means: "The gradebook has no assignment with this name, or several.",
    fix: "Name the assignment by its title or number.",
  },
  CANVAS_EXCUSED: {
    means: "A student is excused in Canvas. The row does not change.",
    fix: "Remove the excuse in Canvas if the grade should count.",
  },
  CANVAS_POINTS: {
    means: "The rubric and the assignment in Canvas have different maximum points.",
    fix: "Change one of the two, or scale the grades to the assignment's points with --rescale.",
  },
  CANVAS_TEMPLATE: {
    means: "The file is not a gradebook exported from Canvas.",
    fix: "In Canvas: Grades, Export, Export Entire Gradebook.",
  },
  CLASSROOM_DEDUCTION: {
    means: "A grade has a penalty or a deduction, which GitHub Classroom cannot show. The export skips this student.",
    fix: "Enter this grade by hand, or use another export.",
  },
  EXPORT_KEY_FORMULA: {
    means:
      "A key or name of a student starts like a formula. A spreadsheet would run it, so the export skips this row.",
    fix: "Correct the key or name in the platform or in the roster.",
  },
  EXPORT_MATCH_KEY: {
    means: "A row has the name of a student, but another id, login or e-mail address. The row does not change.",
    fix: "If both are the same person, copy the platform's key into the roster.",
  },
  EXPORT_MATCH_NAME: {
    means: "A row has a key of a student, but another name. The row does not change.",
    fix: "Correct the key or the name in the roster or in the platform.",
  },
  EXPORT_MATCH_SEVERAL: {
    means: "A row matches several students, or a student matches several rows. These rows do not change.",
    fix: "Correct the keys in the roster or in the platform.",
  },
  EXPORT_NO_GRADE: {
    means: "A student has no grade, so no result is written.",
    fix: "Grade the submission, or set the points by hand.",
  },
  EXPORT_NO_ROW: {
    means: "A student with a grade has no row in the platform's file. The export skips the student.",
    fix: "If the student is in the course, export the platform's file again.",
  },
  EXPORT_RESCALE: {
    means: "Grades cannot be rescaled to or from a maximum that is 0, empty or not a number.",
    fix: "Give the rubric and the assignment a maximum above 0, or export without --rescale.",
  },
  EXPORT_TEMPLATE: {
    means:
      "The import needs the platform's ids of students. Only the platform's own file contains them, and no file was given.",
    fix: "Export the file from the platform and pass it with --template.",
  },
  MOODLE_FEEDBACK: {
    means: "The worksheet has no column for feedback, so no feedback is written.",
    fix: "Enable feedback comments in the assignment's settings.",
  },
  MOODLE_LOCKED: {
    means: "A grade is locked in Moodle. The row does not change.",
    fix: "Unlock the grade in Moodle's gradebook, download the worksheet again and export again.",
  },
  MOODLE_POINTS: {
    means: "The rubric and the assignment in Moodle have different maximum points.",
    fix: "Change one of the two, or scale the grades to the assignment's points with --rescale.",
  },
  MOODLE_TEMPLATE: {
    means: "The file is not a grading worksheet from Moodle.",
    fix: "In Moodle: the assignment, Submissions, Download grading worksheet.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

export type ExportFindingCode = keyof typeof exportFindingCodes;
