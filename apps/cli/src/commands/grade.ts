import { basename, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readClassWorks } from "@markmill/classroom";
import type { Json } from "@markmill/engine";
import { changedCriteria, stratifiedSample } from "@markmill/grading";
import {
  catchInterrupts,
  everyMember,
  everyWork,
  mayVoid,
  mustWork,
  openStackOrServer,
  parseCount,
  type RunOptions,
  readScript,
  requireConfig,
  requireOwnWorker,
  rubricChange,
  type ScriptFile,
  type Stack,
  workForBatch,
  writeRunOptions,
} from "@markmill/stack";
import type { BatchDetail, NewBatch, NewWork } from "@markmill/store";
import { acceptWalls } from "../accept-walls.ts";
import { countOf } from "../amounts.ts";
import { attendClass } from "../attend-class.ts";
import { readCapFlags } from "../cap-flags.ts";
import { type ClassFacts, readClassFacts, writeClassFacts } from "../class-facts.ts";
import { type ClassPlan, gitAccess, planClass, tell, withSandbox } from "../class-plan.ts";
import { previewClass } from "../class-preview.ts";
import { resultsOf } from "../class-results.ts";
import { scriptFor } from "../class-script.ts";
import { SimilarityGatherer } from "../class-similarity.ts";
import { type Command, CommandError, exitCodes, type Terminal, UsageError } from "../command.ts";
import { choicesOf, keptChoices } from "../counting-choices.ts";
import { findingAsJson } from "../definition-as-json.ts";
import { gradeTable } from "../grade-table.ts";
import { jsonText } from "../json-text.ts";
import { isSettled, standingKeys } from "../known-works.ts";
import { leaveToBackground } from "../leave-run.ts";
import { answererOf, modelsOf, restartLine } from "../model-change.ts";
import { readingChanges } from "../reading-changes.ts";
import { requireModel } from "../require-model.ts";
import { requireSandbox, warnOfNoExecutor } from "../require-sandbox.ts";
import { paperKinds } from "../results-register.ts";
import { type Decisions, readDecisions, withStoredKeys } from "../stored-keys.ts";
import { isTableFile, planTable } from "../table-plan.ts";
import { tellRubricChange } from "../tell-rubric-change.ts";
import { terminalLog } from "../terminal-log.ts";
import { whoSays } from "../who-says.ts";

