/** Handlers for batches. Data that identifies the students of a submission goes only to callers who may read the students. */

import type { Got, Routes } from "@markmill/contract";
import { findModel } from "@markmill/llm";
import {
  everyWork,
  mayVoid,
  presentBatchSummary,
  type RubricChange,
  rubricChange,
  warnNoExecutor,
  withModel,
} from "@markmill/stack";
import {
  type BatchDetail,
  type BatchWork,
  type Definition,
  gradeTag,
  type NewBatch,
  type TenantStore,
  type WorkTry,
} from "@markmill/store";
import { cutPage } from "../cut-page.ts";
import type { Caller, Some } from "../handler.ts";
import { pageOf } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { notFound, Refusal } from "../refusal.ts";
import { shareAnswer } from "../share-answer.ts";
import { checked, limitsOf } from "./runs.ts";

type Names =
  | "saveBatch"
  | "listBatches"
  | "getBatch"
  | "updateBatch"
  | "deleteBatch"
  | "listWorks"
  | "listTries"
  | "listMembers"
  | "listGradeEvents"
  | "recordGrade"
  | "pauseBatch"
  | "resumeBatch"
  | "cancelBatch"
  | "retryWorks"
  | "regradeWorks";

type Shown<Name extends keyof Routes> = Got<Routes[Name]>;

const standingsForMs = 1_000;

