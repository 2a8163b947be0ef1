/**
 * A class as it came in: one plain value that can be shown, stored and compared. Reading the same files again gives the same value,
 * so that whoever stores it by key and hash stores nothing twice.
 *
 * Content is handed to `take`, one work after the other, and kept nowhere else: memory does not grow with the class. A work that
 * is refused, empty or unmatched does not stop the others.
 */
import { createHash } from "node:crypto";
import { type Finding, type Place, suggest } from "@markmill/definition";
import {
  defaultLimits,
  type Entry,
  packSubmission,
  type Submission,
  SubmissionError,
  type SubmissionErrorCode,
  type SubmissionLimits,
  showName,
} from "@markmill/submission";
import { type AttemptChoice, choiceOptions, type HeldChoice, holdChoices } from "./attempt-choices.ts";
import { plainCanvasNames } from "./canvas-resubmission.ts";
import type { AttemptPolicy, ClassClock, LatePolicy, LayoutChoice } from "./class-file.ts";
import type { CommitFacts } from "./commit-facts.ts";
import { type Counting, countingWorks } from "./counting-works.ts";
import { type ExportSource, openExport, type SourceWork } from "./export-source.ts";
import { FetchTrouble } from "./fetch-trouble.ts";
import { type Attempt, gatherWorks, type Placed } from "./gather-works.ts";
import {
  detectLayout,
  type Layout,
  METADATA,
  type Piece,
  type Sorted,
  sortCanvas,
  sortGradescope,
  sortMoodle,
  sortPlain,
  type Work,
} from "./layout.ts";
import { withoutPointers } from "./lfs-pointers.ts";
import { type Match, StudentIndex } from "./match-students.ts";
import type { Member } from "./member.ts";
import { membersOfExport } from "./members-of-export.ts";
import { readInstant } from "./read-instant.ts";
import { missingPaths } from "./required-paths.ts";
import type { Roster } from "./roster.ts";
import { timedWorks } from "./submitted-times.ts";
import { unpackNested } from "./unpack-nested.ts";

export interface ClassIntake {
  readonly layout: Layout;
  readonly members: readonly Member[];
  readonly submissions: readonly ClassSubmission[];
  /** Works that could not be asked for, by no cause of the student's: nothing is known of them now, and what was known stands. */
  readonly unfetched: readonly Unfetched[];
  /** What belongs to nobody, by the name it has in the export. */
  readonly unmatched: readonly Unmatched[];
  /** Keys of members who handed in nothing. */
  readonly withoutWork: readonly string[];
  /** Choices of the teacher that hold. */
  readonly choices: readonly HeldChoice[];
  readonly problems: readonly Finding[];
}

interface ClassSubmission {
  /** Stable in the class: the keys of its people, and the attempt. */
  readonly key: string;
  /** Keys of the members whose work it is; more than one for group work. */
  readonly by: readonly string[];
  /** A label; the people are the owner. */
  readonly group: string | null;
  readonly attempt: number;
  /** Whether it counts for anybody by the class's policy; `best` leaves that to the grades, and all count. */
  readonly counts: boolean;
  /** Members for whom it counts. The others count another submission. */
  readonly countsFor: readonly string[];
  /** What the platform calls it: a user, participant or submission. */
  readonly label: string;
  readonly sources: readonly string[];
  readonly submittedAt: string | null;
  readonly lateness: Lateness;
  readonly content: Content;
}

type Lateness =
  | { readonly is: "unknown" }
  | { readonly is: "on time" }
  /** byMs after deadline and grace; null: the platform says late, nobody says by how much. */
  | { readonly is: "late"; readonly byMs: number | null };

