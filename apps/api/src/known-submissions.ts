/**
 * Remembers facts about uploads, so that starting a run need not unpack them again. They are lost with the process, and then read from the
 * tar.
 */
interface KnownSubmission {
  readonly paths: readonly string[];
  readonly notes: readonly string[];
}

export interface KnownSubmissions {
  get(tenant: string, hash: string): KnownSubmission | null;
  keep(tenant: string, hash: string, known: KnownSubmission): void;
}

/** Limits in characters, for all entries and for one. The client chooses the length of the paths. */
const mostInAll = 32 * 1024 * 1024;
const mostOfOne = 256 * 1024;
/** The approximate cost of an entry, and of each of its texts, in addition to its characters. */
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
