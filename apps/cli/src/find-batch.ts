/**
 * Finds the class that a person means: a batch's id, its end, its beginning (8 characters or more), the folder it was read from, or `last`.
 */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { CLASS_FILE } from "@markmill/classroom";
import type { BatchDetail, TenantStore } from "@markmill/store";
import { readClassFacts } from "./class-facts.ts";
import { CommandError, UsageError } from "./command.ts";
import { runsWith } from "./find-run.ts";
import { hasIdPart, isIdPart, isWholeId, listCandidates, mostCandidates } from "./id-part.ts";

export async function findBatch(tenant: TenantStore, wanted: string | undefined, cwd: string): Promise<BatchDetail> {
  const found = await findBatchIfAny(tenant, wanted ?? "last", cwd);
  if (found !== null) return found;
  throw new CommandError(
    "BATCH_NOT_FOUND",
    wanted === undefined || wanted === "last" ? "There is no class yet." : `There is no class ${wanted}.`,
    wanted === undefined || wanted === "last"
      ? "Grade a class: markmill grade PATH"
      : "'markmill status --batches' lists the latest classes.",
  );
}

/** Finds a class with grades. A table of runs has none, so the latest class may be older than a table. */
export async function findClass(tenant: TenantStore, wanted: string | undefined, cwd: string): Promise<BatchDetail> {
  const latest = wanted === undefined || wanted === "last" ? await latestClass(tenant) : null;
  const batch = latest ?? (await findBatch(tenant, wanted, cwd));
  if (!isTable(batch)) return batch;
  throw new CommandError(
    "CLASS_IS_TABLE",
    `${batch.name} is a table of runs (.cfg.json). It has results, but no grades.`,
    `'markmill watch ${batch.id}' writes its results again; 'markmill retry ${batch.id}' retries its failed runs.`,
  );
}

const isTable = ({ settings }: BatchDetail) => readClassFacts(settings.facts).table !== null;

async function latestClass({ batches }: TenantStore): Promise<BatchDetail | null> {
  for (const { id } of (await batches.list({}, { limit: 100 })).batches) {
    const batch = await batches.get(id);
    if (batch !== null && !isTable(batch)) return batch;
  }
  return null;
}

/** Used for words that can also mean a run, such as `last`. null: no class is meant. */
export async function batchMeant(tenant: TenantStore, wanted: string, cwd: string): Promise<BatchDetail | null> {
  if (wanted === "last" || tenant.batches === undefined) return null;
  const found = await findBatchIfAny(tenant, wanted, cwd);
  if (found === null || isWholeId(wanted) || !isEndOrBeginning(found.id, wanted)) return found;
  const runs = await runsWith(tenant.runs, wanted);
  if (runs.length === 0) return found;
  throw new UsageError(`'${wanted}' matches a class and a run:\n${listCandidates([found, ...runs])}`);
}

function isEndOrBeginning(id: string, word: string): boolean {
  return id.endsWith(word.toLowerCase()) || id.startsWith(word.toLowerCase());
}

async function findBatchIfAny({ batches }: TenantStore, wanted: string, cwd: string): Promise<BatchDetail | null> {
  const id = wanted.toLowerCase();
  if (isWholeId(id)) return await batches.get(id);
  if (id === "last") {
    const newest = (await batches.list({}, { limit: 1 })).batches[0];
    return newest === undefined ? null : await batches.get(newest.id);
  }
  const folder = folderOf(wanted, cwd);
  if (folder !== null) {
    const [of] = (await batches.list({ key: `class ${folder}` })).batches;
    if (of !== undefined) return await batches.get(of.id);
  }
  if (!isIdPart(id)) return null;
  const found = await batches.list({ idPart: id }, { limit: mostCandidates + 1 });
  const [only, ...more] = found.batches.filter((batch) => hasIdPart(batch, id));
  if (only === undefined) return null;
  if (more.length > 0) throw new UsageError(`'${wanted}' matches several classes:\n${listCandidates([only, ...more])}`);
  return await batches.get(only.id);
}

function folderOf(wanted: string, cwd: string): string | null {
  const path = resolve(cwd, wanted.endsWith(CLASS_FILE) ? wanted.slice(0, -CLASS_FILE.length) : wanted);
  return statSync(path, { throwIfNoEntry: false }) === undefined ? null : path;
}