export const grade: Command = {
  help: `Usage: markmill grade PATH [OPTIONS]

Grade a class. Markmill starts one run per submission, prints a table and writes
the class report and the proposed grades to a folder. To continue after Ctrl-C,
a crash or a spent budget, run the same command again: no model call is paid for
twice, and no student is graded twice. Grades stay proposals until you run
'markmill release'.

PATH is one of these:
  - a folder with class.yaml
  - an export of Canvas, Moodle or Gradescope (folder or zip)
  - a CodeMentor batch (.cfg.json): every combination of workflow, settings and
    values becomes a run

Examples:
  markmill grade examples/class-roman --script examples/class-roman/model.yaml
  markmill grade sheet3/ --dry-run                 list the submissions
  markmill grade sheet3/ --sample 8 --budget '$1'  grade a pilot first
  markmill grade export.zip --workflow grade.wf.md --roster roster.csv
  markmill grade compare.cfg.json --budget '$2'    run a table of runs

  --dry-run            read and check everything, but start nothing
  --sample N           grade only N submissions of different sizes
  --budget $           pause the class when it has cost this much
  --concurrency N      grade at most N submissions at the same time
  --model NAME         use this model
  --script FILE        use a scripted model, to try things out
  --similarity         list pairs of similar submissions for a person to compare
  --same OLD=NEW       the student NEW in the roster is the stored student OLD
  --new KEY            the student KEY in the roster is new
  --counts STUDENT=SUBMISSION
                       let this submission (a folder or file) count for the
                       student, against the policy for attempts. Markmill
                       remembers the choice; 'STUDENT=' removes it
  --out DIR            write results here (default: 'results' in the class
                       folder)
  --draft              also write a draft report for each student; without it,
                       'markmill release' writes the student reports
  --workflow FILE, --rubric FILE, --roster FILE
                       override the paths in class.yaml
  --sandbox KIND       auto, docker, jail, or none (your own files only)
  --yes                use the changed rubric even if that voids grades; without
                       it, Markmill counts these grades and changes nothing
  --detach             start the class, print its id and exit
  --json               print one JSON object instead of the table

Exit codes:
  0  every submission is graded      5  the budget is spent
  1  failed                          6  the class or workflow is invalid
  2  wrong use                       7  no sandbox
  3  some submissions not graded     8  a run waits to be resumed
  4  results could not be written    130  interrupted`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        "dry-run": { type: "boolean" },
        sample: { type: "string" },
        budget: { type: "string" },
        concurrency: { type: "string" },
        model: { type: "string" },
        script: { type: "string" },
        similarity: { type: "boolean" },
        same: { type: "string", multiple: true },
        new: { type: "string", multiple: true },
        counts: { type: "string", multiple: true },
        out: { type: "string" },
        workflow: { type: "string" },
        rubric: { type: "string" },
        roster: { type: "string" },
        sandbox: { type: "string" },
        yes: { type: "boolean" },
        draft: { type: "boolean" },
        detach: { type: "boolean" },
        json: { type: "boolean" },
      },
    });
    const [path, ...more] = positionals;
    if (path === undefined || more.length > 0) throw new UsageError("Name one class: its folder or an export.");
    const sample = count(values.sample, "--sample");
    const concurrency = count(values.concurrency, "--concurrency");
    const { caps } = await readCapFlags({ budget: values.budget });
    const config = requireConfig(terminal, { submissions: [] });
    const ownWorker = (["script", "sandbox"] as const).flatMap((flag) =>
      values[flag] === undefined ? [] : `--${flag}`,
    );
    if (isTableFile(path)) {
      const no = (
        ["sample", "similarity", "draft", "workflow", "rubric", "roster", "same", "new", "counts"] as const
      ).find((flag) => values[flag] !== undefined);
      if (no !== undefined) throw new UsageError(`--${no} works only for a class; ${path} is a table of runs.`);
      const own = withSandbox(config, values.sandbox, undefined);
      const table = planTable(path, values.model, own, terminal);
      if (table === null) {
        terminal.err(`${path} was not run: it is invalid.`);
        return exitCodes.invalid;
      }
      return await gradeTable(table, own, terminal, {
        concurrency,
        budget: caps.nanodollars ?? null,
        json: values.json === true,
        detach: values.detach === true,
        dryRun: values["dry-run"] === true,
        script: values.script === undefined ? null : await readScript(values.script, terminal.cwd),
        ownWorker,
        out: resolve(terminal.cwd, values.out ?? `${table.name}-results`),
      });
    }
    const plan = await planClass(path, values, config, terminal);
    if (plan === null) {
      terminal.err(`${path} was not graded: it is invalid.`);
      return exitCodes.invalid;
    }
    if (values["dry-run"] === true) {
      return await dryRun(plan, { counts: values.counts ?? [], json: values.json === true }, terminal);
    }
    const script = values.script === undefined ? null : await readScript(values.script, terminal.cwd);
    const decisions = readDecisions(values.same ?? [], values.new ?? []);
    if (decisions === null) throw new UsageError("--same needs OLD=NEW, and each NEW may appear only once.");
    return await gradeClass(plan, terminal, {
      decisions,
      counts: values.counts ?? [],
      path,
      sample,
      script,
      similarity: values.similarity === true,
      json: values.json === true,
      budget: caps.nanodollars ?? plan.head.class.budget.class ?? null,
      concurrency: concurrency ?? plan.head.class.concurrency ?? null,
      detach: values.detach === true,
      yes: values.yes === true,
      draft: values.draft === true,
      ownWorker,
      out: values.out === undefined ? defaultOut(plan, path, terminal.cwd) : resolve(terminal.cwd, values.out),
    });
  },
};

interface Manner {
  readonly decisions: Decisions;
  /** Values of --counts. */
  readonly counts: readonly string[];
  readonly path: string;
  readonly sample: number | null;
  readonly script: ScriptFile | null;
  readonly similarity: boolean;
  readonly json: boolean;
  readonly budget: number | null;
  readonly concurrency: number | null;
  readonly detach: boolean;
  /** The person accepts that a changed rubric may void grades. */
  readonly yes: boolean;
  /** Reports are written before the release, marked as drafts. */
  readonly draft: boolean;
  /** Flags that only a worker of this process supports. */
  readonly ownWorker: readonly string[];
  readonly out: string;
}

function count(text: string | undefined, flag: string): number | null {
  if (text === undefined) return null;
  const read = parseCount(text);
  if (read === null || read < 1 || read > 10_000) throw new UsageError(`${flag} must be a number from 1 to 10,000.`);
  return read;
}