type Content =
  | {
      readonly is: "taken";
      /** SHA-256 of the tar: the same content, the same hash. */
      readonly hash: string;
      readonly files: number;
      readonly bytes: number;
      readonly paths: readonly string[];
      readonly notes: readonly string[];
      /** Of a repository. */
      readonly commit?: CommitFacts;
    }
  /** The student's cause: ungradable, with a reason to tell them. */
  | { readonly is: "refused"; readonly code: SubmissionErrorCode; readonly message: string; readonly fix: string }
  | { readonly is: "empty" }
  /** The student has several submissions, and nothing says which one counts. `hash`: of this one, if it can be graded. */
  | { readonly is: "undecided"; readonly hash: string | null; readonly message: string; readonly fix: string }
  /** There is work, without the files the task asks for: ungradable until a person has looked. */
  | {
      readonly is: "incomplete";
      readonly missing: readonly string[];
      readonly message: string;
      readonly paths: readonly string[];
      readonly commit?: CommitFacts;
    };

interface Unfetched {
  readonly key: string;
  readonly by: readonly string[];
  readonly message: string;
}

interface Unmatched {
  readonly name: string;
  readonly why: "no rule" | "unknown" | "ambiguous" | "link";
  /** Whom it could mean. */
  readonly near: readonly string[];
  /** Only of an ambiguous work: keys of the members who may have handed it in. */
  readonly may?: readonly string[];
}

export interface IntakeOptions {
  readonly roster?: Roster;
  readonly layout?: LayoutChoice;
  readonly match?: RegExp;
  readonly deadline?: number;
  readonly late?: Pick<LatePolicy, "graceMs"> & Partial<LatePolicy>;
  readonly attempts?: AttemptPolicy;
  /** By the member's key, the submission that the teacher chose. */
  readonly choices?: (members: readonly Member[]) => ReadonlyMap<string, AttemptChoice>;
  /** Of times without a distance from UTC. */
  readonly clock?: ClassClock;
  readonly limits?: SubmissionLimits;
  /** Files without which a work cannot be graded. */
  readonly requires?: readonly string[];
  /** Names at the top that are the teacher's: class.yaml, the roster. */
  readonly without?: readonly string[];
  /** Where works come from, when not from the path. */
  readonly source?: ExportSource;
  /** Gets each work once; what it throws ends the intake. */
  readonly take?: (work: {
    readonly key: string;
    readonly hash: string;
    readonly submission: Submission;
  }) => Promise<void>;
}

export async function readClass(path: string, options: IntakeOptions = {}): Promise<ClassIntake> {
  const index = options.roster === undefined ? null : new StudentIndex(options.roster, options.requires);
  const source =
    options.source ?? (await openExport(path, ({ name, is }) => (index === null ? null : index.knows(name, is))));
  try {
    return await intake(source, path, options);
  } finally {
    source.close();
  }
}

