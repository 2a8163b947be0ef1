/**
 * Implements `--where`: selects submissions by conditions that must all hold. Pure.
 *
 *   outcome=graded|ungradable|grader-error|needs-human|waiting   flag=injection   total<5   criterion.names>=3   student=ada
 *   late=yes   released=no   rubric=old
 *
 * W1  A value that a condition does not accept is an error that lists the accepted values. It never selects the opposite submissions.
 * W2  A student or criterion that the class does not have is an error, too: it would select no submission, or with != all of them.
 */
import { flagKinds, formatPoints, readPoints } from "@markmill/grading";
import type { BatchWork } from "@markmill/store";
import { UsageError } from "./command.ts";

export interface Condition {
  readonly what: string;
  readonly how: "=" | "!=" | "<" | "<=" | ">" | ">=";
  readonly value: string;
}

const yesNo = ["yes", "no"];
const kinds: Readonly<Record<string, "points" | "any" | readonly string[]>> = {
  outcome: ["graded", "ungradable", "grader-error", "needs-human", "waiting"],
  flag: [...flagKinds.map((kind) => kind.replaceAll(" ", "-")), "any"],
  total: "points",
  points: "points",
  student: "any",
  late: yesNo,
  released: yesNo,
  rubric: ["old", "new"],
};
/** Other spellings of a value. */
const spellings: Readonly<Record<string, string>> = { true: "yes", y: "yes", false: "no", n: "no", current: "new" };
const CRITERION = "criterion.";

export function readConditions(written: readonly string[]): readonly Condition[] {
  return written.flatMap((text) => text.split(/[,\s]+(?:and\s+)?/i).filter((one) => one !== "")).map(readOne);
}

function readOne(text: string): Condition {
  const [, what = "", how = "", value = ""] = /^([A-Za-z][\w.-]*)(<=|>=|!=|=|<|>)(.+)$/.exec(text) ?? [];
  const kind = what.startsWith(CRITERION) ? "points" : Object.hasOwn(kinds, what) ? kinds[what] : undefined;
  if (kind === undefined) {
    throw new UsageError(
      `--where '${text}' is not a valid condition. Write conditions such as outcome=needs-human, flag=injection, total<5, criterion.ID>=3, student=KEY, late=yes, released=no, rubric=old.`,
    );
  }
  if (kind === "points") {
    if (readPoints(value) === null) {
      throw new UsageError(`--where '${text}': ${value} is not a number of points. Write a number such as 4 or 2.5.`);
    }
    return { what, how: how as Condition["how"], value: formatPoints(readPoints(value) ?? 0) };
  }
  if (how !== "=" && how !== "!=")
    throw new UsageError(`--where '${text}': ${what} can only be compared with = or !=.`);
  if (kind === "any") return { what, how, value };
  const word = value.toLowerCase();
  const meant = kind.includes(word) ? word : (spellings[word] ?? "");
  if (kind.includes(meant)) return { what, how, value: meant };
  throw new UsageError(`--where '${text}': ${value} is not a value of ${what}. Values: ${kind.join(", ")}.`);
}

/** See W2 in the file header. */
export function requireKnown(conditions: readonly Condition[], works: readonly BatchWork[]): void {
  const criteria = new Set(works.flatMap(({ grade }) => grade?.criteria.map(({ id }) => id) ?? []));
  const students = new Set(works.flatMap(namesOf));
  for (const { what, value } of conditions) {
    const id = what.startsWith(CRITERION) ? what.slice(CRITERION.length) : null;
    if (id !== null && criteria.size > 0 && !criteria.has(id)) {
      throw new UsageError(
        `--where '${what}': the rubric has no criterion ${id}. Values: ${[...criteria].join(", ")}.`,
      );
    }
    if (what === "student" && !students.has(value.toLowerCase())) {
      throw new UsageError(`--where '${what}=${value}': no student with this key has a submission in the class.`);
    }
  }
}

const namesOf = ({ by, key, pseudonym }: BatchWork) => [...by, key, pseudonym].map((name) => name.toLowerCase());

export function selects(conditions: readonly Condition[], work: BatchWork, definitionHash: string): boolean {
  return conditions.every((condition) => holds(condition, work, definitionHash));
}

function holds({ what, how, value }: Condition, work: BatchWork, definitionHash: string): boolean {
  const { grade } = work;
  const yes = (fact: boolean) => (how === "=") === (fact === (value === "yes"));
  const equal = (...facts: readonly string[]) => (how === "=") === facts.some((fact) => fact === value.toLowerCase());
  switch (what) {
    case "outcome":
      return equal(
        (grade?.outcome.is ?? (work.standing.is === "failed" ? "grader error" : "waiting")).replaceAll(" ", "-"),
      );
    case "flag":
      return equal(
        ...(grade?.flags ?? []).map(({ kind }) => kind.replaceAll(" ", "-")),
        ...((grade?.flags.length ?? 0) > 0 ? ["any"] : []),
      );
    case "student":
      return equal(...namesOf(work));
    case "late":
      return yes(work.lateness.is === "late");
    case "released":
      return yes(grade?.released != null);
    case "rubric":
      return (how === "=") === ((work.try?.definitionHash === definitionHash) === (value === "new"));
    case "total":
      return compare(grade?.total ?? null, how, Number(value));
    case "points":
      return compare(grade?.points ?? null, how, Number(value));
    default: {
      const found = grade?.criteria.find(({ id }) => id === what.slice(CRITERION.length));
      return compare(found?.is === "scored" ? found.points : null, how, Number(value));
    }
  }
}

/** A submission without a number matches no comparison. */
function compare(fact: number | null, how: Condition["how"], value: number): boolean {
  if (fact === null) return false;
  switch (how) {
    case "=":
      return fact === value;
    case "!=":
      return fact !== value;
    case "<":
      return fact < value;
    case "<=":
      return fact <= value;
    case ">":
      return fact > value;
    case ">=":
      return fact >= value;
  }
}
