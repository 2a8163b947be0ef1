/**
 * Reads a class into one plain value that can be shown, stored and compared. Reading the same files again gives the same value, so that
 * storing it by key and hash does not store anything twice.
 *
 * Content is passed to `take`, one submission after the other, and kept nowhere else: memory does not grow with the class. A refused, empty
 * or unmatched submission does not stop the others.
 */

import type { Finding, Place } from "@markmill/definition";
import { defaultLimits, type Submission, type SubmissionLimits, showName } from "@markmill/grading/submission";
import { type AttemptChoice, type HeldChoice, holdChoices } from "./attempt-choices.ts";
import { choiceFindings, type Read, submissionOf } from "./choice-findings.ts";
import type { AttemptPolicy, ClassClock, LatePolicy, LayoutChoice } from "./class-file.ts";
import type { ClassSubmission, Unfetched, Unmatched } from "./class-submission.ts";
import { type Counting, countingWorks } from "./counting-works.ts";
import { type ExportSource, openExport } from "./export-source.ts";
import { FetchTrouble } from "./fetch-trouble.ts";
import { gatherWorks, type Placed } from "./gather-works.ts";
import { ambiguousFinding, contentFindings, twins, unmatchedFinding, untimed } from "./intake-findings.ts";
import { latenessOf, timeOf } from "./lateness.ts";
import { detectLayout, type Layout, type Work } from "./layout.ts";
import { type Match, StudentIndex } from "./match-students.ts";
import type { Member } from "./member.ts";
import { membersOfExport } from "./members-of-export.ts";
import type { Roster } from "./roster.ts";
import { sortExport } from "./sort-export.ts";
import { timedWorks } from "./submitted-times.ts";
import { takeWork } from "./take-work.ts";

export interface ClassIntake {
  readonly layout: Layout;
  readonly members: readonly Member[];
  readonly submissions: readonly ClassSubmission[];
  /**
   * Submissions that could not be fetched, for a reason that is not the student's. Their present state is unknown, so the stored state
   * stays valid.
   */
  readonly unfetched: readonly Unfetched[];
  /** Unmatched files, by their names in the export. */
  readonly unmatched: readonly Unmatched[];
  /** Keys of students without a submission. */
  readonly withoutWork: readonly string[];
  /** Valid choices of the teacher. */
  readonly choices: readonly HeldChoice[];
  readonly problems: readonly Finding[];
}

export interface IntakeOptions {
  readonly roster?: Roster;
  readonly layout?: LayoutChoice;
  readonly match?: RegExp;
  readonly deadline?: number;
  readonly late?: Pick<LatePolicy, "graceMs"> & Partial<LatePolicy>;
  readonly attempts?: AttemptPolicy;
  /** The submission that the teacher chose, by student key. */
  readonly choices?: (members: readonly Member[]) => ReadonlyMap<string, AttemptChoice>;
  /** Used for times without an offset from UTC. */
  readonly clock?: ClassClock;
  readonly limits?: SubmissionLimits;
  /** Files without which a submission cannot be graded. */
  readonly requires?: readonly string[];
  /** Names at the top that belong to the teacher: class.yaml, the roster. */
  readonly without?: readonly string[];
  /** The source of the submissions. Default: the path. */
  readonly source?: ExportSource;
  /** Receives each submission once. An error from this function ends the intake. */
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
      ? await sortExport(source, layout, tops, options, problems, at)
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
        near,
        ...may,
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
      const message = `${showName(about)}: ${content.message} It was not fetched.`;
      problems.push({ severity: "warning", code: content.code, message, fix: content.fix, at, about });
      unfetched.push({ key, by, message: content.message });
      continue;
    }
    const time = timeOf(content, { ...one, lateness: latenessOf(one, options) }, options);
    read.push({
      ...one,
      ...time,
      key,
      content,
      isLate: time.lateness.is === "late",
      isEmpty: content.is === "empty",
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
    layout,
    members: [...members.values()],
    submissions,
    unfetched,
    unmatched,
    withoutWork,
    choices: chosen.held,
    problems,
  };
}

function matchWorks(works: readonly Work[], { roster, requires }: IntakeOptions): readonly (readonly [Work, Match])[] {
  if (roster === undefined) {
    const membersOf = membersOfExport(works);
    return works.map((work) => [work, { is: "matched", by: membersOf(work), group: null }]);
  }
  const matches = new StudentIndex(roster, requires).matchAll(works.map(({ says }) => says));
  return works.map((work, at) => [work, matches[at] ?? { is: "unknown", near: null }]);
}
