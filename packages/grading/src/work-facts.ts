/** Facts about the class for the code that asks a model about a submission. The model must not receive them. */
import type { Grade } from "./grade.ts";
import type { Person } from "./scrub.ts";

export interface WorkFacts {
  /** Every student of the class. */
  readonly people: readonly Person[];
  /** Pseudonyms by student key. */
  readonly pseudonyms: ReadonlyMap<string, string>;
  /** Keys of the authors of the submission. */
  readonly own: readonly string[];
  readonly consent: AiConsent;
  /** The language of the feedback. null: the language of the rubric. */
  readonly language: string | null;
  /** Only one criterion is regraded, next to existing marks. Absent: the whole submission is graded. */
  readonly regrade?: { readonly criterion: string; readonly standing: Grade };
}

/** none: no model sees the submission; local: only a model that runs locally; any: the model that the class uses. */
export type AiConsent = "none" | "local" | "any";
