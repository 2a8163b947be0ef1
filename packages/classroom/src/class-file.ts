/**
 * Reads `class.yaml`, the file that turns a folder into a class. Every key except the submissions is optional. Paths are relative to the
 * file's folder.
 */
import { duration, type Finding, money, type Place, Report, readAmount } from "@markmill/definition";
import { z } from "zod";
import { type AllowedPlace, readAllowedPlace } from "./allowed-place.ts";
import type { ClassFindingCode } from "./class-codes.ts";
import { readPositioned } from "./positioned-yaml.ts";
import { isTimeZone, readInstant, type TimeZone, zoneOfText } from "./read-instant.ts";
import { requiredPathProblem } from "./required-paths.ts";

export interface ClassFile {
  readonly name?: string;
  readonly workflow?: string;
  readonly roster?: string;
  /** Columns of the roster by header or number, for columns that are not recognised. */
  readonly columns: Readonly<Record<string, string | number>>;
  readonly submissions: string;
  /** Each student's submission is in a git repository. */
  readonly repositories?: Repositories;
  readonly layout: LayoutChoice;
  /** A pattern with named groups: student or group, and optionally attempt, time, file. */
  readonly match?: RegExp;
  /** Files without which a submission cannot be graded: paths from its top, or patterns (required-paths.ts). */
  readonly requires: readonly string[];
  /** Milliseconds since 1970. */
  readonly deadline?: number;
  /** Used for times without an offset from UTC. */
  readonly clock: ClassClock;
  readonly late: LatePolicy;
  readonly attempts: AttemptPolicy;
  readonly rubric?: string;
  readonly model?: string;
  /** Nanodollars. */
  readonly budget: { readonly class?: number; readonly student?: number };
  readonly concurrency?: number;
  readonly sandbox?: "docker" | "jail" | "none";
  readonly language?: string;
  readonly aiConsent: "none" | "local" | "any";
  /** Values for the workflow's parameters, the same for each run. */
  readonly params: Readonly<Record<string, string>>;
}

/** `from` names the source: the setting timezone, or else the offset of the deadline. If neither exists, UTC is assumed. */
export interface ClassClock {
  readonly zone: TimeZone;
  readonly from: "timezone" | "deadline" | "nothing";
}

interface Repositories {
  /** An address with {login}, {handle}, {id} or {key}, or `roster`. */
  readonly from: string;
  /** The places where credentials may be sent and files may be read for addresses of the roster. */
  readonly allow: readonly AllowedPlace[];
  /** The author of class.yaml may be a stranger, so no credentials of this machine are sent to the addresses it builds. */
  readonly withheld?: true;
}

export type LayoutChoice = "auto" | "canvas" | "moodle" | "gradescope" | "plain";
export type AttemptPolicy = "last" | "last-before-deadline" | "first" | "best";

export interface LatePolicy {
  readonly graceMs: number;
  /** A percentage of the points for each started day after the grace period, shown as a separate line. */
  readonly percentPerDay: number;
  readonly mostPercent: number;
}

const amount = (of: typeof duration) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const read = readAmount(of, String(value));
    if (read.ok) return read.value;
    context.addIssue({ code: "custom", message: read.problem });
    return z.NEVER;
  });

const instantExpected = "expected a day and time with a UTC offset, such as 2026-11-20T23:59:00+01:00";
/** Checked here, and converted once the time zone of the class is known. */
const instant = z.string().superRefine((text, context) => {
  const read = readInstant(text);
  if (read.is === "unreadable") context.addIssue({ code: "custom", message: `${read.why}; ${instantExpected}` });
});
const timezone = z.string().refine(isTimeZone, "expected a name from the time zone database, such as Europe/Berlin");

const pattern = z.string().transform((text, context) => {
  const problem = patternProblem(text);
  if (problem === null) return new RegExp(text, "u");
  context.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

const path = z.string().min(1);
const required = path.superRefine((written, context) => {
  const problem = requiredPathProblem(written);
  if (problem !== null) context.addIssue({ code: "custom", message: problem });
});
const late = z.strictObject({
  grace: amount(duration).optional(),
  percentPerDay: z.number().min(0).max(100).optional(),
  mostPercent: z.number().min(0).max(100).optional(),
});
const budget = z.strictObject({ class: amount(money).optional(), student: amount(money).optional() });
const columns = z.record(z.string(), z.union([z.string().min(1), z.int().min(1)]));

const addressesExpected =
  "expected an address such as https://host/course/{login}.git, with the {} after its host, or `roster` if the roster has a column with addresses; with allowed places: `{ from: roster, allow: [https://host/course/] }`";
/** Roster values may appear in the path only. They never choose the host. */
const addresses = z
  .string()
  .regex(/^(?:(?:https|ssh|file):\/\/[^/\s{}]*\/(?=\S*\{(?:login|handle|id|key)\})\S+|roster)$/, addressesExpected);
const allowed = z.string().transform((text, context) => {
  try {
    return readAllowedPlace(text);
  } catch (error) {
    const problem = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
    context.addIssue({ code: "custom", message: problem });
    return z.NEVER;
  }
});
const repositoriesKeys = { from: addresses, allow: z.array(allowed).default([]) };
const repositories = z.preprocess(
  (given) => (typeof given === "string" ? { from: given } : given),
  z.strictObject(repositoriesKeys),
);

const schema = z.strictObject({
  name: z.string().min(1).optional(),
  workflow: path.optional(),
  roster: path.optional(),
  columns: columns.optional(),
  submissions: path.optional(),
  repositories: repositories.optional(),
  layout: z.enum(["auto", "canvas", "moodle", "gradescope", "plain"]).optional(),
  match: pattern.optional(),
  requires: z.array(required).optional(),
  deadline: instant.optional(),
  timezone: timezone.optional(),
  late: late.optional(),
  attempts: z.enum(["last", "last-before-deadline", "first", "best"]).optional(),
  rubric: path.optional(),
  model: z.string().min(1).optional(),
  budget: z
    .union([budget, amount(money)], "expected an amount such as $5, or class: $5 and student: $0.20 below it")
    .optional(),
  concurrency: z.int().min(1).max(10_000).optional(),
  sandbox: z.enum(["docker", "jail", "none"]).optional(),
  language: z.string().min(1).optional(),
  aiConsent: z.enum(["none", "local", "any"]).optional(),
  params: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()], "expected a text, a number, true or false"))
    .optional(),
});

