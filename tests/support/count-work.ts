/**
 * Counts the work of a function, however busy the machine is. Tests compare it in place of time.
 *
 * W1  `steps` is how often V8 entered a block of JavaScript (precise coverage, counted by V8 itself).
 * W2  `characters` is how many characters the built-in functions of strings, regular expressions and JSON read, how many items those of lists
 *     search, and how many bytes Buffer.concat copies. One search is counted from where it began to where it ended. V8 can take the product
 *     of both lengths where it looks for a long text; so much is counted. Steps inside a regular expression are not counted.
 */
import { Session } from "node:inspector";

export interface Work {
  readonly steps: number;
  readonly characters: number;
}

const session = new Session();

/** In the same thread the engine answers before `post` returns. */
function post<Answer>(method: string, parameters: object = {}): Answer {
  let answer: Answer | undefined;
  session.post(method, parameters, (error: Error | null, result: unknown) => {
    if (error !== null) throw error;
    answer = result as Answer;
  });
  return answer as Answer;
}

/** Before any module is loaded whose work is counted: V8 compiles its counters into a function. */
export function beginCounting(): void {
  session.connect();
  post("Profiler.enable");
  post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
}

/** Since it was asked last. */
function stepsSince(): number {
  const { result } = post<{ result: { functions: { ranges: { count: number }[] }[] }[] }>(
    "Profiler.takePreciseCoverage",
  );
  let steps = 0;
  for (const { functions } of result)
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  return steps;
}

export function countWork(run: () => unknown): Work {
  stepsSince();
  const reading = countReading();
  try {
    run();
  } finally {
    reading.stop();
  }
  return { steps: stepsSince(), characters: reading.characters() };
}

/** Of what goes on in this thread until the promise is settled. */
export async function countStepsUntil(run: () => Promise<unknown>): Promise<number> {
  stepsSince();
  await run();
  return stepsSince();
}

/**
 * How many times the work of `small` that of `large` is, by the measure that grew more. Ten times the text: about 10 where work is linear,
 * 100 where it is quadratic. V8 counts some blocks twice while it optimises a function, so the least of three counts is taken.
 */
export function growthOfWork(small: () => unknown, large: () => unknown): number {
  // A first call loads and fills caches, whose work is of neither.
  small();
  const [before, after] = [leastWork(small), leastWork(large)];
  return Math.max(after.steps / Math.max(1, before.steps), after.characters / Math.max(1, before.characters));
}

function leastWork(run: () => unknown): Work {
  const counts = [countWork(run), countWork(run), countWork(run)];
  return {
    steps: Math.min(...counts.map(({ steps }) => steps)),
    characters: Math.min(...counts.map(({ characters }) => characters)),
  };
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Methods that read the whole text, and those whose reading ends where they find something. */
const whole = ["replace", "replaceAll", "split", "normalize", "toLowerCase", "toUpperCase", "localeCompare"] as const;
const edges = ["trim", "trimStart", "trimEnd"] as const;
const searches = ["indexOf", "includes", "search"] as const;
/** V8 looks for a shorter text in linear time. */
const longNeedle = 128;

function countReading(): { readonly characters: () => number; readonly stop: () => void } {
  let characters = 0;
  const undo: (() => void)[] = [];
  const patch = (on: object, name: string, cost: (self: unknown, args: unknown[], result: unknown) => number) => {
    const before = Object.getOwnPropertyDescriptor(on, name) as PropertyDescriptor;
    const method = before.value as Method;
    Object.defineProperty(on, name, {
      ...before,
      value: function counted(this: unknown, ...args: unknown[]) {
        const from = this instanceof RegExp ? this.lastIndex : 0;
        const result = method.apply(this, args);
        characters += cost(this instanceof RegExp ? { pattern: this, from } : this, args, result);
        return result;
      },
    });
    undo.push(() => Object.defineProperty(on, name, before));
  };
  const lengthOf = (text: unknown) => String(text).length;
  for (const name of whole) patch(String.prototype, name, (text) => lengthOf(text));
  for (const name of edges) patch(String.prototype, name, (text, _, result) => lengthOf(text) - lengthOf(result) + 1);
  for (const name of searches) {
    patch(String.prototype, name, (text, args, result) => {
      const from = typeof args[1] === "number" ? args[1] : 0;
      const found = typeof result === "number" ? result : result ? lengthOf(args[0]) : -1;
      const each = name !== "search" && lengthOf(args[0]) > longNeedle ? lengthOf(args[0]) : 1;
      return each * Math.max(1, (found >= 0 ? found : lengthOf(text)) - from);
    });
  }
  patch(String.prototype, "lastIndexOf", (text, _, result) =>
    typeof result === "number" && result >= 0 ? Math.max(1, lengthOf(text) - result) : lengthOf(text),
  );
  // Replacing, matching, splitting and testing all go through it.
  patch(RegExp.prototype, "exec", (self, args, result) => {
    const { pattern, from } = self as { readonly pattern: RegExp; readonly from: number };
    const start = pattern.global || pattern.sticky ? from : 0;
    const match = result as RegExpExecArray | null;
    if (match !== null) return Math.max(1, match.index + match[0].length - start);
    return pattern.sticky ? 1 : Math.max(1, lengthOf(args[0]) - start);
  });
  const { indexOf } = Array.prototype;
  for (const name of ["includes", "indexOf"]) {
    patch(Array.prototype, name, (list, args, result) => {
      const items = list as readonly unknown[];
      const at = typeof result === "number" ? result : indexOf.call(items, args[0]);
      return at < 0 ? items.length : at + 1;
    });
  }
  patch(JSON, "parse", (_, args) => lengthOf(args[0]));
  patch(Buffer, "concat", (_, __, result) => (result as Buffer).length);
  return {
    characters: () => characters,
    stop: () => {
      for (const one of undo.reverse()) one();
    },
  };
}