async function intake(source: ExportSource, path: string, options: IntakeOptions): Promise<ClassIntake> {
  const { roster, limits = defaultLimits } = options;
  const problems: Finding[] = [];
  const at: Place = { file: path, line: 1, column: 1 };
  const without = new Set(options.without ?? []);
  const tops = source.tops.filter(({ name }) => !without.has(name));
  const wanted = options.layout ?? "auto";
  const layout = wanted !== "auto" ? wanted : options.match === undefined ? detectLayout(tops) : "plain";
  const sorted =
    source.works === undefined
      ? await sort(source, layout, tops, options, problems, at)
      : { works: source.works, strays: [] };
  const { works, findings } = timedWorks(sorted.works, options.clock ?? { zone: "UTC", from: "nothing" }, at);
  const { strays } = sorted;
  problems.push(...findings);

  const unmatched: Unmatched[] = [
    ...source.links.map((name) => ({ name: showName(name), why: "link" as const, near: [] })),
    ...strays.map((name) => ({ name: showName(name), why: "no rule" as const, near: [] })),
  ];
  problems.push(...unmatched.map((one) => unmatchedFinding(one, layout, at)));
  const members = new Map((roster?.members ?? []).map((member) => [member.key, member]));
  const placed: Placed[] = [];
  for (const [work, match] of matchWorks(works, options)) {
    if (match.is === "matched" && match.by.length > 0) {
      if (roster === undefined)
        for (const member of match.by) if (!members.has(member.key)) members.set(member.key, member);
      placed.push({ work, by: match.by, group: match.group });
      continue;
    }
    const near =
      match.is === "ambiguous"
        ? match.among.map(({ name }) => name)
        : match.is === "unknown" && match.near !== null
          ? [match.near]
          : [];
    const may = match.is === "ambiguous" ? { may: [...match.among, ...(match.also ?? [])].map(({ key }) => key) } : {};
    for (const { top } of work.pieces) {
      const one = {
        name: showName(top),
        why: match.is === "ambiguous" ? ("ambiguous" as const) : ("unknown" as const),
        ...{ near, ...may },
      };
      unmatched.push(one);
      problems.push(
        match.is === "ambiguous" ? ambiguousFinding(one.name, match, layout, at) : unmatchedFinding(one, layout, at),
      );
    }
  }

  const read: Read[] = [];
  const unfetched: Unfetched[] = [];
  for (const one of gatherWorks(placed)) {
    const key = `${one.owner}#${one.number}`;
    const by = one.by.map((member) => member.key);
    const content = await takeWork(source, one.work, key, limits, options);
    if (content instanceof FetchTrouble) {
      const about = one.work.pieces[0]?.top ?? one.work.label;
      const message = `${showName(about)}: ${content.message} It was not fetched, and nothing is said of it.`;
      problems.push({ severity: "warning", code: content.code, message, fix: content.fix, at, about });
      unfetched.push({ key, by, message: content.message });
      continue;
    }
    const time = timeOf(content, { ...one, lateness: latenessOf(one, options) }, options);
    read.push({
      ...{ ...one, ...time, key, content, isLate: time.lateness.is === "late", isEmpty: content.is === "empty" },
      hash: content.is === "taken" ? content.hash : null,
    });
  }
  const policy = options.attempts ?? "last";
  const missing = new Set(unfetched.flatMap(({ by }) => by));
  const choices = options.choices?.([...members.values()]) ?? new Map<string, AttemptChoice>();
  const chosen = holdChoices(choices, read, members, missing, at);
  problems.push(...chosen.findings);
  const counting = countingWorks(read, policy, chosen.works);
  const submissions = read.map((one, index) => submissionOf(one, counting[index] as Counting, read, counting));
  for (const [index, { content }] of submissions.entries())
    problems.push(...contentFindings(content, (read[index] as Read).work, at));
  problems.push(...choiceFindings(read, counting, policy, new Set(chosen.works.keys()), at));
  const handedIn = new Set([...submissions, ...unfetched].flatMap(({ by }) => by));
  const withoutWork = [...members.keys()].filter((key) => !handedIn.has(key));
  problems.push(...twins(submissions, at), ...untimed(submissions, options, at));
  return {
    ...{ layout, members: [...members.values()], submissions, unfetched, unmatched, withoutWork },
    ...{ choices: chosen.held, problems },
  };
}

interface Read extends Attempt {
  readonly key: string;
  readonly content: Content;
  readonly submittedAt: string | null;
  readonly lateness: Lateness;
  readonly isLate: boolean;
  readonly isEmpty: boolean;
  readonly hash: string | null;
}

/** A submission that counts for nobody, and is undecided for somebody, waits for the teacher and is not graded. */
function submissionOf(
  one: Read,
  { countsFor, undecidedFor }: Counting,
  read: readonly Read[],
  counting: readonly Counting[],
): ClassSubmission {
  const waits = countsFor.length === 0 && undecidedFor.length > 0;
  const among = waits ? read.filter((_, index) => sharesAny(counting[index]?.undecidedFor ?? [], undecidedFor)) : [];
  return {
    ...{ key: one.key, by: one.by.map(({ key }) => key), group: one.group, attempt: one.number },
    counts: countsFor.length > 0 || waits,
    countsFor: (waits ? undecidedFor : countsFor).map(({ key }) => key),
    label: one.work.label,
    sources: [...one.work.pieces, ...(one.work.beside ?? [])].map(({ top }) => top),
    submittedAt: one.submittedAt,
    lateness: one.lateness,
    content: waits
      ? {
          ...{ is: "undecided", hash: one.hash, message: `${namesOf(among)} were handed in, and ${unordered}.` },
          fix: decide(undecidedFor, among),
        }
      : one.content,
  };
}

