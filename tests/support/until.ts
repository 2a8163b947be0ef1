/** Looks again and again until there is something to see. The limit is for what never happens: it is no measure of speed. */
export async function until<Value>(
  look: () => Promise<Value> | Value,
  { everyMs = 20, limitMs = 120_000 } = {},
): Promise<Exclude<Value, false | null | undefined>> {
  for (const end = performance.now() + limitMs; ; ) {
    const seen = await look();
    if (seen) return seen as Exclude<Value, false | null | undefined>;
    if (performance.now() > end) throw new Error(`it did not happen within ${limitMs} ms: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
