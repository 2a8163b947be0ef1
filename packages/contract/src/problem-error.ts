import type { ProblemError as Part, Problem, ProblemCode } from "./problem.ts";

/** Problems that the client itself detects. */
export const clientProblemCodes = {
  SERVER_UNREACHABLE: {
    means: "The server did not answer.",
    fix: "Check the address of the server, and that the server runs.",
  },
  SERVER_UNCLEAR: {
    means: "The answer does not come from a Markmill server.",
    fix: "Check the address, and any proxy between this machine and the server.",
  },
  NOT_OVER_HTTP: {
    means: "The command needs data that the server does not provide.",
    fix: "Run the command on the machine with the database, without MARKMILL_URL.",
  },
} as const satisfies Record<string, { readonly means: string; readonly fix: string }>;

/** The error that a client throws: the server's problem, or the reason why no answer came. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly problem: Problem;
  readonly code: ProblemCode | keyof typeof clientProblemCodes;
  readonly status: number;
  readonly hint: string | undefined;
  readonly errors: readonly Part[];

  constructor(problem: Problem, options: ErrorOptions = {}) {
    const parts = (problem.errors ?? []).slice(0, 20).map(({ path, line, message }) => {
      const place = line === undefined ? path : `${path}:${line}`;
      return `  ${place === "" ? "" : `${place}: `}${message}`;
    });
    super([problem.detail ?? problem.title, ...parts].join("\n"), options);
    this.problem = problem;
    this.code = problem.code as ApiProblem["code"];
    this.status = problem.status;
    this.hint = problem.hint;
    this.errors = problem.errors ?? [];
  }

  /** The same name as in the other errors of this program. */
  get fix(): string | undefined {
    return this.hint;
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