const unordered = "nothing says which one is the latest";
/** The options alone decide it; they are complete, so that nobody has to make them up. */
function decide(people: readonly Member[], among: readonly Read[]): string {
  const options = people.map(({ key }) => {
    const own = among.filter(({ by }) => by.some((one) => one.key === key));
    return choiceOptions(
      key,
      own.map(({ label }) => label),
    );
  });
  return `Grade again with ${options.join(", and ")}. Or number their names, such as \`ada (1)\` and \`ada (2)\`. With \`attempts: best\` all of them count.`;
}

function sharesAny(some: readonly Member[], others: readonly Member[]): boolean {
  return some.some(({ key }) => others.some((other) => other.key === key));
}

function namesOf(works: readonly Read[]): string {
  return works.map(({ work }) => showName(work.label)).join(", ");
}

/** What the teacher must know or decide about students with several submissions. */
function choiceFindings(
  read: readonly Read[],
  counting: readonly Counting[],
  policy: AttemptPolicy,
  /** Keys of members for whom the teacher chose. */
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
      ...{ severity: "warning", code: "INTAKE_TOGETHER_AND_ALONE", at, about: member.key },
      message: `${member.name} handed in ${told.join(", ")}. For ${member.name} ${counts} (${rule}).`,
      fix: `Nothing, if that is right. Else choose one: ${choiceOptions(
        member.key,
        own.map(({ label }) => label),
      )}.`,
    });
  }
  for (const [names, { open, people }] of questions) {
    findings.push({
      ...{ severity: "warning", code: "INTAKE_UNORDERED", at, about: names, fix: decide(people, open) },
      message: `${people.map(({ name }) => name).join(", ")}: ${names} were handed in, and ${unordered}. None of them counts yet.`,
    });
  }
  return findings;
}

const withWhom = (names: readonly string[]) => (names.length === 0 ? "alone" : `with ${names.join(", ")}`);

async function sort(
  source: ExportSource,
  layout: Layout,
  tops: ExportSource["tops"],
  options: IntakeOptions,
  problems: Finding[],
  at: Place,
): Promise<Sorted> {
  switch (layout) {
    case "canvas": {
      const sorted = sortCanvas(tops);
      return { ...sorted, works: plainCanvasNames(sorted.works, options.requires ?? []) };
    }
    case "moodle":
      return sortMoodle(tops);
    case "plain":
      return sortPlain(tops, options.match);
    case "gradescope": {
      const read = await source.read(METADATA, { files: 1, bytes: 64 * 1024 * 1024 }).catch(() => null);
      const [file] = read?.entries ?? [];
      const sorted = file?.kind === "file" ? sortGradescope(tops, file.bytes.toString("utf8")) : null;
      for (const [folder, people] of sorted?.missing ?? [])
        problems.push({
          severity: "warning",
          code: "INTAKE_METADATA",
          message: `${METADATA} lists ${showName(folder)} of ${people.map(showName).join(", ")}, and the export does not have it.`,
          fix: "Export the submissions again, or copy that folder beside the others.",
          ...{ at, about: folder },
        });
      if (sorted !== null) return sorted;
      problems.push({
        severity: "error",
        code: "INTAKE_METADATA",
        message: `${METADATA} is missing or not what Gradescope writes, so nobody knows whose work is whose.`,
        fix: "Export the submissions again, or write `layout: plain` and match folders by name.",
        at,
      });
      return { works: [], strays: tops.map(({ name }) => name) };
    }
  }
}

function submittedAtOf({ work, by }: Placed): string | null {
  return work.submittedAt ?? by.find(({ submittedAt }) => submittedAt !== undefined)?.submittedAt ?? null;
}

function instantOf(one: Placed): number | null {
  const text = submittedAtOf(one);
  const read = text === null ? null : readInstant(text);
  return read?.is === "read" ? read.at : null;
}

