/** One shape for all errors (RFC 9457), with a stable code and advice. */
import { z } from "zod";
import { named } from "./named.ts";

/** Code, HTTP status, title. Codes never change their meaning. */
export const problemCodes = {
  BAD_REQUEST: [400, "The request cannot be parsed"],
  INVALID: [400, "The request does not match its schema"],
  UNAUTHENTICATED: [401, "The request needs a key or a login"],
  LOGIN_REFUSED: [401, "The login was refused"],
  FORBIDDEN: [403, "The role or the key does not allow this request"],
  CSRF: [403, "The request comes from another website"],
  NOT_FOUND: [404, "The resource does not exist"],
  METHOD_NOT_ALLOWED: [405, "This address does not support the method"],
  TIMED_OUT: [408, "The request was not complete in time"],
  RUN_OPEN: [409, "The run has not ended"],
  RUN_ENDED: [409, "The run has ended"],
  RUN_NOT_ROOT: [409, "The run was called by another one"],
  RUN_OF_CLASS: [409, "The run grades a submission of a class"],
  RUN_UNCHANGED: [409, "The request changes nothing"],
  NO_FORK: [409, "The run cannot be retried from this node"],
  GRADE_REFUSED: [409, "The change of the grade is not possible now"],
  RUBRIC_VOIDS: [409, "The changed rubric would void grades"],
  ASK_CLOSED: [409, "The question is closed"],
  IDEMPOTENCY_KEY_REUSED: [409, "The idempotency key was used for another request"],
  NAME_TAKEN: [409, "The name is already used"],
  NO_PASSWORD: [409, "Only a user has a password"],
  LAST_OWNER: [409, "A tenant keeps at least one owner"],
  LAST_OPS: [409, "An installation keeps at least one operator"],
  GRADE_CHANGED: [412, "The grade has changed since it was read"],
  TOO_LARGE: [413, "The request is too large"],
  UNSUPPORTED_TYPE: [415, "The content type is not supported"],
  DEFINITION_INVALID: [422, "The definition has errors"],
  BATCH_REFUSED: [422, "The batch is invalid"],
  START_REFUSED: [422, "A parameter or submission of the run is missing"],
  SUBMISSION_REFUSED: [422, "The submission was refused"],
  GRADE_INVALID: [422, "The grade cannot have this value"],
  GRADE_UNSEEN: [428, "The request would replace another person's mark"],
  RATE_LIMITED: [429, "Too many requests"],
  HEADERS_TOO_LARGE: [431, "The headers are too long"],
  INTERNAL: [500, "A defect of Markmill"],
  UNAVAILABLE: [503, "The database does not answer"],
  OVERLOADED: [503, "The server is too busy"],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof problemCodes;

const problemError = named(
  "ProblemError",
  z.object({
    path: z.string().describe("the place: a field of the request, or a file of the definition"),
    message: z.string(),
    code: z.string().optional(),
    hint: z.string().optional(),
    severity: z.enum(["error", "warning"]).optional(),
    line: z.int().optional().describe("from 1"),
    column: z.int().optional().describe("from 1, in UTF-16 units"),
  }),
);
export type ProblemError = z.infer<typeof problemError>;

export const problem = named(
  "Problem",
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string().optional(),
    hint: z.string().optional(),
    instance: z.string().optional().describe("id of the request, for the log"),
    errors: z.array(problemError).optional(),
    confirm: z
      .string()
      .optional()
      .describe(
        "identifies exactly the changes in `errors`; a request that sends it back confirms these changes and no others",
      ),
  }),
);
export type Problem = z.infer<typeof problem>;

export interface ProblemFacts {
  readonly detail?: string;
  readonly hint?: string;
  readonly errors?: readonly ProblemError[];
  readonly confirm?: string;
}

export function makeProblem(code: ProblemCode, facts: ProblemFacts = {}, instance?: string): Problem {
  const [status, title] = problemCodes[code];
  return {
    type: `urn:markmill:problem:${code.toLowerCase().replaceAll("_", "-")}`,
    title,
    status,
    code,
    ...(facts.detail === undefined ? {} : { detail: facts.detail }),
    ...(facts.hint === undefined ? {} : { hint: facts.hint }),
    ...(instance === undefined ? {} : { instance }),
    ...(facts.errors === undefined ? {} : { errors: [...facts.errors] }),
    ...(facts.confirm === undefined ? {} : { confirm: facts.confirm }),
  };
}
