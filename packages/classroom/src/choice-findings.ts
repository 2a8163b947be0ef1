/** For students with several submissions: decides which one counts for whom, and collects the findings for the teacher. Pure. */

import type { Finding, Place } from "@markmill/definition";
import { showName } from "@markmill/grading/submission";
import { choiceOptions } from "./attempt-choices.ts";
import type { AttemptPolicy } from "./class-file.ts";
import type { ClassSubmission, Content, Lateness } from "./class-submission.ts";
import type { Counting } from "./counting-works.ts";
import type { Attempt } from "./gather-works.ts";
import type { Member } from "./member.ts";

export interface Read extends Attempt {
  readonly key: string;
  readonly content: Content;
  readonly submittedAt: string | null;
  readonly lateness: Lateness;
  readonly isLate: boolean;
  readonly isEmpty: boolean;
  readonly hash: string | null;
}

const unordered = "the latest one is unknown";

/** Only these options answer the question. They are complete, so that the teacher can copy them. */
function decide(people: readonly Member[], among: readonly Read[]): string {
  const options = people.map(({ key }) => {
    const own = among.filter(({ by }) => by.some((one) => one.key === key));
    return choiceOptions(
      key,
      own.map(({ label }) => label),
    );
  });
  return `Grade again with ${options.join(", and ")}. Or add numbers to the names, such as \`ada (1)\` and \`ada (2)\`. With \`attempts: best\`, all of them count.`;
}

function namesOf(works: readonly Read[]): string {
  return works.map(({ work }) => showName(work.label)).join(", ");
}

/** Returns the findings for the teacher about students with several submissions. */
export function choiceFindings(
  read: readonly Read[],
  counting: readonly Counting[],
  policy: AttemptPolicy,
  /** Keys of students for whom the teacher chose. */
  byTeacher: ReadonlySet<string>,
  at: Place,
): Finding[] {
  const members = new Map(read.flatMap(({ by }) => by.map((member) => [member.key, member] as const)));
  const has = (list: readonly Member[], key: string) => list.some((one) => one.key === key);
  const questions = new Map<string, { readonly open: readonly Read[]; readonly people: Member[] }>();
  const findings: Finding[] = [];
  const ofMember = new Map<string, { readonly one: Read; readonly count: Counting }[]>();
  for (const [index, one] of read.entries()) {
    const entry = { one, count: counting[index] as Counting };
    for (const { key } of one.by) ofMember.set(key, [...(ofMember.get(key) ?? []), entry]);
  }
  for (const member of members.values()) {
    const all = ofMember.get(member.key) ?? [];
    const own = all.map(({ one }) => one);
    const open = all.flatMap(({ one, count }) => (has(count.undecidedFor, member.key) ? one : []));
    if (open.length > 0) {
      const known = questions.get(namesOf(open))?.people ?? [];
      questions.set(namesOf(open), { open, people: [...known, member] });
    }
    const chosen = all.flatMap(({ one, count }) => (has(count.countsFor, member.key) ? one : []));
    if (chosen.length === 0 || new Set(own.map(({ owner }) => owner)).size < 2) continue;
    const others = (one: Read) => one.by.filter(({ key }) => key !== member.key).map(({ name }) => name);
    const told = own.map((one) => `${showName(one.work.label)} ${withWhom(others(one))}`);
    const isChosen = byTeacher.has(member.key);
    const counts = policy === "best" && !isChosen ? "the best of them counts" : `${namesOf(chosen)} counts`;
    const rule = isChosen ? "as you chose" : `attempts: ${policy}`;
    findings.push({
      severity: "warning",
      code: "INTAKE_TOGETHER_AND_ALONE",
      at,
      about: member.key,
      message: `${member.name} handed in ${told.join(", ")}. For ${member.name} ${counts} (${rule}).`,
      fix: `If this is right, do nothing. Otherwise choose one: ${choiceOptions(
        member.key,
        own.map(({ label }) => label),
      )}.`,
    });
  }
  for (const [names, { open, people }] of questions) {
    findings.push({
      severity: "warning",
      code: "INTAKE_UNORDERED",
      at,
      about: names,
      fix: decide(people, open),
      message: `${people.map(({ name }) => name).join(", ")}: ${names} were handed in, but ${unordered}. None of them counts yet.`,
    });
  }
  return findings;
}

const withWhom = (names: readonly string[]) => (names.length === 0 ? "alone" : `with ${names.join(", ")}`);

/** A submission that counts for no student, and is undecided for at least one, waits for the teacher and is not graded. */
export function submissionOf(
  one: Read,
  { countsFor, undecidedFor }: Counting,
  read: readonly Read[],
  counting: readonly Counting[],
): ClassSubmission {
  const waits = countsFor.length === 0 && undecidedFor.length > 0;
  const among = waits ? read.filter((_, index) => sharesAny(counting[index]?.undecidedFor ?? [], undecidedFor)) : [];
  return {
    key: one.key,
    by: one.by.map(({ key }) => key),
    group: one.group,
    attempt: one.number,
    counts: countsFor.length > 0 || waits,
    countsFor: (waits ? undecidedFor : countsFor).map(({ key }) => key),
    label: one.work.label,
    sources: [...one.work.pieces, ...(one.work.beside ?? [])].map(({ top }) => top),
    submittedAt: one.submittedAt,
    lateness: one.lateness,
    content: waits
      ? {
          is: "undecided",
          hash: one.hash,
          message: `${namesOf(among)} were handed in, but ${unordered}.`,
          fix: decide(undecidedFor, among),
        }
      : one.content,
  };
}

function sharesAny(some: readonly Member[], others: readonly Member[]): boolean {
  return some.some(({ key }) => others.some((other) => other.key === key));
}
