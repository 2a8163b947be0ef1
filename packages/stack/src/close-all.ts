/**
 * Closes the parts one after the other, even if an earlier one fails to close: an open part would keep the process running. Throws the
 * first failure.
 */
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
