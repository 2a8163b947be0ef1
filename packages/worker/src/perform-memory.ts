/**
 * Memory that is searched by meaning: passages are split, embedded and inserted, or the nearest ones are found.
 *
 * The definition sets the embedder. A model's embeddings are paid calls, remembered, reserved and booked like all others (I3), several
 * texts at a time. kill -9 at any line: stored embeddings are found again, and inserted passages are not inserted twice
 * (packages/store/src/memory/passages.ts).
 */
import type { Embedder, Program, Usage, Work } from "@markmill/engine";
import { callModel, type ModelMessage, readVectors, together } from "@markmill/llm";
import type { FoundPassage, PassageScope } from "@markmill/store/machine";
import { chooseModel, consentRefusal, type ModelPorts, modelFailed } from "./choose-model.ts";
import { readForeign } from "./foreign-text.ts";
import { done, failed, type Performed } from "./performed.ts";

export interface MemoryPorts extends ModelPorts {
  readonly insert: (
    scope: PassageScope,
    passages: readonly { readonly text: string; readonly vector: Uint8Array }[],
  ) => Promise<boolean>;
  readonly nearest: (scope: PassageScope, vector: Uint8Array, top: number) => Promise<readonly FoundPassage[]>;
}

type MemoryWork = Extract<Work, { kind: "memory" }>;

const usualEmbedder: Embedder = { kind: "hash" };
const usualDimensions = 384;
const mostDimensions = 4_096;
/**
 * Texts in one request. The reply has some 80 KB per text with 4,096 dimensions, which is far below the limit of a reply (MAX_REPLY_BYTES).
 */
const textsAtOnce = 16;
const mostFound = 100;

export async function performMemory(
  ports: MemoryPorts,
  work: MemoryWork,
  run: { readonly rootId: string; readonly tenant: string; readonly program: Pick<Program, "memory"> },
  activity: { readonly id: number; readonly ref: { readonly attempt: number } },
  signal: AbortSignal,
): Promise<Performed> {
  const { memory } = run.program;
  const embedder = memory?.embedder ?? usualEmbedder;
  const inserts = work.op === "insert";
  const texts = inserts ? await readForeign(work.text.length, "splitPassages", work.text) : [work.text];
  const embedded = await embed(ports, embedder, texts, inserts ? "passage" : "query", activity, signal);
  if ("did" in embedded) return embedded;
  const { vectors, key, usage } = embedded;
  const named = memory?.scope;
  const scope: PassageScope = {
    tenant: run.tenant,
    embedder: key,
    scope: named === undefined ? `run:${run.rootId}` : `named:${named}`,
    rootId: run.rootId,
  };
  if (inserts) {
    const passages = texts.map((text, at) => ({ text, vector: vectors[at] ?? new Uint8Array() }));
    const held = await ports.insert(scope, passages);
    return held ? done({ kind: "produced", text: String(passages.length) }, usage) : { did: "leave" };
  }
  const top = work.op === "similar" ? 1 : Math.max(1, Math.min(work.top, mostFound));
  const found = await ports.nearest(scope, vectors[0] ?? new Uint8Array(), top);
  const text =
    work.op === "similar"
      ? String(found.some(({ similarity }) => similarity > (work.threshold ?? 0.95)))
      : found
          .map(({ text: passage, similarity }) => `${JSON.stringify({ passage, similarity: rounded(similarity) })} \n`)
          .join("");
  return done({ kind: "produced", text }, usage);
}

/** 32-bit floats can distinguish six digits. */
const rounded = (similarity: number) => Math.round(similarity * 1e6) / 1e6;

interface Embedded {
  readonly vectors: readonly Uint8Array[];
  /** Vectors with the same key can be compared. */
  readonly key: string;
  readonly usage: Usage | null;
}

async function embed(
  ports: MemoryPorts,
  embedder: Embedder,
  texts: readonly string[],
  as: "passage" | "query",
  activity: { readonly id: number; readonly ref: { readonly attempt: number } },
  signal: AbortSignal,
): Promise<Embedded | Performed> {
  if (embedder.kind === "hash") {
    const dimensions = Math.max(1, Math.min(embedder.dimensions ?? usualDimensions, mostDimensions));
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const vectors = await readForeign(length, "hashVectors", texts, dimensions);
    return { vectors, key: `hash/${dimensions}`, usage: null };
  }
  const chosen = chooseModel(ports, embedder.model);
  if ("did" in chosen) return chosen;
  const refusal = consentRefusal(ports.consent, chosen.model);
  if (refusal !== null) return failed("CONSENT_MISSING", refusal, "fail");
  const before = as === "query" ? (embedder.queryPrefix ?? "") : "";
  const { dimensions } = embedder;
  const vectors: Uint8Array[] = [];
  let usage: Usage | null = null;
  let callIndex = 0;
  for (let from = 0; from < texts.length; from += textsAtOnce) {
    const some: ModelMessage[] = [];
    for (const text of texts.slice(from, from + textsAtOnce))
      some.push({ role: "user", content: await ports.scrub(before + text) });
    const called = await callModel(ports, {
      activityId: String(activity.id),
      attempt: activity.ref.attempt,
      callIndex,
      request: {
        model: chosen.name,
        messages: some,
        settings: {},
        embed: dimensions === undefined ? {} : { dimensions },
      },
      signal,
    });
    usage = together(usage, called.booked);
    if (called.kind === "limited") return failed(called.code, called.message, "fail", { usage });
    if (called.kind === "failed") {
      if (signal.aborted && called.failure.code === "MODEL_ABORTED") return { did: "leave" };
      return modelFailed(ports, chosen.model.name, called.failure, usage);
    }
    vectors.push(...readVectors(called.reply.text));
    callIndex = called.callIndex + 1;
  }
  const size = (vectors[0]?.byteLength ?? 0) / 4;
  return { vectors, key: `model/${chosen.model.name}/${size}`, usage };
}