export function defaultOut({ head }: Pick<ClassPlan, "head">, path: string, cwd: string): string {
  if (head.described) return join(head.folder, "results");
  return resolve(cwd, `${basename(path).replace(/\.zip$/i, "")}-results`);
}

async function dryRun(
  plan: ClassPlan,
  { counts, json }: Pick<Manner, "counts" | "json">,
  terminal: Terminal,
): Promise<number> {
  const read = await readClassWorks(plan.head, {
    without: ["results"],
    git: gitAccess(plan.config, terminal.cwd),
    choices: (members) => choicesOf(counts, { members: [], works: [], choices: [] }, members),
  });
  tell(read.findings, terminal);
  if (!read.ok) return exitCodes.invalid;
  const { intake } = read.class;
  if (json) {
    const { members, submissions: works, problems, ...rest } = intake;
    terminal.out(
      jsonText({
        name: plan.name,
        roster: plan.head.roster?.mapping ?? null,
        ...rest,
        // The address is removed, because a student may have written a password into it.
        members: members.map(({ repository: _, at: __, ...member }) => member),
        works,
        findings: problems.map(findingAsJson),
      }),
    );
  } else for (const line of previewClass(plan.name, intake, plan.head.roster)) terminal.out(line);
  if (read.findings.some(({ code }) => code === "INTAKE_UNORDERED"))
    terminal.err("note: --dry-run ignores stored choices of an earlier 'grade --counts'");
  terminal.err("nothing was started: --dry-run");
  return exitCodes.success;
}

