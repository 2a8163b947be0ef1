/** What uploads said of themselves, so that a start need not unpack them again. Lost with the process, and then read from the tar. */
export interface KnownSubmission {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

export interface KnownSubmissions {
  get(tenant: string, hash: string): KnownSubmission | null;
  keep(tenant: string, hash: string, known: KnownSubmission): void;
}

const most = 2_000;

export function keepSubmissions(): KnownSubmissions {
  const kept = new Map<string, KnownSubmission>();
  return {
    get: (tenant, hash) => kept.get(`${tenant} ${hash}`) ?? null,
    keep(tenant, hash, known) {
      kept.set(`${tenant} ${hash}`, known);
      for (const oldest of kept.keys()) {
        if (kept.size <= most) break;
        kept.delete(oldest);
      }
    },
  };
}
