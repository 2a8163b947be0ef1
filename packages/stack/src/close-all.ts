/** Closes one after the other, also where one before could not be closed: what stays open keeps the process from ending. Throws the first failure. */
export async function closeAll(closes: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closes) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
