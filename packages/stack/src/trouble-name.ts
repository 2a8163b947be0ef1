/** Names the trouble behind an error. Two errors with the same name are one trouble, however often and wherever they occur. */
import { describeError } from "./tell-error.ts";

export interface TroubleName {
  /** The component that has the trouble. */
  readonly component: string;
  /** null: the error has no code. */
  readonly code: string | null;
  /** Errors of one trouble have the same key. */
  readonly key: string;
  /** Not a known trouble of a server, so the place where it happened is needed. */
  readonly defect: boolean;
}

/** Finds the component by the beginning of the code. */
const components: readonly (readonly [RegExp, string])[] = [
  [/^STORE_BUCKET_/, "bucket"],
  [/^STORE_/, "database"],
  [/^QUEUE_/, "queue"],
  [/^SANDBOX_/, "sandbox"],
  [/^TELEMETRY_/, "telemetry"],
];
/** Errors with such a code are distinguished by their text. */
const defects = /_BUG$/;

/** `message` states what the process was doing. */
export function nameTrouble(error: unknown, message: string): TroubleName {
  const { code, message: why } = describeError(error);
  const component = components.find(([beginning]) => code !== null && beginning.test(code))?.[1] ?? "process";
  const known = code !== null && component !== "process" && !defects.test(code);
  return { component, code, key: known ? code : `${code} ${message} ${withoutNumbers(why)}`, defect: !known };
}

/** Removes the parts that differ each time: ids, ports, times. */
function withoutNumbers(text: string): string {
  return text.slice(0, 200).replaceAll(/[0-9a-f]{8}[0-9a-f-]*|\d+/g, "#");
}
