import type { Criterion, Rubric } from "./rubric.ts";

/** Creates a criterion of any kind and source. */
export const criterion = (given: Partial<Criterion> & { readonly id: string }): Criterion => ({
  title: given.id,
  points: 2,
  scale: { is: "points", step: 1 },
  evidence: true,
  source: { is: "llm" },
  guidance: "",
  ...given,
});

export const sampleRubric: Rubric = {
  criteria: [
    criterion({
      id: "tests",
      points: 6,
      source: { is: "tests", patterns: ["*"] },
      evidence: false,
      scale: { is: "points", step: 0.5 },
    }),
    criterion({
      id: "names",
      scale: {
        is: "levels",
        levels: [
          { name: "poor", points: 0 },
          { name: "fair", points: 1 },
          { name: "good", points: 2 },
        ],
      },
    }),
    criterion({ id: "pure", points: 1, scale: { is: "binary" } }),
    criterion({ id: "style", points: 3, evidence: false }),
  ],
};
