/** Reads fields of JSON objects by name and type. Every mistake is a finding with its place, and reading continues. */
import type { Place } from "../../finding.ts";
import type { JsonValue } from "../../parse-json.ts";
import type { TaskCode, TaskReport } from "./task-codes.ts";

export type JsonObject = Extract<JsonValue, { is: "object" }>;

/** The current file: it converts offsets to places and defines whether the reader is strict. */
export interface Reading {
  readonly file: string;
  readonly report: TaskReport;
  readonly placeOf: (at: number) => Place;
  strict: boolean;
}

export function readingOf(file: string, text: string, report: TaskReport, strict: boolean): Reading {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  const placeOf = (at: number): Place => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: at - (starts[low] ?? 0) + 1 };
  };
  return { file, report, placeOf, strict };
}

/** Reports a warning, or an error in strict mode. */
export function doubt(reading: Reading, code: TaskCode, at: number, message: string, fix: string): void {
  const place = reading.placeOf(at);
  if (reading.strict) reading.report.error(code, place, message, fix);
  else reading.report.warn(code, place, message, fix);
}

export function wrong(reading: Reading, code: TaskCode, at: number, message: string, fix: string): void {
  reading.report.error(code, reading.placeOf(at), message, fix);
}

const typeNames = {
  object: "an object",
  array: "a list",
  string: "text",
  number: "a number",
  boolean: "true or false",
  null: "null",
} as const satisfies Record<JsonValue["is"], string>;

export interface Placed<Value> {
  readonly value: Value;
  readonly at: number;
}

export class Fields {
  readonly at: number;
  /** A name for the object in messages: `the task 'A'`. */
  readonly what: string;
  readonly #reading: Reading;
  readonly #members = new Map<string, { value: JsonValue; keyAt: number }>();
  readonly #asked = new Set<string>();

  constructor(object: JsonObject, what: string, reading: Reading) {
    this.at = object.at;
    this.what = what;
    this.#reading = reading;
    for (const { key, keyAt, value } of object.members) {
      if (!this.#members.has(key)) this.#members.set(key, { value, keyAt });
    }
  }

  /** null counts as absent. */
  get(name: string): JsonValue | undefined {
    this.#asked.add(name);
    const value = this.#members.get(name)?.value;
    return value?.is === "null" ? undefined : value;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The position of the field's name. */
  placeOf(name: string): number {
    return this.#members.get(name)?.keyAt ?? this.at;
  }

  missing(name: string, fix: string): void {
    wrong(this.#reading, "FIELD_MISSING", this.at, `${capital(this.what)} has no ${name}.`, fix);
  }

  #of<Is extends JsonValue["is"]>(name: string, is: Is): Extract<JsonValue, { is: Is }> | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (value.is === is) return value as Extract<JsonValue, { is: Is }>;
    const written = value.is === "number" ? ` Write "${value.written}" in quotes.` : "";
    const fix = is === "string" && written !== "" ? written.trim() : `Write ${typeNames[is]}.`;
    const message = `${name} of ${this.what} is ${typeNames[value.is]}, and ${typeNames[is]} is needed.`;
    wrong(this.#reading, "FIELD_TYPE", value.at, message, fix);
    return undefined;
  }

  text(name: string): Placed<string> | undefined {
    const found = this.#of(name, "string");
    return found === undefined ? undefined : { value: found.text, at: found.at };
  }

  needText(name: string, fix = `Add "${name}": "…".`): Placed<string> | undefined {
    if (!this.has(name)) this.missing(name, fix);
    return this.text(name);
  }

  flag(name: string): Placed<boolean> | undefined {
    const found = this.#of(name, "boolean");
    return found === undefined ? undefined : { value: found.value, at: found.at };
  }

  /** A whole number within bounds. */
  count(name: string, least: number, most: number): Placed<number> | undefined {
    const found = this.#of(name, "number");
    if (found === undefined) return undefined;
    const value = Number(found.written);
    if (Number.isInteger(value) && value >= least && value <= most) return { value, at: found.at };
    const message = `${name} of ${this.what} is ${found.written.slice(0, 40)}; it is a whole number from ${least} to ${most}.`;
    wrong(this.#reading, "FIELD_VALUE", found.at, message, "Correct it.");
    return undefined;
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Placed<Word> | undefined {
    const found = this.text(name);
    if (found === undefined) return undefined;
    const word = words.find((candidate) => candidate === found.value);
    if (word !== undefined) return { value: word, at: found.at };
    const near = this.#reading.report.didYouMean(found.value, words);
    const message = `${name} of ${this.what} is '${found.value.slice(0, 80)}', which is not a valid value.`;
    wrong(this.#reading, "FIELD_VALUE", found.at, message, `${near}Valid values: ${words.join(", ")}.`);
    return undefined;
  }

  object(name: string, what: string): Fields | undefined {
    const found = this.#of(name, "object");
    return found === undefined ? undefined : new Fields(found, what, this.#reading);
  }

  list(name: string): readonly JsonValue[] | undefined {
    return this.#of(name, "array")?.items;
  }

  /** Each object of a list of objects. */
  objects(name: string, what: (index: number) => string): readonly Fields[] {
    return (this.list(name) ?? []).flatMap((value, index) => {
      if (value.is === "object") return [new Fields(value, what(index), this.#reading)];
      const message = `${capital(what(index))} is ${typeNames[value.is]}, and an object is needed.`;
      wrong(this.#reading, "FIELD_TYPE", value.at, message, "Write an object in braces.");
      return [];
    });
  }

  members(): readonly { readonly name: string; readonly at: number; readonly value: JsonValue }[] {
    return Array.from(this.#members, ([name, { value, keyAt }]) => ({ name, at: keyAt, value }));
  }

  /** Reports the fields that were never read. */
  done(): void {
    for (const [name, { keyAt }] of this.#members) {
      if (this.#asked.has(name)) continue;
      const near = this.#reading.report.didYouMean(name, this.#asked);
      const message = `${capital(this.what)} has a field ${brief(name)}, which nothing reads.`;
      doubt(this.#reading, "FIELD_UNKNOWN", keyAt, message, `${near}Correct its name, or remove it.`);
    }
  }
}

/** Shortens a name of unknown length for a message. */
export function brief(name: string): string {
  return name.length > 80 ? `${name.slice(0, 79)}…` : name;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