/** Of a repository the date of the commit decides, and nothing that a roster says. */
function timeOf(
  content: Content,
  one: Placed & { readonly lateness: Lateness },
  options: IntakeOptions,
): Pick<ClassSubmission, "submittedAt" | "lateness"> {
  const commit = "commit" in content ? content.commit : undefined;
  if (commit === undefined) return { submittedAt: submittedAtOf(one), lateness: one.lateness };
  const lateness = commit.at === null ? null : latenessAt(Date.parse(commit.at), options);
  return { submittedAt: commit.at, lateness: lateness ?? { is: "unknown" } };
}

/** null: there is no deadline. */
function latenessAt(at: number, { deadline, late }: IntakeOptions): Lateness | null {
  if (deadline === undefined) return null;
  const byMs = at - deadline - (late?.graceMs ?? 0);
  return byMs > 0 ? { is: "late", byMs } : { is: "on time" };
}

function latenessOf(one: Placed, options: IntakeOptions): Lateness {
  const at = instantOf(one);
  const timed = at === null ? null : latenessAt(at, options);
  if (timed !== null) return timed;
  if (one.work.markedLate) return { is: "late", byMs: null };
  // Canvas marks what is late, so what has no mark is not.
  return one.work.says.by === "canvas" || one.work.says.by === "canvas-anonymous"
    ? { is: "on time" }
    : { is: "unknown" };
}

async function takeWork(
  source: ExportSource,
  work: Work,
  key: string,
  limits: SubmissionLimits,
  { take, requires = [] }: IntakeOptions,
): Promise<Content | FetchTrouble> {
  let submission: Submission;
  let commit: { readonly commit?: CommitFacts } = {};
  try {
    const read = await readWork(source, work, limits, requires);
    commit = read.commit === undefined ? {} : { commit: read.commit };
    if (!read.entries.some(({ kind }) => kind === "file")) return { is: "empty" };
    const { entries, notes, needed } = withoutPointers(read.entries, requires);
    if (needed.length > 0) return keptElsewhere(needed, read.commit !== undefined);
    submission = await packSubmission(entries, [...read.notes, ...notes]);
  } catch (error) {
    if (error instanceof FetchTrouble) return error;
    if (!(error instanceof SubmissionError)) throw error;
    return { is: "refused", code: error.code, message: error.message, fix: error.fix };
  }
  const missing = missingPaths(requires, submission.paths);
  if (missing.length > 0) {
    const near = missing.map((path) => suggest(path, submission.paths)).find((path) => path !== null);
    const guess = near === undefined ? "" : ` There is ${showName(near)}.`;
    const message = `${missing.map((path) => showName(path)).join(", ")} is missing.${guess}`;
    return { is: "incomplete", missing, message, paths: [...submission.paths].sort(), ...commit };
  }
  const hash = createHash("sha256").update(submission.tar).digest("hex");
  await take?.({ key, hash, submission });
  const { files, bytes, paths, notes } = submission;
  return { is: "taken", hash, files, bytes, paths: [...paths].sort(), notes, ...commit };
}

/** A repository has the file, and we did not get it; whoever hands in a pointer handed in no file. */
function keptElsewhere(paths: readonly string[], fromRepository: boolean): Content | FetchTrouble {
  const message = `${paths.slice(0, 5).map(showName).join(", ")} ${paths.length === 1 ? "is" : "are"} kept in Git LFS; only the pointer is here.`;
  const fix = "Ask the student to commit the file itself (`git lfs migrate export`), or to hand it in.";
  if (fromRepository) return new FetchTrouble(message, fix, "INTAKE_LFS");
  return { is: "refused", code: "SUBMISSION_REFUSED", message, fix };
}

