/** What whoever asks a model about a student's work must know of the class, and the model must not. */
import type { Grade } from "./grade.ts";
import type { Person } from "./scrub.ts";

export interface WorkFacts {
  /** Everybody in the class. */
  readonly people: readonly Person[];
  /** What each is called instead, by key. */
  readonly pseudonyms: ReadonlyMap<string, string>;
  /** Keys of those whose work it is. */
  readonly own: readonly string[];
  readonly consent: AiConsent;
  /** In which feedback is written; null: the rubric's. */
  readonly language: string | null;
  /** Only one criterion is judged anew, beside marks that stand; absent: the whole work is. */
  readonly regrade?: { readonly criterion: string; readonly standing: Grade };
}

/** none: no model sees the work; local: only one that runs here; any: whichever the class uses. */
export type AiConsent = "none" | "local" | "any";