async function gradeClass(plan: ClassPlan, terminal: Terminal, manner: Manner): Promise<number> {
  const config = await acceptWalls([plan.definition], plan.config, terminal);
  const interrupts = catchInterrupts();
  const stack = await openStackOrServer({ config, cwd: terminal.cwd, log: terminalLog(terminal) });
  let stopScript = async () => {};
  let begun = false;
  try {
    const works = await mustWork(stack, config);
    if (!works) requireOwnWorker(config, manner.ownWorker);
    if (works) await requireSandbox(plan.definition, config, terminal.cwd);
    else await warnOfNoExecutor([plan.definition], stack, terminal.err);
    const known = (await stack.tenant.batches.list({ key: plan.key })).batches[0] ?? null;
    const before = known === null ? null : await stack.tenant.batches.get(known.id);
    if (before?.state.is === "cancelled") {
      throw new CommandError(
        "CLASS_CANCELLED",
        `This class was cancelled: ${before.state.reason}`,
        `'markmill resume ${before.id}' continues it.`,
      );
    }
    const confirmedVoids = before === null ? null : await confirmRubric(stack, before, plan, manner.yes, terminal);
    const script = await scriptFor(stack, manner.script, before?.settings.run.options ?? null);
    stopScript = script.stop;
    const stored = {
      members: known === null ? [] : await everyMember(stack.tenant.batches, known.id),
      works: known === null ? [] : await everyWork(stack.tenant.batches, known.id),
      choices: readClassFacts(before?.settings.facts).choices,
    };
    const similarity = manner.similarity ? new SimilarityGatherer() : null;
    const read = await readClassWorks(plan.head, {
      without: [relative(plan.head.submissions, manner.out)],
      git: gitAccess(config, terminal.cwd),
      choices: (members) => choicesOf(manner.counts, stored, members),
      take: async ({ key, submission }) => {
        await stack.tenant.blobs.save(submission.tar);
        await similarity?.add(key, submission.tar);
      },
    });
    tell(read.findings, terminal);
    if (!read.ok) {
      terminal.err(`${manner.path} was not graded: it is invalid.`);
      return exitCodes.invalid;
    }
    if (interrupts.signal.aborted) return exitCodes.interrupted;
    for (const line of previewClass(plan.name, read.class.intake, null)) terminal.err(line);
    const at = { file: plan.head.submissions, line: 1, column: 1 };
    const kept = withStoredKeys(read.class.intake, stored, manner.decisions, at);
    if (kept.is === "unsure") {
      tell(kept.findings, terminal);
      terminal.err(`${manner.path} was not graded: some students could not be identified. Nothing was changed.`);
      return exitCodes.invalid;
    }
    if (kept.renamed.length > 0)
      terminal.err(`${countOf(kept.renamed.length, "student")} with a new key: grades and runs are kept`);
    const intake = { ...read.class.intake, ...kept };
    const chosen = chooseWorks(intake.submissions, manner.sample);
    const inSample = new Set(chosen.map(({ key }) => key));
    const left = intake.submissions.filter(({ key }) => !inSample.has(key));
    const counting = new Map(
      read.class.intake.submissions.filter(({ counts }) => counts).map(({ key, by }) => [key, by]),
    );
    const alike = (await similarity?.compare(counting)) ?? null;
    const storedKey = (key: string) => kept.keyOf.get(key) ?? key;
    const { class: found } = plan.head;
    const options: RunOptions = {
      sandbox: config.sandbox.kind === "none" && !config.sandbox.byFlag ? "auto" : config.sandbox.kind,
      defaultModel: config.models.defaultModel,
      script: script.ref,
    };
    const stand = intake.unfetched.length === 0 ? [] : standingKeys(stored.works, chosen, intake.unfetched);
    const batch: NewBatch = {
      key: plan.key,
      name: plan.name,
      definition: plan.definition,
      rubric: plan.rubric,
      ...(confirmedVoids === null ? {} : { confirmedVoids }),
      ...(manner.concurrency === null ? {} : { concurrency: manner.concurrency }),
      ...(manner.budget === null ? {} : { budget: { nanodollars: manner.budget, tokens: null } }),
      settings: {
        run: {
          variables: plan.variables,
          environment: config.workflowEnvironment,
          ...(found.budget.student === undefined ? {} : { caps: { nanodollars: found.budget.student } }),
          options: writeRunOptions(options) as { readonly [name: string]: Json },
        },
        late: found.late.percentPerDay === 0 ? null : found.late,
        aiConsent: found.aiConsent,
        language: found.language ?? null,
        facts: writeClassFacts({
          deadline: found.deadline ?? null,
          unmatched: intake.unmatched.map(({ name }) => name),
          similar:
            alike?.pairs.map(({ one, other, similarity: share }) => ({
              one: storedKey(one),
              other: storedKey(other),
              similarity: share,
            })) ?? readClassFacts(before?.settings.facts).similar,
          comparedPartly: [...(alike?.partly.map(storedKey) ?? readClassFacts(before?.settings.facts).comparedPartly)],
          left: left.length,
          unsampled: [...new Set(left.flatMap(({ countsFor }) => countsFor))],
          unfetched: [...new Set(intake.unfetched.flatMap(({ by }) => by))],
          candidates: [
            ...new Set(
              read.class.intake.unmatched.flatMap(({ may = [] }) => may.map((key) => kept.memberKeys.get(key) ?? key)),
            ),
          ],
          choices: keptChoices(intake.choices, stored.choices, kept.memberKeys, {
            by: whoSays(undefined),
            at: new Date(stack.store.clock.now()).toISOString(),
          }),
          out: manner.out,
          table: null,
        }),
      },
      members: intake.members.map(({ at: _, repository: __, ...member }) => member),
      works: chosen,
      // A submission that could not be fetched may still exist, so it stays unchanged.
      whole:
        manner.sample === null
          ? [...new Set([...[...chosen, ...intake.unfetched].map(({ key }) => key), ...stand])]
          : false,
    };
    const wishes = { variables: plan.variables, rubric: plan.rubric, scripted: manner.script !== null };
    await requireModel([plan.definition], config, terminal, {
      ...wishes,
      budget: manner.budget !== null,
      probe: works,
      consent: found.aiConsent,
    }).catch(async (error: unknown) => {
      // The files of a graded class can be written again without a model.
      if (known === null || !isSettled(await everyWork(stack.tenant.batches, known.id), chosen)) throw error;
    });
    const names = new Map([...stored.members, ...intake.members].map(({ key, name }) => [key, name]));
    const changes = manner.sample === null ? readingChanges(stored.works, chosen, intake.unfetched, names) : [];
    if (known !== null) {
      await requireSameChoices(stack, known.id, stored.choices);
      await resultsOf(stack, config, known, terminal).note();
    }
    const saved = await stack.tenant.batches.save(batch);
    begun = true;
    await resultsOf(stack, config, saved, terminal).remember({
      out: manner.out,
      kinds: [...paperKinds],
      draft: manner.draft,
    });
    tellSaved(saved, terminal);
    for (const line of changes) terminal.err(line);
    const { from, to } = modelsOf(before, {
      definition: plan.definition,
      variables: plan.variables,
      defaultModel: config.models.defaultModel,
    });
    const model = from === null || to === null || from === to ? null : { from, to };
    const continued = restartLine(saved, { from, to: answererOf(manner.script?.name ?? null, to) });
    if (continued !== null) terminal.err(continued);
    if (model !== null)
      terminal.err(
        `! ${model.to} grades the remaining submissions; grades by ${model.from} are kept; 'markmill regrade' grades them again`,
      );
    const stands = await stack.tenant.batches.get(saved.id);
    const halted = stands?.state.is === "paused" || stands?.troubles.some(({ held }) => held) === true;
    const { runs, jobs } = halted ? await stack.tenant.batches.resume(saved.id) : { runs: 0, jobs: [] };
    if (runs > 0)
      terminal.err(
        `${countOf(runs, "waiting submission")} ${runs === 1 ? "continues" : "continue"}; paid replies are kept`,
      );
    if (manner.detach) {
      await stopScript();
      stopScript = async () => {};
      if (works) leaveToBackground(saved.id, config, terminal);
      else await stack.queues.enqueue(jobs);
      terminal.out(manner.json ? jsonText({ id: saved.id, created: saved.created }, 0) : saved.id);
      return exitCodes.success;
    }
    if (works) await workForBatch(stack, saved.id);
    await stack.queues.enqueue(jobs);
    return await attendClass(
      stack,
      saved.id,
      { json: manner.json, works, names: true, out: manner.out, home: resolve(terminal.cwd, config.home) },
      terminal,
      interrupts.signal,
    );
  } finally {
    await stack.close();
    await stopScript();
    if (interrupts.signal.aborted && begun) {
      terminal.err("next: run the same command again to continue; no model call is paid for twice");
    }
    interrupts.release();
  }
}

