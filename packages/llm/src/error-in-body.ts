/** Finds the error in a reply body, in any of the forms that servers use, with the server's own message. */
import { isRecord } from "@markmill/base/json";

export interface BodyError {
  readonly message: string;
  /** The HTTP status, if the body names one. */
  readonly status?: number;
  readonly code?: string;
  readonly type?: string;
}

/** null: the body contains no error. An empty `error` beside an answer does not count. */
export function errorInBody(body: unknown): BodyError | null {
  if (Array.isArray(body)) return body.length > 0 && body.length < 3 ? errorInBody(body[0]) : null;
  if (!isRecord(body)) return null;
  const { error, errors, detail, fault } = body;
  const inner = [error, Array.isArray(errors) ? errors[0] : errors, fault].find(says);
  if (inner !== undefined) return describe(inner, body);
  // The remaining forms are whole bodies. An answer has other fields besides a message.
  const words = textOf(body.message) || textOf(body.Message) || textOf(body.msg) || detailOf(detail);
  return words === "" ? null : describe({ ...body, message: words }, body);
}

/** Whether a value of `error` describes an error at all. */
function says(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return isRecord(value) && Object.keys(value).length > 0;
}

function describe(error: unknown, body: Readonly<Record<string, unknown>>): BodyError {
  if (!isRecord(error)) return withStatus({ message: String(error) }, body.code ?? body.status);
  const message =
    textOf(error.message) || textOf(error.msg) || textOf(error.faultstring) || textOf(error.detail) || firstOf(error);
  const label = textOf(error.status);
  const [code, type] = [textOf(error.code) || label, textOf(error.type)];
  const told = { message, ...(code === "" ? {} : { code }), ...(type === "" ? {} : { type }) };
  return withStatus(told, error.code ?? error.status ?? error.status_code);
}

function withStatus(told: BodyError, given: unknown): BodyError {
  const status = Number(given);
  return Number.isInteger(status) && status >= 400 && status < 600 ? { ...told, status } : told;
}

/** FastAPI reports several errors at once. */
function detailOf(detail: unknown): string {
  if (!Array.isArray(detail)) return textOf(detail);
  return detail
    .map((one) => (isRecord(one) ? textOf(one.msg) : textOf(one)))
    .filter((text) => text !== "")
    .join("; ");
}

function firstOf(value: object): string {
  return JSON.stringify(value).slice(0, 500);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}
