/**
 * Groups files into submissions by their owners. The owner of a submission is the set of its people; the name of a group is only a label.
 * Pure.
 *
 * O1  Two pairs from one group are two owners. A group that submits as a whole is the set of its members.
 * O2  Loose files of one owner are one submission, except versions of one file (`ada.py`, `ada (2).py`): those are attempts.
 * O3  Loose files beside one folder or one archive of the same owner belong to that submission.
 */
import { plainName } from "@markmill/grading";
import { type Dated, markedNumber, numberingOrder, stemOf } from "./attempt-order.ts";
import type { Work } from "./layout.ts";
import type { Member } from "./member.ts";
import { readInstant } from "./read-instant.ts";

export interface Placed {
  readonly work: Work;
  readonly by: readonly Member[];
  readonly group: string | null;
}

export interface Attempt extends Placed, Dated {
  /** The owner's name. It does not depend on the order of the files. */
  readonly owner: string;
  /** From 1, the oldest first. */
  readonly number: number;
}

const separator = "+";
const longestOwner = 200;

/** All attempts, owner by owner. */
export function gatherWorks(placed: readonly Placed[]): readonly Attempt[] {
  const owners = new Map<string, Placed[]>();
  for (const one of placed) {
    const people = JSON.stringify(one.by.map(({ key }) => key).sort());
    owners.set(people, [...(owners.get(people) ?? []), one]);
  }
  const taken = new Set<string>();
  return [...owners].flatMap(([people, all]) => {
    const owner = freeOwner(ownerOf(JSON.parse(people) as string[]), taken);
    const group = all.find((one) => one.group !== null)?.group ?? null;
    return mergeLoose(all)
      .map((one) => ({
        ...one,
        owner,
        group,
        label: one.work.label,
        attempt: one.work.attempt,
        instant: ownInstant(one.work),
      }))
      .sort(numberingOrder)
      .map((one, index) => ({ ...one, number: index + 1 }));
  });
}

/** Uses only the time of the submission itself. A time in the roster applies to all submissions of a student. */
function ownInstant({ submittedAt }: Work): number | null {
  const read = submittedAt === null ? null : readInstant(submittedAt);
  return read?.is === "read" ? read.at : null;
}

function ownerOf(keys: readonly string[]): string {
  const joint = keys.join(separator);
  if (joint.length <= longestOwner) return joint;
  const [first = ""] = keys;
  return `${first.slice(0, longestOwner)}${separator}${keys.length - 1} more`;
}

/** A student's key can contain the separator. Owners must still be distinct. */
function freeOwner(wanted: string, taken: Set<string>): string {
  let owner = wanted;
  for (let count = 2; taken.has(owner); count += 1) owner = `${wanted} (${count})`;
  taken.add(owner);
  return owner;
}

function mergeLoose(all: readonly Placed[]): readonly Placed[] {
  const loose = all.filter(({ work }) => isLoose(work));
  const whole = all.filter(({ work }) => !isLoose(work));
  const [first] = loose;
  if (first === undefined || (whole.length === 0 && areVersions(loose))) return all;
  const pieces = loose.flatMap(({ work }) => work.pieces);
  const [only, ...more] = whole;
  if (only !== undefined && more.length === 0) return [{ ...only, work: { ...only.work, beside: pieces } }];
  return [...whole, { ...first, work: { ...first.work, pieces } }];
}

function isLoose({ says, pieces, attempt, submittedAt }: Work): boolean {
  if ((says.by !== "name" && says.by !== "pattern") || attempt !== null || submittedAt !== null) return false;
  return pieces.every(({ as }) => as !== null && !/\.(?:zip|tar|tar\.gz|tgz)$/i.test(as));
}

/** See O2 in the file header. */
function areVersions(loose: readonly Placed[]): boolean {
  if (loose.length < 2) return false;
  const names = loose.map(({ work: { label } }) => ({ label, marked: markedNumber(stemOf(label)) }));
  const bases = new Set(
    names.map(({ label, marked }) => {
      const stem = stemOf(label);
      return `${plainName(marked?.base ?? stem)}${label.slice(stem.length).toLowerCase()}`;
    }),
  );
  return bases.size === 1 && names.filter(({ marked }) => marked === null).length < 2;
}
