/**
 * Grades a submission by the rubric, from test results and from the verdicts of models. A model sees the submission as data between
 * delimiters that the submission cannot close. It answers with marks and quotations. Points are looked up, clamped and summed here. Every
 * submission that models judge gets two passes, the second one without comments and texts in quotes, unless the workflow sets otherwise. A
 * panel of other models may be asked, too.
 *
 * Each pass has its own range of call indexes, and every request is built from stored data (submission, roster), so kill -9 at any line is
 * harmless. The activity is delivered again, finds each stored reply under the same index and hash, and sends only the unanswered requests.
 *
 * A missing verdict is never 0: if a model does not answer in the required form, it is asked once more, and then a person decides.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Json, Outcome, Usage, Work } from "@markmill/engine";
import {
  compareLooks,
  comparePanel,
  criteriaForModel,
  type Flag,
  type FlagKind,
  flagKinds,
  freeName,
  type Grade,
  type GradeInput,
  gradeMessages,
  gradeWork,
  neutralise,
  piecesOfName,
  type ReadResults,
  type ReadVerdicts,
  type Rubric,
  regradeCriterion,
  repairMessage,
  type ShownWork,
  scoreTests,
  showWork,
  storedResults,
  trimLineEnds,
  ungradable,
  verdictSchema,
  type WorkFacts,
} from "@markmill/grading";
import { callModel, fitContext, type Model, type ModelClient, type ModelMessage, together } from "@markmill/llm";
import type { SessionFiles } from "@markmill/sandbox";
import { chooseModel, consentRefusal, type ModelPorts, modelFailed } from "./choose-model.ts";
import { lengthOf, readForeign } from "./foreign-text.ts";
import { done, failed, type Performed } from "./performed.ts";

export interface GradePorts extends ModelPorts {
  readonly submission: () => Promise<SessionFiles>;
  /**
   * Sends requests unchanged: each part that others wrote was scrubbed before. The form and the rubric are never scrubbed. Absent:
   * `client`.
   */
  readonly unscrubbed?: ModelClient;
  /** The language of the feedback. null: the rubric's. */
  readonly language: string | null;
  /** Only this criterion is judged again, and the other verdicts stay. null: the whole submission is judged. */
  readonly regrade: NonNullable<WorkFacts["regrade"]> | null;
}

type GradeWork = Extract<Work, { kind: "grade" }>;
type GradedActivity = { readonly id: number; readonly ref: { readonly attempt: number } };

/** Distance between the first call indexes of two passes: a pass takes two calls, and one more for each empty reply. */
const CALLS_PER_LOOK = 100;
const FIRST_LOOK = 0;
const SECOND_LOOK = 1;
const PANEL = 2;
/** Limits for the submission in one request. */
const MOST_CHARACTERS = 200_000;
const LEAST_CHARACTERS = 2_000;
/** Limit for one file: twice the shown length, because scrubbing makes a text shorter. */
const MOST_OF_FILE = 120_000;

export async function performGrade(
  ports: GradePorts,
  work: GradeWork,
  activity: GradedActivity,
  signal: AbortSignal,
): Promise<Performed> {
  const whole = work.rubric as unknown as Rubric;
  const { regrade } = ports;
  const rubric = regrade === null ? whole : { criteria: whole.criteria.filter(({ id }) => id === regrade.criterion) };
  const files = await ports.submission();
  const { texts, empty, notes, cut } = await readForeign(bytesOf(files), "submissionTexts", files);
  if (empty) return graded(ungradable(whole, "nothing was handed in"), [], null);
  const tests = storedResults(work.tests);
  const spoken = foreignOf(work);
  const flags = await readForeign(lengthOf(texts) + lengthOf(spoken), "findFlags", texts, spoken);
  const looks = new Looks(ports, work, rubric, texts, tests, activity, signal);
  // If the tests gave no results, the submission is graded again later. Until then no model is paid.
  const untested = rubric.criteria.some(({ source }) => source.is === "tests") && tests?.is !== "read";
  const asked = criteriaForModel(rubric).length > 0 && !untested;
  const opinion = asked ? await looks.opinion(flags) : noOpinion;
  if ("did" in opinion) return opinion;
  const { confidence, pass, borderline, flags: wanted } = work.grading.review;
  const input: GradeInput = {
    tests,
    verdicts: opinion.verdicts,
    flags: [...flags, ...opinion.flags],
    doubts: asked ? [...cut, ...opinion.doubts] : [],
    review: {
      confidenceBelow: confidence,
      ...(pass === null ? {} : { passMark: pass, borderline }),
      flags: flagKinds.filter((kind: FlagKind) => wanted.includes(kind)),
    },
  };
  const grade =
    regrade === null ? gradeWork(whole, input) : regradeCriterion(whole, regrade.standing, regrade.criterion, input);
  return graded(grade, asked ? [...notes, ...cut, ...opinion.notes] : [], looks.usage);
}

