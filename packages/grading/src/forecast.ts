// Forecasts a batch: the time left (once five submissions are finished), the cost (before the batch begins) and a pilot sample. Pure.

export interface Remaining {
  readonly lowMs: number;
  readonly highMs: number;
}

const FEWEST_FINISHED = 5;

/**
 * Returns a range from the middle half of the finished submissions. null until five are finished: an estimate from two would be a guess.
 */
export function timeRemaining(finishedMs: readonly number[], left: number, slots: number): Remaining | null {
  if (finishedMs.length < FEWEST_FINISHED) return null;
  if (left <= 0) return { lowMs: 0, highMs: 0 };
  const sorted = [...finishedMs].sort((one, other) => one - other);
  const rounds = left / Math.max(1, Math.min(slots, left));
  return {
    lowMs: Math.round(quantile(sorted, 0.25) * rounds),
    highMs: Math.round(quantile(sorted, 0.75) * Math.ceil(rounds)),
  };
}

export interface CallPlan {
  /** The tokens of one submission, over all calls. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly calls: number;
}

export interface CostEstimate {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** null: a price is unknown. Unknown does not mean free. */
  readonly lowNanodollars: number | null;
  readonly highNanodollars: number | null;
}

/** In nanodollars per million tokens. */
export interface TokenPrice {
  readonly prompt: number;
  readonly completion: number;
}

/** Uses the calls of a pilot if there is one. Otherwise it uses the length of the submissions: four characters are about one token. */
export function estimateCost(
  works: readonly { readonly characters: number }[],
  plan: { readonly calls: number; readonly promptCharacters: number; readonly completionTokens: number },
  price: TokenPrice | null,
  pilot: readonly CallPlan[] = [],
): CostEstimate {
  const guessed = works.map(
    ({ characters }): CallPlan => ({
      calls: plan.calls,
      promptTokens: plan.calls * Math.ceil((plan.promptCharacters + characters) / 4),
      completionTokens: plan.calls * plan.completionTokens,
    }),
  );
  const from = (of: (one: CallPlan) => number, share: number): number => {
    if (pilot.length === 0) return guessed.reduce((sum, one) => sum + of(one), 0) * (share === 0.5 ? 1 : share);
    return (
      quantile(
        pilot.map(of).sort((one, other) => one - other),
        share,
      ) * works.length
    );
  };
  // Without a pilot, the range is 20 % below to 50 % above, because code has more tokens per letter than prose.
  const [low, high] = pilot.length === 0 ? [0.8, 1.5] : [0.25, 0.9];
  const cost = (share: number) =>
    price === null
      ? null
      : Math.round(
          (from((one) => one.promptTokens, share) * price.prompt +
            from((one) => one.completionTokens, share) * price.completion) /
            1e6,
        );
  return {
    calls: Math.round(from((one) => one.calls, 0.5)),
    promptTokens: Math.round(from((one) => one.promptTokens, 0.5)),
    completionTokens: Math.round(from((one) => one.completionTokens, 0.5)),
    lowNanodollars: cost(low),
    highNanodollars: cost(high),
  };
}

/**
 * Chooses a pilot sample that represents the class: an equal number from each band of size (and score, if there is one). The same input
 * gives the same sample.
 */
export function stratifiedSample<T extends { readonly key: string; readonly size: number; readonly score?: number }>(
  works: readonly T[],
  count: number,
): T[] {
  if (count >= works.length) return [...works];
  if (count <= 0) return [];
  const sorted = [...works].sort(
    (one, other) => (one.score ?? 0) - (other.score ?? 0) || one.size - other.size || (one.key < other.key ? -1 : 1),
  );
  // Takes the middle of each band. The first and last band include the ends.
  return Array.from({ length: count }, (_, band) => {
    const at = count === 1 ? (sorted.length - 1) / 2 : (band * (sorted.length - 1)) / (count - 1);
    return sorted[Math.round(at)];
  }).filter((one): one is T => one !== undefined);
}

function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
  return below + (above - below) * (at - Math.floor(at));
}
