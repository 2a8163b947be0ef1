/**
 * Handles which submission counts for which student, as teachers chose with `--counts`. The choices are stored with the class. Pure.
 *
 * Q1  A choice is stored under the stored key of the student, with its author and time. A new key in the roster does not lose it.
 * Q2  `--counts STUDENT=` takes a choice back: the policy for attempts decides again.
 * Q3  A student is named by a key, id, login, address or whole name that only one student has.
 */
import { type AttemptChoice, type ClassIntake, choiceOption } from "@markmill/classroom";
import { samePeople } from "@markmill/grading";
import { readRunOptions, undecidedWorksOf } from "@markmill/stack";
import type { BatchDetail, BatchMember, BatchWork } from "@markmill/store";
import type { ClassFacts } from "./class-facts.ts";
import { CommandError } from "./command.ts";

type Kept = ClassFacts["choices"][number];

interface StoredClass {
  readonly members: readonly BatchMember[];
  readonly works: readonly Pick<BatchWork, "by">[];
  readonly choices: readonly Kept[];
}

/** Returns the choices by student key of the new intake. `asked`: the values of --counts. Throws if one matches no student. */
export function choicesOf(
  asked: readonly string[],
  stored: StoredClass,
  members: readonly BatchMember[],
): ReadonlyMap<string, AttemptChoice> {
  const owners = new Set(stored.works.flatMap(({ by }) => by));
  const { known } = samePeople(
    stored.members.map((member) => ({ ...member, hasWork: owners.has(member.key) })),
    members,
  );
  const kept = new Map(stored.choices.map((choice) => [choice.student, choice]));
  const choices = new Map<string, AttemptChoice>();
  for (const { key } of members) {
    const choice = kept.get(known.get(key) ?? key);
    if (choice !== undefined) choices.set(key, { label: choice.label, among: choice.among });
  }
  for (const text of asked) {
    const { student, label } = readChoice(text, members, known);
    if (label === "") choices.delete(student);
    else choices.set(student, { label, among: null });
  }
  return choices;
}

/** The choices in the form in which they are stored with the class. An earlier choice keeps its author. */
export function keptChoices(
  held: ClassIntake["choices"],
  before: readonly Kept[],
  memberKeys: ReadonlyMap<string, string>,
  now: Pick<Kept, "by" | "at">,
): Kept[] {
  return held.map(({ student, label, among }) => {
    const key = memberKeys.get(student) ?? student;
    const known = before.find((one) => one.student === key && one.label === label);
    return { ...(known ?? now), student: key, label, among: [...among] };
  });
}

/** Commands that decide which submission counts for a student, one for each submission. Empty: there is no question. */
export function settlingCommands(student: string, works: readonly BatchWork[], batch: GradedBatch): string[] {
  const { key, settings } = batch;
  const path = classPath(key);
  const labels = [...new Set(undecidedWorksOf(student, works).map(({ label }) => label))].sort();
  // The model or script that the class was started with may be stored only here.
  const model = settings.run.variables?.AI_MODEL_NAME;
  const script = readRunOptions(settings.run.options ?? null)?.script ?? null;
  const more = `${model === undefined ? "" : ` --model ${inShell(model)}`}${script === null ? "" : " --script FILE"}`;
  return path === null ? [] : labels.map((label) => `markmill grade ${path}${more} ${choiceOption(student, label)}`);
}

type GradedBatch = Pick<BatchDetail, "key" | "settings">;

/** Refuses a mark of a student while it is undecided which submission it is about. */
export function requireDecided(student: string | null, works: readonly BatchWork[], batch: GradedBatch): void {
  const open = student === null ? [] : undecidedWorksOf(student, works);
  if (student === null || open.length === 0) return;
  const commands = settlingCommands(student, works, batch);
  throw new CommandError(
    "STUDENT_UNDECIDED",
    `Nothing was changed, because no one has decided which submission counts for ${student}: ${open.map(({ label, key }) => `${label} (${key})`).join(", ")}.`,
    commands.length > 0
      ? `Decide first: ${commands.map((command) => `'${command}'`).join(" or ")}. Or name the submission by its key instead of the student.`
      : "Save the class again with `countsFor` in its submissions. Or name the submission by its key instead of the student.",
  );
}

/** The path if the class was saved by `markmill grade PATH`. null: it was saved in another way. */
function classPath(batchKey: string): string | null {
  const [, path] = /^class (.+)$/s.exec(batchKey) ?? [];
  if (path === undefined) return null;
  return inShell(path);
}

function inShell(word: string): string {
  return /^[\p{L}\p{N}_./@:+-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A key may contain '=', so every position is tried. */
function readChoice(
  text: string,
  members: readonly BatchMember[],
  known: ReadonlyMap<string, string>,
): { readonly student: string; readonly label: string } {
  for (let at = text.indexOf("="); at >= 0; at = text.indexOf("=", at + 1)) {
    const student = studentOf(text.slice(0, at).trim(), members, known);
    if (student !== null) return { student, label: text.slice(at + 1).trim() };
  }
  throw new CommandError(
    "CLASS_CHOICE",
    text.includes("=")
      ? `${text.slice(0, text.indexOf("="))} matches no student or several students in the class. Nothing was changed.`
      : `--counts ${text} names no student. Nothing was changed.`,
    "Write --counts STUDENT=SUBMISSION: the student's key or id, and the name of the folder or file.",
  );
}

function studentOf(wanted: string, members: readonly BatchMember[], known: ReadonlyMap<string, string>): string | null {
  const plain = (word: string) => word.normalize("NFC").toLowerCase();
  const exact = members.find(({ key }) => key === wanted) ?? members.find(({ key }) => known.get(key) === wanted);
  if (exact !== undefined) return exact.key;
  const found = members.filter(({ id, participant, sisId, login, email, name, sortableName }) =>
    [id, participant, sisId, login, email, name, sortableName].some(
      (one) => one !== undefined && plain(one) === plain(wanted),
    ),
  );
  return found.length === 1 ? (found[0]?.key ?? null) : null;
}
