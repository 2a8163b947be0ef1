/**
 * Looks at the components of a process when somebody asks.
 *
 * L1  However often it is asked, it looks at most once a second: those who ask meanwhile get the same answer.
 * L2  A look that has no answer after `lookMs` counts as the component's silence, so that an answer is never older than about four seconds.
 */
import { type HealthAnswer, type HealthComponent, type Looked, tellHealth } from "./health.ts";
import { troubleOfError } from "./trouble-of-error.ts";

/** L2. */
const lookMs = 2_500;
/** L1. */
const freshMs = 1_000;

/** `components` is read at every look: some come and go while the process runs. */
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
