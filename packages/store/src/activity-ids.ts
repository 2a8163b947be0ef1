/**
 * Ids for activities that have no row to get one from, drawn in blocks from the sequence of those that have. A block that is lost with
 * its process leaves a gap and nothing else.
 */
import type { Pool } from "pg";

export interface ActivityIds {
  draw(count: number): Promise<readonly number[]>;
}

const smallestBlock = 64;
const largestBlock = 4_096;

export function createActivityIds(pool: Pool): ActivityIds {
  let held: readonly number[] = [];
  let used = 0;
  let block = smallestBlock;
  let filling: Promise<void> | null = null;

  async function fill(count: number): Promise<void> {
    const { rows } = await pool.query<{ id: number }>({
      name: "draw-ids",
      text: "select nextval(pg_get_serial_sequence('activities', 'id')) as id from generate_series(1, $1)",
      values: [Math.max(count, block)],
    });
    block = Math.min(block * 2, largestBlock);
    held = [...held.slice(used), ...rows.map(({ id }) => id)];
    used = 0;
  }

  return {
    async draw(count) {
      while (held.length - used < count) {
        filling ??= fill(count).finally(() => {
          filling = null;
        });
        await filling;
      }
      used += count;
      return held.slice(used - count, used);
    },
  };
}
