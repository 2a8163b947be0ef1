/** The only place that turns an error into a problem answer. An unexpected error reveals no internals to the client; the log has them. */
import { makeProblem, type Problem, type ProblemCode, type ProblemError } from "@markmill/contract";
import { SubmissionError } from "@markmill/grading/submission";
import { StoreError, type StoreErrorCode } from "@markmill/store";
import type { FastifyRequest } from "fastify";
import { ZodError } from "zod";
import { hungUp, hungUpStatus } from "./hung-up.ts";
import { Refusal } from "./refusal.ts";

const ofStore: Partial<Record<StoreErrorCode, ProblemCode>> = {
  STORE_UNREACHABLE: "UNAVAILABLE",
  STORE_BUSY: "UNAVAILABLE",
  STORE_FULL: "UNAVAILABLE",
  STORE_READ_ONLY: "UNAVAILABLE",
  STORE_READ_ONLY_SETTING: "UNAVAILABLE",
  STORE_REFUSED: "UNAVAILABLE",
  STORE_UNTRUSTED: "UNAVAILABLE",
  STORE_POOLER: "UNAVAILABLE",
  STORE_VERSION: "UNAVAILABLE",
  STORE_SERVER_FAULT: "UNAVAILABLE",
  STORE_SCHEMA_MISSING: "UNAVAILABLE",
  STORE_SCHEMA_NEWER: "UNAVAILABLE",
  STORE_BUCKET_REFUSED: "UNAVAILABLE",
  STORE_BUCKET_UNREACHABLE: "UNAVAILABLE",
  STORE_TOO_LARGE: "TOO_LARGE",
  STORE_NOT_FOUND: "NOT_FOUND",
  STORE_PAGE_KEY: "INVALID",
  STORE_NO_FORK: "NO_FORK",
  STORE_RUN_OPEN: "RUN_OPEN",
  STORE_RUN_CALLED: "RUN_NOT_ROOT",
  STORE_KEY_REUSED: "IDEMPOTENCY_KEY_REUSED",
  STORE_BATCH_REFUSED: "BATCH_REFUSED",
  STORE_GRADE_INVALID: "GRADE_INVALID",
  STORE_GRADE_REFUSED: "GRADE_REFUSED",
  STORE_GRADE_CHANGED: "GRADE_CHANGED",
  STORE_GRADE_UNSEEN: "GRADE_UNSEEN",
  STORE_LAST_OWNER: "LAST_OWNER",
  STORE_LAST_OPS: "LAST_OPS",
};

/** Errors of Fastify and Node: by their code, or else by their status. */
const ofServer: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "UNSUPPORTED_TYPE",
  FST_ERR_CTP_BODY_TOO_LARGE: "TOO_LARGE",
  FST_ERR_NOT_FOUND: "NOT_FOUND",
  FST_ERR_MAX_PARAM_LENGTH: "NOT_FOUND",
  FST_ERR_BAD_URL: "BAD_REQUEST",
};
const byStatus: Readonly<Record<number, ProblemCode>> = {
  400: "BAD_REQUEST",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  408: "BAD_REQUEST",
  413: "TOO_LARGE",
  415: "UNSUPPORTED_TYPE",
  429: "RATE_LIMITED",
  431: "HEADERS_TOO_LARGE",
  503: "OVERLOADED",
};

/** The status for the audit log. */
export function statusOf(error: unknown, request: FastifyRequest): number {
  return hungUp(error, request) ? hungUpStatus : problemOf(error, request.id).status;
}

export function problemOf(error: unknown, requestId: string): Problem {
  if (error instanceof Refusal) return error.toProblem(requestId);
  if (error instanceof ZodError) return makeProblem("INVALID", { errors: errorsOf(error) }, requestId);
  if (error instanceof SubmissionError) {
    const { code, message, fix } = error;
    const errors = [{ path: "", message, code, hint: fix }];
    return makeProblem("SUBMISSION_REFUSED", { detail: message, hint: fix, errors }, requestId);
  }
  if (error instanceof StoreError) {
    const code = ofStore[error.code];
    if (code === undefined) return internal(requestId);
    // Clients must not see messages of the database server.
    if (code === "UNAVAILABLE") return makeProblem(code, { hint: "Try again in a moment." }, requestId);
    return makeProblem(code, { detail: error.message, hint: error.fix }, requestId);
  }
  const { code: named, statusCode } = error as { readonly code?: unknown; readonly statusCode?: unknown };
  const known = typeof named === "string" ? ofServer[named] : undefined;
  const code = known ?? (typeof statusCode === "number" ? byStatus[statusCode] : undefined);
  if (code === undefined) return internal(requestId);
  const detail = error instanceof Error ? error.message : undefined;
  return makeProblem(code, detail === undefined ? {} : { detail }, requestId);
}

export function errorsOf(error: ZodError, place = ""): ProblemError[] {
  return error.issues.slice(0, 50).map(({ path, message }) => ({
    path: [place, ...path.map(String)].filter((part) => part !== "").join("."),
    message,
  }));
}

function internal(requestId: string): Problem {
  return makeProblem(
    "INTERNAL",
    { hint: "This is a defect in Markmill. Please report it with the id of the request, which is also in the log." },
    requestId,
  );
}
