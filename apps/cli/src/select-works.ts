/**
 * `--where`: which works are meant, as conditions that all must hold. Pure.
 *
 *   outcome=graded|ungradable|grader-error|needs-human|waiting   flag=injection   total<5   criterion.names>=3   student=ada
 *   late=yes   released=no   rubric=old
 */
import type { BatchWork } from "@markmill/store";
import { UsageError } from "./command.ts";

export interface Condition {
  readonly what: string;
  readonly how: "=" | "!=" | "<" | "<=" | ">" | ">=";
  readonly value: string;
}

const known = ["outcome", "flag", "total", "points", "student", "late", "released", "rubric"];

export function readConditions(written: readonly string[]): readonly Condition[] {
  return written.flatMap((text) => text.split(/[,\s]+(?:and\s+)?/i).filter((one) => one !== "")).map(readOne);
}

function readOne(text: string): Condition {
  const [, what = "", how = "", value = ""] = /^([A-Za-z][\w.-]*)(<=|>=|!=|=|<|>)(.+)$/.exec(text) ?? [];
  if (!known.includes(what) && !what.startsWith("criterion.")) {
    throw new UsageError(
      `--where '${text}' is not understood. Write conditions such as outcome=needs-human, flag=injection, total<5, criterion.ID>=3, student=KEY, late=yes, released=no, rubric=old.`,
    );
  }
  const numeric = what === "total" || what === "points" || what.startsWith("criterion.");
  if (numeric && !Number.isFinite(Number(value))) throw new UsageError(`--where '${text}': ${value} is no number.`);
  if (!numeric && how !== "=" && how !== "!=") throw new UsageError(`--where '${text}': ${what} takes = or !=.`);
  return { what, how: how as Condition["how"], value };
}

export function selects(conditions: readonly Condition[], work: BatchWork, definitionHash: string): boolean {
  return conditions.every((condition) => holds(condition, work, definitionHash));
}

function holds({ what, how, value }: Condition, work: BatchWork, definitionHash: string): boolean {
  const { grade } = work;
  const yes = (fact: boolean) => (how === "=") === (fact === /^(?:yes|true|y)$/i.test(value));
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
      return equal(...work.by.map((key) => key.toLowerCase()), work.key.toLowerCase(), work.pseudonym.toLowerCase());
    case "late":
      return yes(work.lateness.is === "late");
    case "released":
      return yes(grade?.released != null);
    case "rubric":
      return (how === "=") === ((work.try?.definitionHash === definitionHash) === /^(?:new|current)$/i.test(value));
    case "total":
      return compare(grade?.total ?? null, how, Number(value));
    case "points":
      return compare(grade?.points ?? null, how, Number(value));
    default: {
      const found = grade?.criteria.find(({ id }) => id === what.slice("criterion.".length));
      return compare(found?.is === "scored" ? found.points : null, how, Number(value));
    }
  }
}

/** What has no number is in no band. */
function compare(fact: number | null, how: Condition["how"], value: number): boolean {
  if (fact === null) return false;
  switch (how) {
    case "=":
      return Math.abs(fact - value) < 1e-9;
    case "!=":
      return Math.abs(fact - value) >= 1e-9;
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
