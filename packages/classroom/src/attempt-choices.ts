/**
 * Decides which submission counts for a student because a person chose it. Pure.
 *
 * A1  A choice names one submission of the student by its label. It goes before the policy for attempts.
 * A2  A choice is valid while the chosen submission exists and the student has no submission that is newer than the choice. Otherwise the
 *     policy decides again, or the teacher is asked again, and a finding reports it.
 * A3  If a submission of the student could not be fetched, it is unknown whether it still exists, so the choice is kept.
 * A4  Every submission of a student can be chosen. So a question about several submissions can always be answered.
 */
import type { Finding, Place } from "@markmill/definition";
import { showName } from "@markmill/grading/submission";
import type { Member } from "./member.ts";

export interface AttemptChoice {
  readonly label: string;
  /** Labels of the student's submissions at the time of the choice. null: the choice is made now. */
  readonly among: readonly string[] | null;
}

/** A valid choice. */
export interface HeldChoice {
  /** Key of the student. */
  readonly student: string;
  readonly label: string;
  readonly among: readonly string[];
}

interface Labelled {
  readonly label: string;
  readonly by: readonly Member[];
}

export interface HeldChoices<Work extends Labelled> {
  /** The chosen submission, by the student's key. */
  readonly works: ReadonlyMap<string, Work>;
  readonly held: readonly HeldChoice[];
  readonly findings: readonly Finding[];
}

/** `unfetched`: keys of students with a submission that could not be fetched. */
export function holdChoices<Work extends Labelled>(
  choices: ReadonlyMap<string, AttemptChoice>,
  read: readonly Work[],
  members: ReadonlyMap<string, Member>,
  unfetched: ReadonlySet<string>,
  at: Place,
): HeldChoices<Work> {
  const works = new Map<string, Work>();
  const held: HeldChoice[] = [];
  const findings: Finding[] = [];
  for (const [student, choice] of choices) {
    const own = read.filter(({ by }) => by.some(({ key }) => key === student));
    const labels = own.map(({ label }) => label);
    const work = own.find(({ label }) => isCalled(label, choice.label));
    const fresh = labels.filter((label) => choice.among?.some((one) => isCalled(label, one)) === false);
    if (work !== undefined && fresh.length === 0) {
      works.set(student, work);
      const before = unfetched.has(student) ? (choice.among ?? []) : [];
      held.push({ student, label: work.label, among: [...new Set([...labels, ...before])] });
    } else if (work === undefined && choice.among !== null && unfetched.has(student)) {
      held.push({ student, label: choice.label, among: choice.among });
    } else findings.push(lostChoice(members.get(student) ?? null, student, choice, labels, fresh, at));
  }
  return { works, held, findings };
}

/** The option of `markmill grade` that makes the choice, quoted for a shell. */
export function choiceOption(student: string, label: string): string {
  return `--counts '${`${student}=${showName(label)}`.replaceAll("'", "'\\''")}'`;
}

export function choiceOptions(student: string, labels: readonly string[]): string {
  return labels.map((label) => `\`${choiceOption(student, label)}\``).join(" or ");
}

function isCalled(label: string, name: string): boolean {
  const plain = (text: string) => text.normalize("NFC");
  return plain(label) === plain(name) || plain(showName(label)) === plain(name);
}

function lostChoice(
  member: Member | null,
  student: string,
  { label, among }: AttemptChoice,
  labels: readonly string[],
  fresh: readonly string[],
  at: Place,
): Finding {
  const name = member?.name ?? student;
  const common = { code: "INTAKE_CHOICE", at, about: student } as const;
  const fix =
    labels.length === 0
      ? "Check the names of the submitted folders and files."
      : `Choose again if the policy for attempts is not right: ${choiceOptions(student, labels)}.`;
  if (among === null) {
    const has = labels.length === 0 ? "no submission" : `the submissions ${labels.map(showName).join(", ")}`;
    return {
      ...common,
      severity: "error",
      fix,
      message: `--counts chooses ${showName(label)} for ${name}, who has ${has}.`,
    };
  }
  const why = fresh.length > 0 ? `${fresh.map(showName).join(", ")} arrived later` : "it no longer exists";
  return {
    ...common,
    severity: "warning",
    fix,
    message: `${showName(label)} was chosen for ${name}, but ${why}. The choice no longer applies.`,
  };
}
