/**
 * Calls pure functions in a thread. Reading text of students, models and web pages can take a second: in a thread it delays no other work.
 *
 * T1  The thread starts with the first call and performs one call at a time, in the order in which they were made. An idle thread ends.
 * T2  A call that takes longer than `mostMs`, or more memory than the thread has, is refused, and its thread is ended. The next call gets a
 *     new thread.
 * T3  A pending call keeps the process alive, an idle thread does not.
 * T4  Every failure is a `ThreadCallFailed`. The functions are pure, so the same call will probably fail again: callers must not repeat it
 *     for ever.
 *
 * The functions have no state, so kill -9 loses nothing: the caller calls again.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "./start-thread.ts";

// biome-ignore lint/suspicious/noExplicitAny: any list of arguments
export type Functions = Readonly<Record<string, (...args: any[]) => unknown>>;

type ThreadCalls<Known extends Functions> = <Name extends keyof Known & string>(
  name: Name,
  ...args: Parameters<Known[Name]>
) => Promise<Awaited<ReturnType<Known[Name]>>>;

export interface ThreadOptions {
  readonly name: string;
  readonly mostMs?: number;
  readonly mostHeapMb?: number;
  readonly idleMs?: number;
}

export interface ThreadCall {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

export type ThreadAnswer = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly failed: string; readonly name: string }
);

/** A failed call (T4). `name`: the name of the error that the function threw. */
export class ThreadCallFailed extends Error {
  override readonly name: string;

  constructor(message: string, name = "ThreadCallFailed") {
    super(message);
    this.name = name;
  }
}

/** `file`: a module that calls `answerThreadCalls` with the functions. */
export function createThreadCalls<Known extends Functions>(file: URL, options: ThreadOptions): ThreadCalls<Known> {
  const { name, mostMs = 60_000, mostHeapMb = 1_024, idleMs = 30_000 } = options;
  const waiting: {
    readonly call: ThreadCall;
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];
  let thread: Worker | null = null;
  let timer: NodeJS.Timeout | undefined;
  let drawn = 0;

  function begin(): void {
    const [first] = waiting;
    clearTimeout(timer);
    if (first === undefined) {
      thread?.unref();
      timer = setTimeout(end, idleMs).unref();
      return;
    }
    thread ??= open();
    thread.ref();
    timer = setTimeout(() => giveUp(`${name}: the text takes longer than ${mostMs / 1_000} s to read`), mostMs);
    thread.postMessage(first.call);
  }

  function open(): Worker {
    const opened = startThread(file, { name, resourceLimits: { maxOldGenerationSizeMb: mostHeapMb } });
    opened.on("message", (answer: ThreadAnswer) => {
      if (opened !== thread) return;
      const first = waiting.shift();
      if ("value" in answer) first?.resolve(answer.value);
      else first?.reject(new ThreadCallFailed(answer.failed, answer.name));
      begin();
    });
    opened.on("error", (error) => opened === thread && giveUp(`${name}: ${error.message}`));
    opened.on("exit", () => opened === thread && giveUp(`${name}: the thread ended`));
    return opened;
  }

  function end(): void {
    const last = thread;
    thread = null;
    void last?.terminate();
  }

  function giveUp(why: string): void {
    end();
    waiting.shift()?.reject(new ThreadCallFailed(why));
    begin();
  }

  return <Name extends keyof Known & string>(wanted: Name, ...args: Parameters<Known[Name]>) =>
    new Promise<Awaited<ReturnType<Known[Name]>>>((resolve, reject) => {
      drawn += 1;
      const settle = (value: unknown) => resolve(value as Awaited<ReturnType<Known[Name]>>);
      waiting.push({ call: { id: drawn, name: wanted, args }, resolve: settle, reject });
      if (waiting.length === 1) begin();
    });
}
