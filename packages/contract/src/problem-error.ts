import type { ProblemError as Part, Problem, ProblemCode } from "./problem.ts";

/** What a client throws: the server's problem, or what kept it from answering. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly problem: Problem;
  /** SERVER_UNREACHABLE: no answer came. SERVER_UNCLEAR: an answer that is not ours. */
  readonly code: ProblemCode | "SERVER_UNREACHABLE" | "SERVER_UNCLEAR";
  readonly status: number;
  readonly hint: string | undefined;
  readonly errors: readonly Part[];

  constructor(problem: Problem, options: ErrorOptions = {}) {
    super(problem.detail ?? problem.title, options);
    this.problem = problem;
    this.code = problem.code as ApiProblem["code"];
    this.status = problem.status;
    this.hint = problem.hint;
    this.errors = problem.errors ?? [];
  }

  /** The same request may succeed later. */
  get passes(): boolean {
    return (
      this.code === "SERVER_UNREACHABLE" ||
      this.status === 429 ||
      this.status === 502 ||
      this.status === 503 ||
      this.status === 504
    );
  }
}
