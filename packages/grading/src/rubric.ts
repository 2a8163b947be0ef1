/** The criteria by which a submission is graded. The teacher chooses their order and their ids. The ids are stable. */
import { subtractPoints, sumPoints } from "./points.ts";

export interface Rubric {
  readonly criteria: readonly Criterion[];
}

export interface Criterion {
  readonly id: string;
  readonly title: string;
  /** The maximum points. Below zero: the maximum deduction. */
  readonly points: number;
  readonly scale: Scale;
  /** Points need a quotation from the submission. comments: the quotation may be from a comment. */
  readonly evidence: boolean | "comments";
  readonly source: Source;
  /** A text for graders. Students never see it. */
  readonly guidance: string;
}

export type Scale =
  | { readonly is: "binary" }
  | { readonly is: "levels"; readonly levels: readonly Level[] }
  /** Any multiple of the step. */
  | { readonly is: "points"; readonly step: number };

export interface Level {
  readonly name: string;
  readonly points: number;
}

export type Source =
  /** The criterion is graded by tests whose names match one of the patterns. `*` matches any text. */
  { readonly is: "tests"; readonly patterns: readonly string[] } | { readonly is: "llm" } | { readonly is: "human" };

/** The maximum total. Deductions count as 0 here, because they can only reduce a grade. */
export function mostPoints({ criteria }: Rubric): number {
  return sumPoints(criteria.map(({ points }) => Math.max(0, points)));
}

/** The distance between two neighbouring marks. It defines "within one step". */
export function stepOf({ points, scale }: Criterion): number {
  switch (scale.is) {
    case "binary":
      return Math.abs(points);
    case "points":
      return scale.step;
    case "levels": {
      const marks = scale.levels.map((level) => level.points).sort((one, other) => one - other);
      return Math.max(...marks.slice(1).map((mark, index) => subtractPoints(mark, marks[index] ?? 0)));
    }
  }
}
