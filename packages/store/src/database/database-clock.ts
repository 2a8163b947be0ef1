/**
 * The time of the database, read with every claim and commit and continued by this process's monotonic clock. So no decision compares the
 * clocks of two hosts, and a jump of this host's clock changes nothing.
 */
export interface DatabaseClock {
  /** Milliseconds since 1970, as an integer. */
  now(): number;
  observe(databaseMs: number): void;
}

export function createDatabaseClock(databaseMs: number): DatabaseClock {
  let base = databaseMs;
  let at = performance.now();
  return {
    now: () => Math.round(base + (performance.now() - at)),
    observe(ms) {
      base = ms;
      at = performance.now();
    },
  };
}

/** SQL: the server's clock in milliseconds since 1970. */
export const databaseNow = "extract(epoch from clock_timestamp())::float8 * 1000";
