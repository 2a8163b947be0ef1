/** What uploads said of themselves, so that a start need not unpack them again. Lost with the process, and then read from the tar. */
interface KnownSubmission {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

export interface KnownSubmissions {
  get(tenant: string, hash: string): KnownSubmission | null;
  keep(tenant: string, hash: string, known: KnownSubmission): void;
}

/** Characters of all that is kept, and of one of them: paths are as long as whoever uploads makes them. */
const mostInAll = 32 * 1024 * 1024;
const mostOfOne = 256 * 1024;
/** What an entry and each of its texts cost besides their characters, about. */
const overhead = 64;

export function keepSubmissions(): KnownSubmissions {
  const kept = new Map<string, { readonly known: KnownSubmission; readonly size: number }>();
  let inAll = 0;
  function forget(name: string): void {
    inAll -= kept.get(name)?.size ?? 0;
    kept.delete(name);
  }
  return {
    get: (tenant, hash) => kept.get(`${tenant} ${hash}`)?.known ?? null,
    keep(tenant, hash, known) {
      const name = `${tenant} ${hash}`;
      forget(name);
      const texts = [name, ...known.paths, ...known.notes];
      const size = texts.reduce((sum, text) => sum + text.length + overhead, 0);
      if (size > mostOfOne) return;
      kept.set(name, { known, size });
      inAll += size;
      for (const oldest of kept.keys()) {
        if (inAll <= mostInAll) break;
        forget(oldest);
      }
    },
  };
}
