/** Computes how many submissions of each batch may start now. Pure: the same numbers give the same shares. */
export interface Sharer {
  readonly id: string;
  readonly tenant: string;
  /** Submissions whose runs exist or are being created, and have not ended. */
  readonly inFlight: number;
  /** Part of `inFlight`: they wait for a person, and take no slot from others. */
  readonly held: number;
  readonly waiting: number;
  /** Maximum of `inFlight`. */
  readonly concurrency: number;
}

export interface Places {
  /** Maximum for all batches together. */
  readonly most: number;
  /** Maximum for one tenant's batches together. Absent: all slots. The slots it leaves free are for tenants that come later. */
  readonly mostOfTenant?: number;
}

/**
 * Gives out slots one by one. Each goes to the tenant with the fewest runs under way, within it to the batch with the fewest, and among
 * equals to the first. So a tenant with ten batches has one share and not ten. A batch of five that comes after one of five hundred gets
 * every second slot. A batch that has nothing left to start leaves its slots to the others.
 */
export function fairShare(
  sharers: readonly Sharer[],
  { most, mostOfTenant = most }: Places,
): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  const ofTenant = new Map<string, number>();
  const under = ({ inFlight, held }: Sharer) => Math.max(0, inFlight - held);
  for (const one of sharers) ofTenant.set(one.tenant, (ofTenant.get(one.tenant) ?? 0) + under(one));
  const taken = (one: Sharer) => shares.get(one.id) ?? 0;
  const places = most - [...ofTenant.values()].reduce((sum, runs) => sum + runs, 0);
  for (let left = places; left > 0; left -= 1) {
    let next: Sharer | null = null;
    for (const one of sharers) {
      if (taken(one) >= one.waiting || one.inFlight + taken(one) >= one.concurrency) continue;
      if ((ofTenant.get(one.tenant) ?? 0) >= mostOfTenant) continue;
      if (next === null || before(one, next)) next = one;
    }
    if (next === null) break;
    shares.set(next.id, taken(next) + 1);
    ofTenant.set(next.tenant, (ofTenant.get(next.tenant) ?? 0) + 1);
  }
  return shares;

  function before(one: Sharer, other: Sharer): boolean {
    const [mine, theirs] = [ofTenant.get(one.tenant) ?? 0, ofTenant.get(other.tenant) ?? 0];
    if (one.tenant !== other.tenant && mine !== theirs) return mine < theirs;
    return under(one) + taken(one) < under(other) + taken(other);
  }
}