interface Opinion {
  readonly verdicts: ReadVerdicts | null;
  readonly flags: readonly Flag[];
  readonly doubts: readonly string[];
  readonly notes: readonly string[];
}

const noOpinion: Opinion = { verdicts: null, flags: [], doubts: [], notes: [] };
const unasked = (problem: string): ReadVerdicts => ({
  verdicts: [],
  problems: [{ criterion: null, problem }],
  nextSteps: [],
});

interface Chosen {
  readonly name: string;
  readonly model: Model;
}

class Looks {
  /** All calls so far. */
  usage: Usage | null = null;
  readonly #ports: GradePorts;
  readonly #work: GradeWork;
  readonly #rubric: Rubric;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #tests: ReadResults | null;
  readonly #activity: GradedActivity;
  readonly #signal: AbortSignal;
  /** The original name, by shown name. */
  readonly #paths = new Map<string, string>();
  /** The number of characters, by shown name, for files that were cut before they were shown. */
  readonly #lengths = new Map<string, number>();

  constructor(
    ports: GradePorts,
    work: GradeWork,
    rubric: Rubric,
    texts: ReadonlyMap<string, string>,
    tests: ReadResults | null,
    activity: GradedActivity,
    signal: AbortSignal,
  ) {
    this.#ports = ports;
    this.#work = work;
    this.#rubric = rubric;
    this.#texts = texts;
    this.#tests = tests;
    this.#activity = activity;
    this.#signal = signal;
  }

