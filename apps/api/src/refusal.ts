import { makeProblem, type Problem, type ProblemCode, type ProblemFacts } from "@markmill/contract";

/** Thrown if a request is refused. It becomes the problem that it names. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: ProblemCode;
  readonly facts: ProblemFacts;
  /** Sent as Retry-After. */
  readonly retryAfterS: number | null;

  constructor(
    code: ProblemCode,
    facts: ProblemFacts = {},
    options: ErrorOptions & { readonly retryAfterS?: number } = {},
  ) {
    super(facts.detail ?? code, options);
    this.code = code;
    this.facts = facts;
    this.retryAfterS = options.retryAfterS ?? null;
  }

  toProblem(requestId: string): Problem {
    return makeProblem(this.code, this.facts, requestId);
  }
}

export function notFound(what: string): Refusal {
  return new Refusal("NOT_FOUND", {
    detail: `There is no ${what}.`,
    hint: "Check the id, and that your key belongs to the right tenant.",
  });
}
