/**
 * Decides which submission counts for which student. Pure.
 *
 * C1  The policy of the class is applied to each student alone, among all submissions of that student, alone or with others.
 * C2  A submission counts for the students for whom it was selected. It is graded if it counts for at least one.
 * C3  If a student's submissions cannot be ordered, none of them counts for that student, and the teacher is asked.
 * C4  A choice of the teacher (attempt-choices.ts) goes before the policy and answers the question of C3.
 */
import { chooseAttempt, type Dated, numberingOrder } from "./attempt-order.ts";
import type { AttemptPolicy } from "./class-file.ts";
import type { Member } from "./member.ts";

export interface Candidate extends Dated {
  readonly by: readonly Member[];
  readonly isLate: boolean;
  readonly isEmpty: boolean;
  /** Hash of its content. null: it has no content that can be graded. */
  readonly hash: string | null;
}

export interface Counting {
  readonly countsFor: readonly Member[];
  /** Students whose several submissions, including this one, cannot be ordered. */
  readonly undecidedFor: readonly Member[];
}

/** The result has the order of the submissions. `chosen`: the submission that the teacher chose, by student key. */
export function countingWorks<Work extends Candidate>(
  works: readonly Work[],
  policy: AttemptPolicy,
  chosen: ReadonlyMap<string, Work> = new Map(),
): readonly Counting[] {
  const members = new Map(works.flatMap(({ by }) => by.map((member) => [member.key, member] as const)));
  const counts = new Map<Candidate, Member[]>();
  const undecided = new Map<Candidate, Member[]>();
  const ofMember = new Map<string, Candidate[]>();
  for (const work of works) for (const { key } of work.by) ofMember.set(key, [...(ofMember.get(key) ?? []), work]);
  for (const [key, own] of ofMember) {
    const member = members.get(key) as Member;
    const said = chosen.get(key);
    const choice: Choice = said === undefined ? chooseFor(member, own, policy) : { is: "chosen", works: [said] };
    const into = choice.is === "chosen" ? counts : undecided;
    for (const work of choice.works) into.set(work, [...(into.get(work) ?? []), member]);
  }
  return works.map((work) => ({ countsFor: counts.get(work) ?? [], undecidedFor: undecided.get(work) ?? [] }));
}

interface Choice {
  readonly is: "chosen" | "undecided";
  readonly works: readonly Candidate[];
}

function chooseFor(member: Member, own: readonly Candidate[], policy: AttemptPolicy): Choice {
  if (policy === "best" || own.length === 1) return { is: "chosen", works: own };
  const inTime = own.filter(({ isLate }) => !isLate);
  const eligible = policy === "last-before-deadline" && inTime.length > 0 ? inTime : own;
  const ids = new Set(
    [member.id, member.participant, member.sisId, member.login, member.key].flatMap((one) => one ?? []),
  );
  const choose = (some: readonly Candidate[]) =>
    some.length === 1 ? (some[0] ?? null) : chooseAttempt(some, policy === "first" ? "first" : "last", ids);
  const filled = eligible.filter(({ isEmpty }) => !isEmpty);
  const chosen = choose(eligible) ?? (filled.length > 0 ? choose(filled) : null) ?? same(eligible);
  return chosen === null ? { is: "undecided", works: eligible } : { is: "chosen", works: [chosen] };
}

/** If the content and the people are equal, any of the submissions can be used. */
function same(works: readonly Candidate[]): Candidate | null {
  const [first] = works;
  const people = ({ by }: Candidate) => JSON.stringify(by.map(({ key }) => key).sort());
  const isSame = works.every(
    (work) => work.hash !== null && work.hash === first?.hash && people(work) === people(first),
  );
  return isSame ? ([...works].sort(numberingOrder).at(-1) ?? null) : null;
}
