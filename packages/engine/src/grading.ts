import type { Grading } from "./program.ts";

/**
 * How a GRADE makes sure of what a model says where the workflow does not say. Whatever wants a person's eye goes to one; a work that is
 * like another is for people to look at, and no doubt about its grade.
 */
export const usualGrading: Grading = {
  twice: "always",
  panel: [],
  review: {
    confidence: 0.5,
    pass: null,
    borderline: 0.05,
    flags: ["injection", "forged results", "low confidence", "borderline", "disagreement", "tampering"],
  },
};
