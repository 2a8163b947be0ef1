/**
 * Checks the components of a process on request.
 *
 * L1  It checks at most once a second, however many requests arrive. Requests in between get the same answer.
 * L2  A check without an answer within `lookMs` gives the component's `silence` result, so that an answer is never older than about four
 *     seconds.
 */
import { type HealthAnswer, type HealthComponent, type Looked, tellHealth } from "./health.ts";
import { troubleOfError } from "./trouble-of-error.ts";

/** See L2 in the file header. */
const lookMs = 2_500;
/** See L1 in the file header. */
const freshMs = 1_000;

/** `components` is read on every check: some are added and removed while the process runs. */
export function lookAfter(components: () => readonly HealthComponent[]): () => Promise<HealthAnswer> {
  let known: { readonly answer: Promise<HealthAnswer>; readonly at: number } | null = null;
  return () => {
    const now = performance.now();
    if (known === null || now - known.at > freshMs) {
      known = { answer: Promise.all(components().map(lookAt)).then(tellHealth), at: now };
    }
    return known.answer;
  };
}

async function lookAt(component: HealthComponent): Promise<Looked> {
  const { name, needed, silence } = component;
  const { promise: silent, resolve } = Promise.withResolvers<Looked>();
  const timer = setTimeout(() => resolve({ name, needed, trouble: silence }), lookMs);
  const asked = (async () => component.look())().then(
    (trouble) => ({ name, needed, trouble }),
    (error: unknown) => ({ name, needed, trouble: troubleOfError(error) }),
  );
  return await Promise.race([asked, silent]).finally(() => clearTimeout(timer));
}
