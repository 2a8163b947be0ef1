/** The result of performing an activity, before it becomes an event. */
import type { Failure, NextStep, Outcome, Trouble, Usage } from "@markmill/engine";

export type Performed =
  | { readonly did: "succeed"; readonly outcome: Outcome; readonly usage: Usage | null }
  | {
      readonly did: "fail";
      readonly failure: Failure;
      readonly next: NextStep;
      readonly retryAfterMs: number | null;
      readonly usage: Usage | null;
      /** Set for a failure with `park`. */
      readonly trouble?: Trouble;
    }
  /** Nothing to commit: a called run was started, or the work was given up because the run continued without it. */
  | { readonly did: "leave" }
  /** No work was done, and it may be done later. No attempt is used up. */
  | { readonly did: "postpone"; readonly ms: number };

export function done(outcome: Outcome, usage: Usage | null = null): Extract<Performed, { did: "succeed" }> {
  return { did: "succeed", outcome, usage };
}

export function failed(
  code: string,
  message: string,
  next: NextStep,
  more: { retryAfterMs?: number | undefined; usage?: Usage | null; trouble?: Trouble } = {},
): Extract<Performed, { did: "fail" }> {
  return {
    did: "fail",
    failure: { code, message },
    next,
    retryAfterMs: more.retryAfterMs ?? null,
    usage: more.usage ?? null,
    ...(more.trouble === undefined ? {} : { trouble: more.trouble }),
  };
}