/** Loose files stand beside the content of the folder or archive, not beside the folder or archive itself. */
async function readWork(
  source: ExportSource,
  work: Work,
  limits: SubmissionLimits,
  requires: readonly string[],
): Promise<SourceWork> {
  const pieces = await readPieces(source, work.pieces, limits);
  const main = await unpackNested(pieces, limits, requires);
  if (work.beside === undefined) return { ...pieces, ...main };
  const files = main.entries.filter(({ kind }) => kind !== "folder");
  const bytes = files.reduce((sum, entry) => sum + (entry.kind === "file" ? entry.bytes.length : 0), 0);
  const left = { files: Math.max(0, limits.files - files.length), bytes: Math.max(0, limits.bytes - bytes) };
  const loose = await readPieces(source, work.beside, left);
  const known = new Map(main.entries.map((entry) => [folded(entry.path), entry]));
  const added = loose.entries.filter((entry) => {
    const before = known.get(folded(entry.path));
    if (before === undefined) return true;
    if (before.kind === "file" && entry.kind === "file" && before.bytes.equals(entry.bytes)) return false;
    throw handedInTwice(entry.path);
  });
  const beside = work.beside.map(({ top }) => showName(top)).join(", ");
  const notes = [...main.notes, ...loose.notes, `${beside}: loose, taken as part of ${showName(work.label)}`];
  return { entries: [...main.entries, ...added], notes };
}

const folded = (path: string) => path.normalize("NFKC").toLowerCase();

function handedInTwice(path: string): SubmissionError {
  return new SubmissionError(
    "SUBMISSION_ARCHIVE_CLASH",
    `${showName(path)} was handed in twice.`,
    "Hand in one file of each name.",
  );
}

async function readPieces(
  source: ExportSource,
  pieces: readonly Piece[],
  limits: SubmissionLimits,
): Promise<SourceWork> {
  const entries: Entry[] = [];
  const notes: string[] = [];
  let left = limits;
  const taken = new Set<string>();
  let commit: Pick<SourceWork, "commit"> = {};
  for (const { top, as, note } of pieces) {
    const read = await source.read(top, left);
    if (read.commit !== undefined) commit = { commit: read.commit };
    notes.push(...read.notes, ...(note === undefined ? [] : [note]));
    for (const entry of read.entries) {
      const path = as === null ? entry.path : entry.path === top ? as : `${as}/${entry.path}`;
      const known = folded(path);
      if (taken.has(known) && entry.kind === "folder") continue;
      if (taken.has(known)) throw handedInTwice(path);
      taken.add(known);
      entries.push({ ...entry, path });
      if (entry.kind === "file") left = { files: left.files - 1, bytes: left.bytes - entry.bytes.length };
    }
  }
  return { entries, notes, ...commit };
}

function matchWorks(works: readonly Work[], { roster, requires }: IntakeOptions): readonly (readonly [Work, Match])[] {
  if (roster === undefined) {
    const membersOf = membersOfExport(works);
    return works.map((work) => [work, { is: "matched", by: membersOf(work), group: null }]);
  }
  const matches = new StudentIndex(roster, requires).matchAll(works.map(({ says }) => says));
  return works.map((work, at) => [work, matches[at] ?? { is: "unknown", near: null }]);
}

/** What the teacher can change so that the same command matches the work. */
const correction: Record<Layout, string> = {
  canvas: "correct the name and the user's number in the name of the file, so that both are one student's",
  moodle:
    "take the grading worksheet of this assignment as roster, or correct the name and the number in the name of the folder, so that both are one student's",
  gradescope: `correct the submitters in ${METADATA}`,
  plain: "rename it to the student's id, login or e-mail address",
};

function unmatchedFinding({ name, why, near }: Unmatched, layout: Layout, at: Place): Finding {
  const says = {
    "no rule": "follows no rule of this export",
    link: "is a link or no plain file, and was not followed",
    unknown: "belongs to nobody on the roster",
    ambiguous: "belongs to several students",
  };
  const guess = near[0] === undefined ? "" : `Did you mean ${near[0]}? `;
  return {
    severity: "warning",
    code: "INTAKE_UNMATCHED",
    message: `${name} ${says[why]}.`,
    fix: `${guess}Add the student to the roster, or ${correction[layout]}${layout === "plain" ? ", or set match" : ""}.`,
    at,
    about: name,
  };
}

