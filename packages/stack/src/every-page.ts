// Reads all pages of a batch's lists.
import type { BatchMember, BatchWork, TenantBatches, WorkFilter } from "@markmill/store";

const page = 200;

export async function everyWork(
  batches: Pick<TenantBatches, "works">,
  id: string,
  filter: WorkFilter = {},
): Promise<BatchWork[]> {
  const works: BatchWork[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const found = await batches.works(id, filter, { limit: page, ...(after === undefined ? {} : { after }) });
    works.push(...found.works);
    after = found.next;
  }
  return works;
}

export async function everyMember(
  batches: Pick<TenantBatches, "members">,
  id: string,
): Promise<(BatchMember & { readonly pseudonym: string })[]> {
  const members: (BatchMember & { readonly pseudonym: string })[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const found = await batches.members(id, { limit: page, ...(after === undefined ? {} : { after }) });
    members.push(...found.members);
    after = found.next;
  }
  return members;
}
