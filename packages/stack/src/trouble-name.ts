/** Which trouble an error is: two errors with the same name are one trouble, however often and wherever they are met. */
import { describeError } from "./tell-error.ts";

export interface TroubleName {
  /** Whose trouble it is. */
  readonly component: string;
  /** null: the error has none. */
  readonly code: string | null;
  /** Equal for one trouble. */
  readonly key: string;
  /** No known trouble of a server: where it happened is needed. */
  readonly defect: boolean;
}

/** By the beginning of the code. */
const components: readonly (readonly [RegExp, string])[] = [
  [/^STORE_BUCKET_/, "bucket"],
  [/^STORE_/, "database"],
  [/^QUEUE_/, "queue"],
  [/^SANDBOX_/, "sandbox"],
  [/^TELEMETRY_/, "telemetry"],
];
/** Its defects differ by their words. */
const defects = /_BUG$/;

/** `message`: what the process was doing. */
export function nameTrouble(error: unknown, message: string): TroubleName {
  const { code, message: why } = describeError(error);
  const component = components.find(([beginning]) => code !== null && beginning.test(code))?.[1] ?? "process";
  const known = code !== null && component !== "process" && !defects.test(code);
  return { component, code, key: known ? code : `${code} ${message} ${withoutNumbers(why)}`, defect: !known };
}

/** Without what differs from one time to the next: ids, ports, times. */
function withoutNumbers(text: string): string {
  return text.slice(0, 200).replaceAll(/[0-9a-f]{8}[0-9a-f-]*|\d+/g, "#");
}
