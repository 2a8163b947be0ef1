/** Which class is meant: a batch's id, its end or beginning, the folder it was read from, or `last`. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { CLASS_FILE } from "@markmill/classroom";
import type { BatchDetail, TenantStore } from "@markmill/store";
import { readClassFacts } from "./class-facts.ts";
import { CommandError, UsageError } from "./command.ts";

const searched = 500;
const shortest = 4;

export async function findBatch(tenant: TenantStore, wanted: string | undefined, cwd: string): Promise<BatchDetail> {
  const found = await findBatchIfAny(tenant, wanted ?? "last", cwd);
  if (found !== null) return found;
  throw new CommandError(
    "BATCH_NOT_FOUND",
    wanted === undefined || wanted === "last" ? "There is no class yet." : `There is no class ${wanted}.`,
    wanted === undefined || wanted === "last"
      ? "Grade one: markmill grade PATH"
      : "'markmill status --batches' lists the latest ones.",
  );
}

/** One that has grades. A table of runs has none, so the latest class may be older than a table. */
export async function findClass(tenant: TenantStore, wanted: string | undefined, cwd: string): Promise<BatchDetail> {
  const latest = wanted === undefined || wanted === "last" ? await latestClass(tenant) : null;
  const batch = latest ?? (await findBatch(tenant, wanted, cwd));
  if (!isTable(batch)) return batch;
  throw new CommandError(
    "CLASS_IS_TABLE",
    `${batch.name} is a table of runs (.cfg.json): it has results, and no grades.`,
    `'markmill watch ${batch.id}' writes its results again; 'markmill retry ${batch.id}' tries again what failed.`,
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

/** For words that may mean a run as well, as `last` does; null: no class is meant. */
export async function batchMeant(tenant: TenantStore, wanted: string, cwd: string): Promise<BatchDetail | null> {
  return wanted === "last" || tenant.batches === undefined ? null : await findBatchIfAny(tenant, wanted, cwd);
}

async function findBatchIfAny({ batches }: TenantStore, wanted: string, cwd: string): Promise<BatchDetail | null> {
  const id = wanted.toLowerCase();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return await batches.get(id);
  if (id === "last") {
    const newest = (await batches.list({}, { limit: 1 })).batches[0];
    return newest === undefined ? null : await batches.get(newest.id);
  }
  const folder = folderOf(wanted, cwd);
  if (folder !== null) {
    const [of] = (await batches.list({ key: `class ${folder}` })).batches;
    if (of !== undefined) return await batches.get(of.id);
  }
  if (!/^[0-9a-f-]+$/.test(id) || id.length < shortest) return null;
  const matches: string[] = [];
  let after: string | null | undefined;
  for (let seen = 0; seen < searched && after !== null; ) {
    const page = await batches.list({}, { limit: 100, ...(after === undefined ? {} : { after }) });
    for (const batch of page.batches) if (batch.id.startsWith(id) || batch.id.endsWith(id)) matches.push(batch.id);
    seen += page.batches.length;
    after = page.next;
  }
  if (matches.length > 1) throw new UsageError(`'${wanted}' fits ${matches.length} classes.`);
  return matches[0] === undefined ? null : await batches.get(matches[0]);
}

function folderOf(wanted: string, cwd: string): string | null {
  const path = resolve(cwd, wanted.endsWith(CLASS_FILE) ? wanted.slice(0, -CLASS_FILE.length) : wanted);
  return statSync(path, { throwIfNoEntry: false }) === undefined ? null : path;
}