/** Returns null if there are errors among the findings. */
export function readClassFile(
  text: string,
  file: string,
): {
  readonly class: ClassFile | null;
  readonly findings: readonly Finding[];
  /** The place of a key, or the place where a missing key would be. */
  readonly placeOf: (key: string) => Place;
} {
  const report = new Report<ClassFindingCode>();
  const codes = { syntax: "CLASS_YAML", key: "CLASS_KEY", value: "CLASS_VALUE" } as const;
  const read = readPositioned(text.replace(/^\ufeff/, ""), file, schema, knownKeys, codes, report);
  if (read === null) return { class: null, findings: report.findings, placeOf: () => ({ file, line: 1, column: 1 }) };
  const { data, placeOf } = read;
  if (data.submissions === undefined && data.repositories === undefined) {
    report.error(
      "CLASS_SUBMISSIONS",
      { file, line: 1, column: 1 },
      "class.yaml does not name the submissions.",
      "Add a line such as `submissions: submissions` with a folder or an export, relative to the folder of this file. Or add `repositories: roster`.",
    );
  }
  const clock: ClassClock =
    data.timezone !== undefined
      ? { zone: data.timezone, from: "timezone" }
      : { zone: zoneOfText(data.deadline ?? "") ?? "UTC", from: data.deadline === undefined ? "nothing" : "deadline" };
  const due = data.deadline === undefined ? null : readInstant(data.deadline, clock.zone);
  const deadline = due?.is === "read" ? due.at : undefined;
  if (due?.is === "read" && !due.zoned && data.timezone === undefined) {
    report.error(
      "CLASS_VALUE",
      placeOf(["deadline"]),
      "deadline: the time has no UTC offset, and the class has no timezone.",
      "Write it as 2026-11-20T23:59:00+01:00, or add a line such as `timezone: Europe/Berlin`.",
    );
  }
  if (data.attempts === "last-before-deadline" && deadline === undefined) {
    report.error(
      "CLASS_DEADLINE",
      placeOf(["attempts"]),
      "attempts counts the last submission before the deadline, but the class has no deadline.",
      "Add a deadline, or write `attempts: last`.",
    );
  }
  const place = (key: string) => placeOf([key]);
  if (report.hasErrors) return { class: null, findings: report.findings, placeOf: place };
  const money = typeof data.budget === "number" ? { class: data.budget } : (data.budget ?? {});
  const found = {
    ...given({
      name: data.name,
      workflow: data.workflow,
      roster: data.roster,
      repositories: data.repositories,
      match: data.match,
      deadline,
      rubric: data.rubric,
      model: data.model,
      concurrency: data.concurrency,
      sandbox: data.sandbox,
      language: data.language,
    }),
    clock,
    columns: data.columns ?? {},
    submissions: data.submissions ?? "",
    requires: data.requires ?? [],
    layout: data.layout ?? ("auto" as const),
    late: {
      graceMs: data.late?.grace ?? 0,
      percentPerDay: data.late?.percentPerDay ?? 0,
      mostPercent: data.late?.mostPercent ?? 100,
    },
    attempts: data.attempts ?? ("last" as const),
    budget: given(money),
    aiConsent: data.aiConsent ?? ("any" as const),
    params: Object.fromEntries(Object.entries(data.params ?? {}).map(([name, value]) => [name, String(value)])),
  };
  return { class: found, findings: report.findings, placeOf: place };
}

function knownKeys(at: readonly PropertyKey[]): readonly string[] {
  if (at[0] === "repositories") return Object.keys(repositoriesKeys);
  if (at[0] === "late") return Object.keys(late.shape);
  if (at[0] === "budget") return Object.keys(budget.shape);
  return Object.keys(schema.shape);
}

function patternProblem(text: string): string | null {
  if (text.length > 300) return "the pattern is longer than 300 characters";
  try {
    new RegExp(text, "u");
  } catch (error) {
    return `not a valid pattern (${error instanceof Error ? error.message : String(error)})`;
  }
  return /\(\?<(?:student|group)>/.test(text)
    ? null
    : "the pattern has no group called student or group, such as (?<student>[a-z]+)";
}

export type Given<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Removes keys whose value is undefined. */
export function given<T extends object>(record: T): Given<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Given<T>;
}
