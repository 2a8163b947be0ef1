/** One shape for all errors (RFC 9457), with a stable code and advice. */
import { z } from "zod";
import { named } from "./named.ts";

/** Code, HTTP status, title. Codes never change their meaning. */
export const problemCodes = {
  BAD_REQUEST: [400, "The request cannot be understood"],
  INVALID: [400, "The request does not fit its schema"],
  UNAUTHENTICATED: [401, "A key or a login is needed"],
  LOGIN_REFUSED: [401, "The login was refused"],
  FORBIDDEN: [403, "The role or the key does not allow this"],
  CSRF: [403, "The request does not come from our own page"],
  NOT_FOUND: [404, "There is no such thing"],
  METHOD_NOT_ALLOWED: [405, "There is no such method here"],
  TIMED_OUT: [408, "The request did not come whole in time"],
  RUN_OPEN: [409, "The run has not ended"],
  RUN_ENDED: [409, "The run has ended"],
  RUN_NOT_ROOT: [409, "The run was called by another one"],
  RUN_OF_CLASS: [409, "The run grades a work of a class"],
  RUN_UNCHANGED: [409, "There was nothing to change"],
  NO_FORK: [409, "The run cannot be taken up there"],
  GRADE_REFUSED: [409, "What was said of the grade cannot be taken"],
  RUBRIC_VOIDS: [409, "The changed rubric would void grades"],
  ASK_CLOSED: [409, "The question is closed"],
  IDEMPOTENCY_KEY_REUSED: [409, "The key was used for another request"],
  NAME_TAKEN: [409, "The name is taken"],
  NO_PASSWORD: [409, "Only a user has a password"],
  LAST_OWNER: [409, "A tenant keeps at least one owner"],
  LAST_OPS: [409, "An installation keeps at least one operator"],
  GRADE_CHANGED: [412, "The grade has changed since it was read"],
  TOO_LARGE: [413, "There is too much of it"],
  UNSUPPORTED_TYPE: [415, "The content type is not taken here"],
  DEFINITION_INVALID: [422, "The definition has errors"],
  BATCH_REFUSED: [422, "The batch cannot be taken as it is"],
  START_REFUSED: [422, "The run was not given what it needs"],
  SUBMISSION_REFUSED: [422, "The submission is not taken"],
  GRADE_INVALID: [422, "The grade cannot have this value"],
  GRADE_UNSEEN: [428, "Another person's mark would be replaced unseen"],
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
    path: z.string().describe("where: a field of the request, or a file of the definition"),
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
      .describe("names exactly what `errors` lists; a request that sends it back confirms that, and nothing else"),
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