export function batchHandlers({ store: installation, enqueuer, settings, catalogue }: ApiParts): Some<Names> {
  const standings = shareAnswer(() => installation.commandStandings(), standingsForMs);
  return {
    async saveBatch({ body, caller: { store } }) {
      const { key, name, rubric, concurrency, budget, members, works, whole, span } = body;
      const definition = await definitionOf(store, body.definition);
      const { variables = {}, caps, patienceMs, late, aiConsent, language, facts } = body;
      const usual = works.find(({ content }) => content.is === "taken" && content.start === undefined)?.content;
      const files = usual?.is === "taken" ? usual.paths : undefined;
      // Checked before anything is stored: a missing parameter would make every run fail.
      const notes = files === undefined ? [] : checked(definition, variables, Object.keys(settings.environment), files);
      for (const { content } of works) {
        if (content.is !== "taken" || content.start === undefined) continue;
        const { start, paths } = content;
        const given = { ...variables, ...start.variables };
        checked(await definitionOf(store, start.definition), given, Object.keys(settings.environment), paths);
      }
      const wanted = rubric ?? rubricOf(definition);
      await requireSeenVoids(store, key, wanted, body.confirmedVoids);
      const saved = await store.batches.save({
        key,
        name,
        definition,
        rubric: wanted,
        members: members as never,
        works: works as NewBatch["works"],
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(budget === undefined ? {} : { budget }),
        ...(whole === undefined ? {} : { whole }),
        ...(span === undefined ? {} : { span }),
        settings: {
          run: {
            variables,
            environment: settings.environment,
            caps: limitsOf(caps),
            notes,
            ...(patienceMs === undefined ? {} : { patienceMs }),
          },
          late,
          aiConsent,
          language,
          ...(facts === undefined ? {} : { facts: facts as never }),
        },
      });
      const { id, created } = saved;
      const warning = await warnNoExecutor([definition], standings);
      const answer = { ...saved, warnings: warning === null ? [] : [warning] };
      return { status: created ? 201 : 200, target: id, location: `/v1/batches/${id}`, body: answer };
    },

    async listBatches({ query, caller: { store } }) {
      const { key, state, id } = query;
      const filter = {
        ...(key === undefined ? {} : { key }),
        ...(state === undefined ? {} : { state }),
        ...(id === undefined ? {} : { idPart: id }),
      };
      const { batches, next } = await store.batches.list(filter, pageOf(query));
      return { body: { items: batches.map(presentBatchSummary), next } };
    },

    async getBatch({ params: { id }, caller }) {
      return { body: presentBatch(await find(caller.store, id), mayName(caller)) };
    },

    async updateBatch({ params: { id }, body, caller: { store } }) {
      const { settings: before } = await find(store, id);
      if (body.model !== undefined && !findModel(catalogue, body.model).ok) {
        const message = `The catalogue has no model ${JSON.stringify(body.model)}. Nothing was changed.`;
        throw new Refusal("BATCH_REFUSED", {
          detail: message,
          hint: "GET /v1/models lists the models of this server.",
        });
      }
      if (body.concurrency !== undefined) await store.batches.setConcurrency(id, body.concurrency);
      if (body.budget !== undefined) await store.batches.setBudget(id, body.budget);
      // On kill -9 between these lines the caller gets no answer, and the same request completes the change.
      const begun = body.model === undefined ? {} : await store.batches.setRun(id, withModel(before.run, body.model));
      const { body: stands } = await changed(store, id);
      return { body: { ...stands, ...begun } };
    },

    async deleteBatch({ params: { id }, caller: { store } }) {
      if (!(await store.batches.delete(id))) throw notFound("such batch");
      return {};
    },

    async listWorks({ params: { id }, query, caller }) {
      const { store } = caller;
      await find(store, id);
      const { key: keys, standing, outcome, released, counts } = query;
      const open = mayName(caller);
      if (!open && keys !== undefined) {
        throw new Refusal("FORBIDDEN", {
          detail: "Keys identify students. Use an API key or role with the scope members:read.",
        });
      }
      const { works, next } = await store.batches.works(
        id,
        {
          ...(keys === undefined ? {} : { keys }),
          ...(standing === undefined ? {} : { standing }),
          ...(outcome === undefined ? {} : { outcome }),
          ...(released === undefined ? {} : { released }),
          ...(counts === undefined ? {} : { counts }),
        },
        pageOf({ limit: query.limit, cursor: open ? query.cursor : await keyBehind(store, id, query.cursor) }),
      );
      const shown = works.map(presentWork);
      if (open) return { body: { items: shown, next } };
      return { body: { items: shown.map(unnamed), next: next === null ? null : (shown.at(-1)?.pseudonym ?? null) } };
    },

    async listTries({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = cutPage(await store.batches.tries(id, query.work), (one) => String(one.try), query);
      return { body: { items: items.map(presentTry), next } };
    },

    async listMembers({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { members, next } = await store.batches.members(id, pageOf(query));
      return { body: { items: members.map((member) => ({ ...member })), next } };
    },

    async listGradeEvents({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { events, next } = await store.batches.events(id, query.work, pageOf(query));
      return { body: { items: [...events], next } };
    },

    async recordGrade({ params: { id }, headers, body, caller: { store, principal } }) {
      const { work, kind, criterion, points, takesBack, students, reason, comment, try: seen } = body;
      const key = headers["idempotency-key"];
      const match = headers["if-match"];
      const event = await store.batches.record(id, {
        work,
        kind,
        by: principal.name,
        ...(criterion === undefined ? {} : { criterion }),
        ...(points === undefined ? {} : { points }),
        ...(reason === undefined ? {} : { reason }),
        ...(comment === undefined ? {} : { comment }),
        ...(seen === undefined ? {} : { try: seen }),
        ...(takesBack === undefined ? {} : { takesBack }),
        ...(students === undefined ? {} : { students }),
        ...(match === undefined ? {} : { seen: tagsOf(match) }),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      });
      return { status: 201, etag: gradeTag(event), body: event };
    },

    async pauseBatch({ params: { id }, body, caller: { store } }) {
      await store.batches.pause(id, body.reason);
      return await changed(store, id);
    },

    async resumeBatch({ params: { id }, caller: { store } }) {
      const { runs, jobs } = await store.batches.resume(id);
      enqueuer.enqueue(jobs);
      return await changed(store, id, runs);
    },

    async cancelBatch({ params: { id }, body, caller: { store } }) {
      return await changed(store, id, await store.batches.cancel(id, body.reason));
    },

    async retryWorks({ params: { id }, body = {}, caller }) {
      const { store } = caller;
      const { works } = await store.batches.retry(id, body.keys === undefined ? {} : { keys: body.keys });
      return { body: { works: mayName(caller) ? [...works] : await pseudonymsOf(store, id, works) } };
    },

    async regradeWorks({ params: { id }, body: { keys, definition: wanted }, caller }) {
      const { store } = caller;
      await find(store, id);
      const definition = wanted === undefined ? null : await definitionOf(store, wanted);
      const { works } = await store.batches.regrade(id, { keys, ...(definition === null ? {} : { definition }) });
      return { body: { works: mayName(caller) ? [...works] : await pseudonymsOf(store, id, works) } };
    },
  };
}

/** Reads an If-Match header (RFC 9110, 13.1.1). A weak tag matches nothing. */
function tagsOf(header: string): readonly string[] | "any" {
  if (header.trim() === "*") return "any";
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].flatMap(([, weak, tag]) =>
    weak === undefined && tag !== undefined ? tag : [],
  );
}

const mayName = ({ principal }: Caller) => principal.scopes.has("members:read");

async function pseudonymsOf(store: TenantStore, id: string, keys: readonly string[]): Promise<string[]> {
  const found = await Promise.all(keys.map((key) => store.batches.work(id, key)));
  return found.flatMap((work) => work?.pseudonym ?? []);
}

async function find(store: TenantStore, id: string): Promise<BatchDetail> {
  const batch = await store.batches.get(id);
  if (batch === null) throw notFound("such batch");
  return batch;
}

async function changed(store: TenantStore, id: string, runs = 0) {
  const { state } = presentBatchSummary(await find(store, id));
  return { body: { id, state, runs } };
}

async function definitionOf(store: TenantStore, hash: string): Promise<Definition> {
  const definition = await store.definitions.find(hash);
  if (definition !== null) return definition;
  throw new Refusal("START_REFUSED", { errors: [{ path: "definition", message: "The definition does not exist." }] });
}

/** The rubric of the workflow, or of the first called workflow that has one. */
function rubricOf({ root, programs }: Definition): NewBatch["rubric"] {
  const rubric = [programs[root], ...Object.values(programs)].find((program) => program?.rubric !== undefined)?.rubric;
  if (rubric !== undefined) return rubric as unknown as NewBatch["rubric"];
  throw new Refusal("START_REFUSED", {
    errors: [{ path: "rubric", message: "The definition has no rubric, and the request contains none." }],
  });
}

/**
 * Lets a changed rubric void only grades that the caller has seen. The submissions are read before the save: a mark given between the two
 * belongs to the old rubric, like one given just before the save.
 */
async function requireSeenVoids(
  { batches }: TenantStore,
  key: string,
  rubric: NewBatch["rubric"],
  seen: string | undefined,
): Promise<void> {
  const known = (await batches.list({ key }, { limit: 1 })).batches[0];
  const before = known === undefined ? null : await batches.get(known.id);
  if (before === null || rubricChange(before.rubric, rubric, []) === null) return;
  const change = rubricChange(before.rubric, rubric, await everyWork(batches, before.id));
  if (change === null || mayVoid(change, seen)) return;
  throw new Refusal("RUBRIC_VOIDS", {
    detail: "Nothing was saved, because the changed rubric would void grades.",
    hint:
      seen === undefined
        ? "Read which grades it voids. Then send the same request with `confirm` of this problem as `confirmedVoids`."
        : "The change would void more or other grades than you confirmed. Read the new list. Then send `confirm` of this problem as `confirmedVoids`, or run the same command again.",
    errors: change.criteria.map(voidsOf),
    confirm: change.seen,
  });
}

function voidsOf({ id, is, students, marks, releases }: RubricChange["criteria"][number]) {
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const parts = [
    `the points of ${counted(students, "student")}`,
    `${counted(marks, "mark")} by people`,
    counted(releases, "released grade"),
  ];
  return { path: `rubric.${id}`, message: `${is}: voids ${parts.join(", ")}` };
}

/**
 * Hides the server's environment and the options for its workers. If `named` is false, the stored facts are hidden too, because they
 * contain names.
 */
function presentBatch(batch: BatchDetail, named: boolean): Shown<"getBatch"> {
  const { rubric, rubricHash, settings, members, budget, budgetNearlySpent, spent, runMs, troubles } = batch;
  const { late, aiConsent, language, facts, run } = settings;
  const model = run.variables?.AI_MODEL_NAME ?? null;
  return {
    ...presentBatchSummary(batch),
    rubricHash,
    members,
    budgetNearlySpent,
    runMs: [...runMs],
    spent: presentSpent(spent),
    rubric: { criteria: rubric.criteria.map((criterion) => ({ ...criterion })) },
    settings: { late, aiConsent, language, model, ...(facts === undefined || !named ? {} : { facts: facts as never }) },
    budget: budget === null ? null : { cap: budget.cap, spent: budget.spent, reserved: budget.reserved },
    troubles: troubles.map((one) => ({ ...one })),
  };
}

function presentSpent({ characters: _, ...spent }: BatchDetail["spent"]) {
  return { ...spent };
}

function presentWork(work: BatchWork): ShownWork {
  const { try: last, spent, ...same } = work;
  return {
    ...(same as unknown as ShownWork),
    standing: presentStanding(work.standing),
    try: last === null ? null : presentLast(last),
    spent: presentSpent(spent),
  };
}

function presentStanding(standing: BatchWork["standing"]): ShownWork["standing"] {
  if (standing.is !== "running" || standing.wait === null) return { ...standing } as never;
  const { nextTry } = standing.wait;
  return { ...standing, wait: { ...standing.wait, nextTry: nextTry?.toISOString() ?? null } } as never;
}

function presentLast(last: NonNullable<BatchWork["try"]>) {
  const { try: number, runId, definitionHash: definition, why, startedAt, endedAt } = last;
  const times = { startedAt: startedAt?.toISOString() ?? null, endedAt: endedAt?.toISOString() ?? null };
  return { try: number, runId, definition, why, ...times };
}

function presentTry(one: WorkTry): Shown<"listTries">["items"][number] {
  const { content, standing, grade, spent } = one;
  return {
    ...presentLast(one),
    content,
    grade: grade as never,
    spent: presentSpent(spent),
    standing: presentStanding(standing),
  };
}

type ShownWork = Shown<"listWorks">["items"][number];
type ShownGrade = NonNullable<ShownWork["proposal"]>["grade"];

/** Removes from a submission everything that can identify its students: keys, file names, quotations and texts by people. */
function unnamed(work: ShownWork): ShownWork {
  const { pseudonym, content, proposal, grade, standing } = work;
  return {
    ...work,
    key: pseudonym,
    by: [],
    countsFor: undefined,
    group: null,
    label: pseudonym,
    sources: [],
    events: [],
    marks: [],
    standing: { is: standing.is },
    content: content.is === "taken" ? { ...content, paths: [], notes: [], start: undefined } : { is: "empty" },
    proposal: proposal === null ? null : { try: proposal.try, grade: numbersOf(proposal.grade) },
    grade:
      grade === null
        ? null
        : {
            ...numbersOf(grade),
            proposed: grade.proposed === null ? null : numbersOf(grade.proposed),
            overrides: grade.overrides.map(({ criterion, points, by, at, proposed }) => ({
              criterion,
              points,
              by,
              at,
              proposed,
            })),
            reviewed: grade.reviewed,
            released: grade.released === null ? null : { ...grade.released, students: undefined },
          },
  };
}

/** A grade without its texts. */
function numbersOf({ outcome, criteria, points, most, penalty, total, flags }: ShownGrade): ShownGrade {
  return {
    outcome: { is: outcome.is },
    points,
    most,
    penalty,
    total,
    nextSteps: [],
    criteria: criteria.map(({ is, id, by, points: some, level, confidence }) => ({
      is,
      id,
      by,
      points: some,
      level,
      confidence,
    })),
    flags: flags.map(({ kind }) => ({ kind, message: "" })),
  };
}

/** The key of the submission with a pseudonym. A cursor needs the key, which is not shown to the caller. */
async function keyBehind(store: TenantStore, id: string, pseudonym: string | undefined): Promise<string | undefined> {
  if (pseudonym === undefined) return undefined;
  for (let after: string | null | undefined; after !== null; ) {
    const { works, next } = await store.batches.works(
      id,
      {},
      { limit: 200, ...(after === undefined ? {} : { after }) },
    );
    const found = works.find((work) => work.pseudonym === pseudonym);
    if (found !== undefined) return found.key;
    after = next;
  }
  throw new Refusal("INVALID", { errors: [{ path: "query.cursor", message: "is not a cursor of this server" }] });
}
