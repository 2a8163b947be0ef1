/** What a work is judged by. The order of criteria is the teacher's; ids are theirs too, and stable. */
import { subtractPoints, sumPoints } from "./points.ts";

export interface Rubric {
  readonly criteria: readonly Criterion[];
}

export interface Criterion {
  readonly id: string;
  readonly title: string;
  /** The most there is to get; below zero: the most there is to lose. */
  readonly points: number;
  readonly scale: Scale;
  /** Points need a quotation from the work. comments: also one that stands in a comment. */
  readonly evidence: boolean | "comments";
  readonly source: Source;
  /** For whoever grades; never shown to students. */
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
  /** Tests whose names fit one of the patterns, `*` for anything. */
  { readonly is: "tests"; readonly patterns: readonly string[] } | { readonly is: "llm" } | { readonly is: "human" };

/** All that can be got; deductions take from it and add nothing. */
export function mostPoints({ criteria }: Rubric): number {
  return sumPoints(criteria.map(({ points }) => Math.max(0, points)));
}

/** Distance between two neighbouring marks, for "within one step". */
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