  async opinion(attempts: readonly Flag[]): Promise<Opinion | Performed> {
    const { grading, settings } = this.#work;
    if (this.#ports.consent === "none") {
      return {
        ...noOpinion,
        verdicts: unasked("not graded: the student did not agree that a model may see the submission"),
      };
    }
    const first = chooseModel(this.#ports, settings.model);
    if ("did" in first) return first;
    const refusal = consentRefusal(this.#ports.consent, first.model);
    if (refusal !== null) return { ...noOpinion, verdicts: unasked(`not graded: ${refusal}`) };
    if (this.#texts.size === 0) return { ...noOpinion, verdicts: unasked("the submission contains no text") };

    const flags: Flag[] = [];
    const doubts: string[] = [];
    const shown = await this.#prepared();
    const whole = await this.#look(FIRST_LOOK, first, this.#rubric, shown, false);
    if ("did" in whole) return whole;
    doubts.push(...whole.cut);

    const { bare, nothing } = await this.#withoutWords(shown);
    const wantsSecond = grading.twice === "always" || (grading.twice === "flagged" && attempts.length > 0);
    const subset = { criteria: this.#rubric.criteria.filter(({ evidence }) => evidence !== "comments") };
    const compared = wantsSecond && criteriaForModel(subset).length > 0;
    // If nothing is left for the second pass, natural-language text won all points.
    const won = whole.verdicts.verdicts.some(
      ({ criterion, points }) => points > 0 && subset.criteria.some(({ id }) => id === criterion),
    );
    if (compared && won && nothing === "prose") flags.push({ kind: "wording", message: wordsAlone });
    if (compared && won && nothing === "words") doubts.push(wordsAlone);
    if (compared && bare !== null) {
      const second = await this.#look(SECOND_LOOK, first, subset, bare, true);
      if ("did" in second) return second;
      flags.push(...compareLooks(subset, whole.verdicts.verdicts, second.verdicts.verdicts, grading.review.gain));
      const open = unanswered(subset, whole.verdicts, second.verdicts);
      if (open.length > 0) doubts.push(`the grading pass without comments gave no answer for ${open.join(", ")}`);
    }

    for (const [index, named] of grading.panel.entries()) {
      const other = chooseModel(this.#ports, named);
      if ("did" in other) return other;
      const held = consentRefusal(this.#ports.consent, other.model);
      if (held !== null) {
        doubts.push(`${other.name} was not used: ${held}`);
        continue;
      }
      const second = await this.#look(PANEL + index, other, this.#rubric, shown, false);
      if ("did" in second) return second;
      const one = { model: first.name, verdicts: whole.verdicts.verdicts };
      flags.push(...comparePanel(this.#rubric, one, { model: other.name, verdicts: second.verdicts.verdicts }));
      const open = unanswered(this.#rubric, whole.verdicts, second.verdicts);
      if (open.length > 0) doubts.push(`${other.name} gave no answer for ${open.join(", ")}`);
    }
    return { verdicts: whole.verdicts, flags, doubts, notes: [] };
  }

  /**
   * One question, and a second one with the findings if the answer was invalid. Returns a performed activity if the run has to wait or
   * cannot pay.
   */
  async #look(
    look: number,
    chosen: Chosen,
    rubric: Rubric,
    texts: ReadonlyMap<string, string>,
    bare: boolean,
  ): Promise<{ readonly verdicts: ReadVerdicts; readonly cut: readonly string[] } | Performed> {
    const asked = await this.#question(chosen, rubric, texts, bare);
    if (asked === null) return { verdicts: unasked(`the task is too long for ${chosen.name}`), cut: [] };
    const { messages, work } = asked;
    const first = await this.#ask(look * CALLS_PER_LOOK, chosen, rubric, messages);
    if ("did" in first) return first;
    const read = await this.#read(rubric, first, work);
    if (read.problems.length === 0 || first.text === null) return { verdicts: read, cut: work.notes };
    const again: readonly ModelMessage[] = [
      ...messages,
      { role: "assistant", content: first.text },
      { role: "user", content: repairMessage(read.problems) },
    ];
    const second = await this.#ask(first.callIndex + 1, chosen, rubric, again);
    if ("did" in second) return second;
    return { verdicts: better(rubric, await this.#read(rubric, second, work), read), cut: work.notes };
  }

  async #read(
    rubric: Rubric,
    reply: { readonly text: string | null; readonly why: string },
    { texts, origins }: ShownWork,
  ): Promise<ReadVerdicts> {
    if (reply.text === null) return unasked(reply.why);
    const length = reply.text.length + lengthOf(texts);
    const read = await readForeign(length, "readVerdicts", rubric, reply.text, { texts, origins });
    return reply.why === "" || read.verdicts.length > 0 ? read : unasked(reply.why);
  }

  async #ask(
    callIndex: number,
    { name, model }: Chosen,
    rubric: Rubric,
    messages: readonly ModelMessage[],
  ): Promise<{ readonly text: string | null; readonly why: string; readonly callIndex: number } | Performed> {
    const { client, unscrubbed = client } = this.#ports;
    const called = await callModel(
      { ...this.#ports, client: unscrubbed },
      {
        activityId: String(this.#activity.id),
        attempt: this.#activity.ref.attempt,
        callIndex,
        request: {
          model: name,
          messages,
          settings: this.#settings(model, rubric),
          schema: { name: "grade", schema: verdictSchema(rubric), strict: true },
        },
        signal: this.#signal,
      },
    );
    this.usage = together(this.usage, called.booked);
    switch (called.kind) {
      case "limited":
        return failed(called.code, called.message, "fail", { usage: this.usage });
      case "failed": {
        const { failure } = called;
        if (this.#signal.aborted && failure.code === "MODEL_ABORTED") return { did: "leave" };
        // The model will decline every time, so a person decides.
        if (declined.has(failure.code)) return { text: null, why: `${name}: ${failure.message}`, callIndex };
        return modelFailed(this.#ports, model.name, failure, this.usage);
      }
      case "replied": {
        const cut = called.reply.finishReason === "length" ? "the answer was cut at the limit of output tokens" : "";
        return { text: called.reply.text, why: cut, callIndex: called.callIndex };
      }
    }
  }

  /**
   * The question with as much of the submission as fits into the model's window. null: the question does not fit even without the
   * submission.
   */
  async #question(
    { model }: Chosen,
    rubric: Rubric,
    texts: ReadonlyMap<string, string>,
    bare: boolean,
  ): Promise<{ readonly messages: readonly ModelMessage[]; readonly work: ShownWork } | null> {
    const { task } = this.#work;
    const { scrub, language } = this.#ports;
    const scrubbedTask = await scrub(task);
    const given = new Map<string, string>();
    for (const [name, text] of Object.entries(await this.#given(bare)))
      given.set(freeName(await scrub(name), given), await scrub(text));
    // No text can contain its own hash, so the submission cannot close the delimiters.
    const nonce = createHash("sha256")
      .update(JSON.stringify([task, [...given], this.#work.rubric, [...texts], bare]))
      .digest("hex")
      .slice(0, 32);
    const { maxOutputTokens = model.maxOutputTokens } = this.#settings(model, rubric);
    for (let most = MOST_CHARACTERS; most >= LEAST_CHARACTERS; most = Math.floor(most * 0.6)) {
      await nextTurn();
      const work = showWork(texts, {
        nonce,
        mostCharacters: most,
        pathOf: (name) => this.#paths.get(name) ?? name,
        lengthOf: (name) => this.#lengths.get(name) ?? 0,
      });
      const messages = gradeMessages({
        rubric,
        task: scrubbedTask,
        given,
        work,
        nonce,
        tests: this.#testLines(),
        bare,
        language,
      });
      // Room for an answer of that length and for the repair that quotes it.
      const room = { contextTokens: model.contextTokens - maxOutputTokens, maxOutputTokens };
      if (fitContext(messages, room).kind === "fits") return { messages, work };
    }
    return null;
  }

  #settings(model: Model, rubric: Rubric) {
    const { maxPromptCharacters: _, model: __, stop, cutReplies: ___, ...settings } = this.#work.settings;
    const needed = 500 + 300 * criteriaForModel(rubric).length;
    const usual = Math.max(model.defaults.maxOutputTokens ?? 0, needed);
    const maxOutputTokens = settings.maxOutputTokens ?? Math.min(usual, model.maxOutputTokens);
    return { ...settings, maxOutputTokens, ...(stop === undefined ? {} : { stop: [...stop] }) };
  }

  /** The number of passed tests, and no text that a test or a program printed. */
  #testLines(): string[] {
    const tests = this.#tests;
    if (tests?.is !== "read") return [];
    const { criteria } = this.#work.rubric as unknown as Rubric;
    return criteria.flatMap((criterion) => {
      const score = scoreTests(criterion, tests.tests);
      if (score.is !== "scored") return [];
      const passed = score.tests.filter((test) => test.passed).length;
      return [`${criterion.id}: ${passed} of ${score.tests.length} passed`];
    });
  }

  /** Cuts a file before it is scrubbed: no more of it is ever shown. */
  async #prepared(): Promise<ReadonlyMap<string, string>> {
    const { scrub } = this.#ports;
    const shown = new Map<string, string>();
    for (const [path, text] of this.#texts) {
      const name = freeName(
        neutralise(await scrub(path))
          .replaceAll("\n", " ")
          .slice(0, 180),
        shown,
      );
      this.#paths.set(name, path);
      if (text.length > MOST_OF_FILE) this.#lengths.set(name, text.length);
      shown.set(name, neutralise(await scrub(text.slice(0, MOST_OF_FILE))));
      if (text.length > LEAST_CHARACTERS) await nextTurn();
    }
    return shown;
  }

  /** The bare form keeps values that only the author wrote, numbers, and the code of programs. */
  async #given(bare: boolean): Promise<Readonly<Record<string, string>>> {
    const { given } = this.#work;
    if (!bare) return given;
    const foreign = foreignOf(this.#work);
    const left: [string, string][] = [];
    for (const [name, text] of Object.entries(given))
      left.push([name, foreign.has(name) ? await withoutWords(name, text) : text]);
    return Object.fromEntries(left);
  }

  /**
   * bare is null if nothing is left or nothing was removed. nothing: all of the submission is prose such as a read-me, or text in programs
   * and in files of an unknown language.
   */
  async #withoutWords(texts: ReadonlyMap<string, string>): Promise<{
    readonly bare: ReadonlyMap<string, string> | null;
    readonly nothing: "prose" | "words" | null;
  }> {
    const bare = new Map<string, string>();
    let known = true;
    let taken = Object.entries(await this.#given(true)).some(([name, text]) => this.#work.given[name] !== text);
    for (const [name, text] of texts) {
      // The original name tells the language. The scrubbed name may suggest another one.
      const path = this.#paths.get(name) ?? name;
      const { bare: left, prose, known: isKnown } = await readForeign(text.length, "stripWords", path, text);
      taken ||= prose || left !== text;
      known &&= isKnown && prose;
      if (prose) continue;
      const plain = freeName(ordinaryName(name, bare.size), {
        has: (one) => bare.has(one) || (this.#paths.has(one) && one !== name),
      });
      taken ||= plain !== name;
      this.#paths.set(plain, path);
      const length = this.#lengths.get(name);
      if (length !== undefined) this.#lengths.set(plain, length);
      bare.set(plain, trimLineEnds(left));
    }
    const something = [...bare.values()].some((text) => text.trim() !== "");
    return {
      bare: taken && something ? bare : null,
      nothing: !taken || something ? null : known ? "prose" : "words",
    };
  }
}

function bytesOf(files: SessionFiles): number {
  return files.kind === "tar" ? files.bytes.length : files.files.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

/** The values in the task that a student, a student's program, or a model may have written. */
function foreignOf({ given, authored = [] }: GradeWork): ReadonlyMap<string, string> {
  return new Map(Object.entries(given).filter(([name]) => !authored.includes(name)));
}

const wordsAlone = "without comments and texts, nothing is left for a second grading pass";

/** A number cannot influence a grader. */
async function withoutWords(name: string, text: string): Promise<string> {
  if (/^[\s\d.,:%/+-]{0,200}$/.test(text)) return text;
  const { bare, prose } = await readForeign(text.length, "stripWords", name, text);
  return prose ? "(words, taken out)" : trimLineEnds(bare);
}

/** The content was refused, so a retry would change nothing. */
const declined: ReadonlySet<string> = new Set(["MODEL_REFUSED", "MODEL_CONTEXT_EXCEEDED"]);

/** A file name can contain a sentence, too. */
function ordinaryName(path: string, index: number): string {
  const plain = path.split("/").every((part) => /^[\w.+-]{1,40}$/.test(part) && piecesOfName(part).length < 6);
  if (plain) return path;
  const ending = /\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0] ?? "";
  return `file-${index + 1}${ending}`;
}

/** Criteria that only one of the two passes answered. */
function unanswered(rubric: Rubric, first: ReadVerdicts, second: ReadVerdicts): string[] {
  const has = ({ verdicts }: ReadVerdicts, id: string) => verdicts.some((one) => one.criterion === id);
  return criteriaForModel(rubric)
    .map(({ id }) => id)
    .filter((id) => has(first, id) && !has(second, id));
}

/** Takes for each criterion its latest valid verdict. */
function better(rubric: Rubric, later: ReadVerdicts, earlier: ReadVerdicts): ReadVerdicts {
  const of = (id: string, { verdicts }: ReadVerdicts) => verdicts.find(({ criterion }) => criterion === id);
  const verdicts = criteriaForModel(rubric).flatMap(({ id }) => of(id, later) ?? of(id, earlier) ?? []);
  const left = later.problems.filter(({ criterion }) => !verdicts.some((one) => one.criterion === criterion));
  return { verdicts, problems: left, nextSteps: later.nextSteps.length > 0 ? later.nextSteps : earlier.nextSteps };
}

function graded(grade: Grade, notes: readonly string[], usage: Usage | null): Performed {
  const outcome: Outcome = {
    kind: "graded",
    is: grade.outcome.is,
    points: grade.total,
    text: summary(grade),
    grade: storable(grade),
    ...(notes.length === 0 ? {} : { notes }),
  };
  return done(outcome, usage);
}

/** Makes a grade storable in Postgres and in an event: no NUL, no lone surrogate, and test messages no longer than the available space. */
function storable(grade: Grade): Json {
  const clean = (most: number) =>
    JSON.parse(
      JSON.stringify(grade, (_, value: unknown) =>
        typeof value === "string" ? neutralise(value.slice(0, most)).toWellFormed() : value,
      ),
    ) as Json;
  for (const most of [20_000, 1_000, 100]) {
    const stored = clean(most);
    if (JSON.stringify(stored).length < 1_000_000) return stored;
  }
  return clean(20);
}

function summary({ outcome, criteria, points, most, total }: Grade): string {
  const marks = criteria
    .map((one) => (one.is === "scored" ? `${one.id} ${one.points}` : `${one.id} not graded`))
    .join(", ");
  switch (outcome.is) {
    case "graded":
      return `${total} of ${most} points: ${marks}`;
    case "needs human":
      return `needs human${points === null ? "" : `, ${points} of ${most} points proposed`}: ${outcome.why.join("; ").slice(0, 2_000)}\n${marks}`;
    default:
      return `${outcome.is}: ${outcome.why.slice(0, 2_000)}`;
  }
}
