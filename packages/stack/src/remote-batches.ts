/**
 * Gives the batches behind a server the interface of `store.as(tenant).batches`. A large class is sent in parts. A part that is sent twice
 * is stored once.
 */
import { ApiProblem, type Client, type Got, type Routes } from "@markmill/contract";
import type {
  BatchDetail,
  BatchSummary,
  BatchWork,
  Definition,
  KeySpan,
  NewBatch,
  SavedBatch,
  TenantBatches,
  WorkTry,
} from "@markmill/store";
import { everyPage, toCaps, unless404 } from "./remote-values.ts";
import { StackError } from "./stack-error.ts";

type RemoteSummary = Got<Routes["listBatches"]>["items"][number];
type RemoteWork = Got<Routes["listWorks"]>["items"][number];
type RemoteTry = Got<Routes["listTries"]>["items"][number];

const membersTogether = 500;
const worksTogether = 100;
const keysTogether = 20_000;
const page = 200;
const nothing: readonly never[] = [];

export interface Sending {
  /** Uploads the definition if the server does not have it, and returns its hash. */
  upload(definition: Definition): Promise<string>;
  /** Reports local settings that have no effect on the server. */
  tellUnsent(run: NewBatch["settings"]["run"]): void;
}

export function remoteBatches(client: Client, { upload, tellUnsent }: Sending): TenantBatches {
  /** Students are sent first, because a submission names its students. */
  async function save(batch: NewBatch): Promise<SavedBatch> {
    const { key, name, settings, members, works, budget, concurrency, rubric, confirmedVoids } = batch;
    const { run, late, aiConsent, language, facts } = settings;
    tellUnsent(run);
    const common = {
      key,
      name,
      definition: await upload(batch.definition),
      rubric: rubric as never,
      late,
      aiConsent,
      language,
      ...(confirmedVoids === undefined ? {} : { confirmedVoids }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(budget === undefined ? {} : { budget }),
      ...(facts === undefined ? {} : { facts: facts as never }),
      ...(run.variables === undefined ? {} : { variables: { ...run.variables } }),
      ...(run.caps === undefined ? {} : { caps: toCaps(run.caps) }),
      ...(run.patienceMs === undefined ? {} : { patienceMs: run.patienceMs }),
    };
    const plain = members.map(({ at: _, ...member }: NewBatch["members"][number] & { at?: unknown }) => member);
    const pieces = [
      ...slices(plain, membersTogether).map((some) => ({ members: some, works: [] as never[] })),
      ...slices(works, worksTogether).map((some) => ({ members: [] as never[], works: some })),
    ];
    // Withdrawn submissions stop counting only with the last parts. If the process is killed before that, nothing has changed, and saving
    // again repeats everything.
    const whole = batch.whole === true ? works.map((work) => work.key) : (batch.whole ?? false);
    const spans =
      whole === false ? [] : batch.span === undefined ? spansOf(whole) : [{ whole: [...whole], span: batch.span }];
    const last = pieces.pop() ?? { members: [], works: [] };
    const together =
      spans.length === 1 ? [{ ...last, ...spans[0] }] : [last, ...spans.map((span) => ({ ...nobody, ...span }))];
    let saved = null as SavedBatch | null;
    for (const { members: some, works: few, ...piece } of [...pieces, ...together]) {
      const { id, created, added, changed, otherDefinition, restarted, kept, dropped } = await client.saveBatch({
        body: { ...common, ...piece, members: some as never, works: few as never },
      });
      saved = {
        id,
        created: saved?.created ?? created,
        otherDefinition,
        restarted: (saved?.restarted ?? 0) + restarted,
        kept,
        added: (saved?.added ?? 0) + added,
        changed: (saved?.changed ?? 0) + changed,
        ...(dropped === undefined ? {} : { dropped: (saved?.dropped ?? 0) + dropped }),
      };
    }
    return saved as SavedBatch;
  }

  const works: TenantBatches["works"] = async (id, filter = {}, { after, limit = 50 } = {}) => {
    const found = await unless404(() =>
      client.listWorks({
        params: { id },
        query: {
          limit: Math.min(limit, page),
          ...(after === undefined ? {} : { cursor: after }),
          ...(filter.keys === undefined ? {} : { key: [...filter.keys] }),
          ...(filter.standing === undefined ? {} : { standing: [...filter.standing] }),
          ...(filter.outcome === undefined ? {} : { outcome: [...filter.outcome] }),
          ...(filter.released === undefined ? {} : { released: filter.released }),
          ...(filter.counts === undefined ? {} : { counts: filter.counts }),
        },
      }),
    );
    return found === null ? { works: nothing, next: null } : { works: found.items.map(toWork), next: found.next };
  };

  return {
    save,
    get: (id) => unless404(async () => toDetail(await client.getBatch({ params: { id } }))),
    summary: (id) => unless404(async () => toSummary(await client.getBatch({ params: { id } }))),
    async list({ key, state, idPart } = {}, { after, limit = 50 } = {}) {
      const { items, next } = await client.listBatches({
        query: {
          limit: Math.min(limit, page),
          ...(after === undefined ? {} : { cursor: after }),
          ...(key === undefined ? {} : { key }),
          ...(state === undefined ? {} : { state: [...state] }),
          ...(idPart === undefined ? {} : { id: idPart }),
        },
      });
      return { batches: items.map(toSummary), next };
    },
    works,
    work: async (id, key) => (await works(id, { keys: [key] }, { limit: 1 })).works[0] ?? null,
    tries: async (id, key) =>
      (
        await unless404(() =>
          everyPage((query) => client.listTries({ params: { id }, query: { ...query, work: key } })),
        )
      )?.map(toTry) ?? nothing,
    async members(id, { after, limit = page } = {}) {
      const query = { limit: Math.min(limit, page), ...(after === undefined ? {} : { cursor: after }) };
      const found = await unless404(() => client.listMembers({ params: { id }, query }));
      return found === null ? { members: nothing, next: null } : { members: found.items as never, next: found.next };
    },
    pause: async (id, reason) => void (await client.pauseBatch({ params: { id }, body: { reason } })),
    resume: async (id) => ({ runs: (await client.resumeBatch({ params: { id } })).runs, jobs: nothing }),
    cancel: async (id, reason) => (await client.cancelBatch({ params: { id }, body: { reason } })).runs,
    retry: (id, { keys } = {}) =>
      client.retryWorks({ params: { id }, body: keys === undefined ? {} : { keys: [...keys] } }),
    async regrade(id, { keys, definition }) {
      if (keys.length === 0) return { works: nothing };
      const hash = definition === undefined ? null : await upload(definition);
      return await client.regradeWorks({
        params: { id },
        body: { keys: [...keys], ...(hash === null ? {} : { definition: hash }) },
      });
    },
    // The author is the owner of the key, so `by` is not sent.
    record: (id, { by: _, seen, idempotencyKey, students, ...said }) =>
      client.recordGrade({
        params: { id },
        body: { ...said, ...(students === undefined ? {} : { students: [...students] }) },
        headers: {
          ...(seen === undefined
            ? {}
            : { "if-match": seen === "any" ? "*" : seen.map((tag) => `"${tag}"`).join(", ") }),
          ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
        },
      }),
    async events(id, work, { after, limit = page } = {}) {
      const query = {
        limit: Math.min(limit, page),
        ...(after === undefined ? {} : { cursor: after }),
        ...(work === undefined ? {} : { work }),
      };
      const found = await unless404(() => client.listGradeEvents({ params: { id }, query }));
      return { events: found?.items ?? nothing, next: found?.next ?? null };
    },
    /** Over HTTP, the model is the only setting that can be changed. */
    async setRun(id, { variables }) {
      const model = variables?.AI_MODEL_NAME;
      if (model === undefined) {
        throw new StackError(
          "NOT_OVER_HTTP",
          "The API can change only the model of a class.",
          "Grade the class again with the right settings: markmill grade PATH",
        );
      }
      const { restarted = 0, kept = 0 } = await client.updateBatch({ params: { id }, body: { model } });
      return { restarted, kept };
    },
    setBudget: async (id, cap) => void (await client.updateBatch({ params: { id }, body: { budget: cap } })),
    setConcurrency: async (id, runs) =>
      void (await client.updateBatch({ params: { id }, body: { concurrency: runs } })),
    async delete(id) {
      try {
        await client.deleteBatch({ params: { id } });
        return true;
      } catch (error) {
        if (error instanceof ApiProblem && error.code === "NOT_FOUND") return false;
        throw error;
      }
    },
  };
}

const nobody = { members: [] as never[], works: [] as never[] };

/** Splits all keys into parts that fit into a request. Each part states which range of keys it covers. */
function spansOf(keys: readonly string[]): { readonly whole: string[]; readonly span?: KeySpan }[] {
  if (keys.length <= keysTogether) return [{ whole: [...keys] }];
  const sorted = [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const parts = slices(sorted, keysTogether);
  return parts.map((whole, index) => ({
    whole,
    span: {
      after: parts[index - 1]?.at(-1) ?? null,
      upTo: index === parts.length - 1 ? null : (whole.at(-1) ?? null),
    },
  }));
}

function slices<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

function toSummary({ definition, createdAt, endedAt, state, ...same }: RemoteSummary): BatchSummary {
  return {
    ...same,
    definitionHash: definition,
    createdAt: new Date(createdAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    state: state.is === "ended" ? { is: "open" } : state,
  };
}

function toDetail(remote: Got<Routes["getBatch"]>): BatchDetail {
  const { settings, budget, spent, rubric, ...same } = remote;
  const { model, ...known } = settings;
  return {
    ...toSummary(same),
    rubricHash: same.rubricHash,
    members: same.members,
    budgetNearlySpent: same.budgetNearlySpent,
    runMs: same.runMs,
    troubles: same.troubles,
    rubric: rubric as unknown as BatchDetail["rubric"],
    settings: {
      ...known,
      run: model === null ? {} : { variables: { AI_MODEL_NAME: model } },
    } as BatchDetail["settings"],
    budget: budget === null ? null : ({ id: same.id, ...budget } as BatchDetail["budget"]),
    spent: { characters: 0, ...spent } as BatchDetail["spent"],
  };
}

const date = (text: string | null) => (text === null ? null : new Date(text));

function toLast({ definition, startedAt, endedAt, ...same }: NonNullable<RemoteWork["try"]>) {
  return { ...same, definitionHash: definition, startedAt: date(startedAt), endedAt: date(endedAt) };
}

function toStanding(standing: RemoteWork["standing"]): BatchWork["standing"] {
  const known = standing as unknown as BatchWork["standing"];
  if (known.is !== "running" || known.wait === null) return known;
  return { ...known, wait: { ...known.wait, nextTry: date(known.wait.nextTry as unknown as string | null) } };
}

function toWork({ try: last, standing, spent, ...same }: RemoteWork): BatchWork {
  return {
    ...(same as unknown as BatchWork),
    try: last === null ? null : toLast(last),
    standing: toStanding(standing),
    spent: { characters: 0, ...spent } as BatchWork["spent"],
  };
}

function toTry({ standing, grade, spent, content, ...last }: RemoteTry): WorkTry {
  return {
    ...toLast(last),
    content,
    grade: grade as unknown as WorkTry["grade"],
    standing: toStanding(standing) as WorkTry["standing"],
    spent: { characters: 0, ...spent } as WorkTry["spent"],
  };
}
