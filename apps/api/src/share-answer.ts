/** Calls within a short time share one answer. */
export function shareAnswer<Answer>(ask: () => Promise<Answer>, ms: number): () => Promise<Answer> {
  let given: { readonly answer: Promise<Answer>; readonly at: number } | null = null;
  return () => {
    const now = performance.now();
    if (given === null || now - given.at > ms) given = { answer: ask(), at: now };
    return given.answer;
  };
}