function ambiguousFinding(
  name: string,
  { among, why }: Match & { readonly is: "ambiguous" },
  layout: Layout,
  at: Place,
): Finding {
  const shown = among.slice(0, 5).map((member) => `${member.name} (${member.key})`);
  const more = among.length > 5 ? [`${among.length - 5} more`] : [];
  return {
    severity: "warning",
    code: "INTAKE_AMBIGUOUS",
    message: `${name} could be the work of ${[...shown, ...more].join(" or ")}: ${why}.`,
    fix: `Correct the roster, or ${correction[layout]}.`,
    at,
    about: name,
  };
}

function contentFindings(content: Content, { label, says, pieces }: Work, at: Place): Finding[] {
  const about = pieces[0]?.top ?? label;
  const finding = (code: string, message: string, fix: string): Finding[] => [
    { severity: "warning", code, message, fix, at, about },
  ];
  if (content.is === "refused") return finding(content.code, `${showName(about)}: ${content.message}`, content.fix);
  if (content.is === "empty") {
    return finding("INTAKE_EMPTY", `${showName(about)} holds no file.`, "Ask the student for their work.");
  }
  // Said once for all submissions of the student.
  if (content.is === "undecided") return [];
  const doubts = (content.commit?.doubts ?? []).flatMap((doubt) =>
    finding(
      "INTAKE_COMMIT_DATE",
      `${showName(about)}: the date of commit ${content.commit?.hash.slice(0, 12)} is in doubt: ${doubt}.`,
      "Ask the host when the commit was pushed.",
    ),
  );
  if (content.is === "incomplete") {
    return [
      ...doubts,
      ...finding(
        "INTAKE_FILE_MISSING",
        `${showName(about)}: ${content.message}`,
        "Rename it, or ask the student for it.",
      ),
    ];
  }
  const isLink =
    (says.by === "canvas" || says.by === "canvas-anonymous") && pieces.every(({ as }) => as === "link.html");
  return isLink
    ? finding("INTAKE_LINK", `${showName(about)} is a link; what it leads to was not fetched.`, "Fetch it yourself.")
    : doubts;
}

/** Works of which nobody knows whether they are late, or by how much, where lateness costs points: nothing is taken off, and that is said. */
function untimed(submissions: readonly ClassSubmission[], { deadline, late }: IntakeOptions, at: Place): Finding[] {
  if ((late?.percentPerDay ?? 0) === 0) return [];
  const counting = submissions.filter(({ counts }) => counts);
  const of = (found: readonly ClassSubmission[], says: string): Finding[] =>
    found.length === 0
      ? []
      : [
          {
            severity: "warning",
            code: "INTAKE_LATE_UNKNOWN",
            message: `${found.map(({ key }) => showName(key)).join(", ")}: ${says}. No points are taken off.`,
            fix: "Take a roster or worksheet that says when each work was handed in, or take points off by hand.",
            at,
          },
        ];
  return [
    ...of(
      counting.filter(({ lateness }) => lateness.is === "late" && lateness.byMs === null),
      "late, and nobody says by how much",
    ),
    ...of(
      deadline === undefined ? [] : counting.filter(({ lateness }) => lateness.is === "unknown"),
      "nobody says when it was handed in",
    ),
  ];
}

/** The same content from different people: said, and judged by nobody here. */
function twins(submissions: readonly ClassSubmission[], at: Place): Finding[] {
  const byHash = new Map<string, ClassSubmission[]>();
  for (const one of submissions) {
    if (one.content.is !== "taken") continue;
    byHash.set(one.content.hash, [...(byHash.get(one.content.hash) ?? []), one]);
  }
  return [...byHash.values()]
    .filter((same) => same.some(({ by }) => same.some((other) => !other.by.some((key) => by.includes(key)))))
    .map((same) => ({
      severity: "warning",
      code: "INTAKE_SAME_CONTENT",
      message: `${same.map(({ key }) => showName(key)).join(", ")} are the same, byte by byte.`,
      fix: "Look at them; nothing was decided.",
      at,
    }));
}