/**
 * Lists the marks that a changed rubric voids, before anything is saved. The person must confirm with --yes. The server receives the
 * confirmation of exactly this list, and refuses it if the change would void more by then.
 */
async function confirmRubric(
  { tenant }: Pick<Stack, "tenant">,
  before: BatchDetail,
  { rubric }: ClassPlan,
  yes: boolean,
  terminal: Terminal,
): Promise<string | null> {
  if (changedCriteria(before.rubric, rubric).length === 0) return null;
  const change = rubricChange(before.rubric, rubric, await everyWork(tenant.batches, before.id));
  if (change === null) return null;
  for (const line of tellRubricChange(change)) terminal.err(line);
  if (mayVoid(change, yes ? change.seen : undefined)) return change.seen;
  throw new CommandError(
    "CLASS_RUBRIC_CHANGED",
    "Nothing was changed, because the changed rubric would void grades.",
    "Add --yes to use the changed rubric, or change it back.",
  );
}

/** Refuses to overwrite a colleague's choice that was made while this command read the class. */
async function requireSameChoices(
  { tenant }: Pick<Stack, "tenant">,
  id: string,
  read: ClassFacts["choices"],
): Promise<void> {
  const now = readClassFacts((await tenant.batches.get(id))?.settings.facts).choices;
  if (JSON.stringify(now) === JSON.stringify(read)) return;
  throw new CommandError(
    "CLASS_CHANGED",
    "Another person chose which submission counts for a student while this command ran. Nothing was changed.",
    "Run the same command again.",
  );
}

/** Returns the whole class, or a pilot sample with submissions of every size. */
function chooseWorks(all: readonly NewWork[], sample: number | null): readonly NewWork[] {
  if (sample === null) return all;
  const gradable = all.flatMap((work) =>
    work.counts && work.content.is === "taken" ? [{ key: work.key, size: work.content.bytes }] : [],
  );
  const chosen = new Set(stratifiedSample(gradable, sample).map(({ key }) => key));
  return all.filter(({ key }) => chosen.has(key));
}

function tellSaved(
  saved: {
    readonly created: boolean;
    readonly added: number;
    readonly changed: number;
    readonly otherDefinition: number;
    readonly dropped?: number;
  },
  terminal: Terminal,
): void {
  if (saved.created) return;
  const parts = [
    ...(saved.added > 0 ? [`${saved.added} new`] : []),
    ...(saved.changed > 0 ? [`${saved.changed} changed, to be graded again`] : []),
    ...((saved.dropped ?? 0) > 0 ? [`${saved.dropped} withdrawn and excluded`] : []),
  ];
  terminal.err(`continuing this class${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`);
  if (saved.otherDefinition > 0) {
    terminal.err(
      `! ${saved.otherDefinition} were graded with another version of the workflow or rubric and are kept; 'markmill regrade' grades them again`,
    );
  }
}
