import type { Grading } from "./program.ts";

/**
 * The default settings for checking a model's verdict in a GRADE. Any finding that needs a person goes to a person. Similarity to another
 * submission is for people to judge, and casts no doubt on the grade.
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
