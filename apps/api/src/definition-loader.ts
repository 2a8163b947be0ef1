/**
 * Compiles uploaded definitions. A small one is compiled at once. A large one takes seconds and is compiled in a separate thread, so that
 * other requests are answered meanwhile. The thread starts with the first large upload and keeps no state: if an upload exceeds its memory,
 * the thread ends, and the next upload gets a new one. After `mostMs` the upload is cancelled and the thread is stopped.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "@markmill/base";
import { type LoadedUpload, type LoadOrder, loadUpload, type Upload } from "./load-upload.ts";
import { Refusal } from "./refusal.ts";

export interface DefinitionLoader {
  load(upload: Upload): Promise<LoadedUpload>;
  close(): Promise<void>;
}

/** The limit in characters. Smaller uploads compile in a few milliseconds. */
const small = 32 * 1024;
const mostMs = 60_000;
/** The number of uploads that may wait for the thread. Each may hold 32 MiB. */
const mostWaiting = 8;
const mostHeapMb = 1_024;

interface Waiting {
  readonly order: LoadOrder;
  readonly resolve: (loaded: LoadedUpload) => void;
  readonly reject: (error: unknown) => void;
}

type Answer = { readonly id: number } & ({ readonly loaded: LoadedUpload } | { readonly failed: string });

export function createDefinitionLoader(environment: readonly string[]): DefinitionLoader {
  const waiting: Waiting[] = [];
  let thread: Worker | null = null;
  let timer: NodeJS.Timeout | null = null;
  let drawn = 0;

  /** The thread works on the first waiting upload. */
  function next(): void {
    const [first] = waiting;
    if (first === undefined) return;
    thread ??= open();
    timer = setTimeout(() => fail(tooLong()), mostMs);
    thread.postMessage(first.order);
  }

  function open(): Worker {
    const url = new URL("./load-definition-thread.ts", import.meta.url);
    const opened = startThread(url, {
      name: "markmill definitions",
      resourceLimits: { maxOldGenerationSizeMb: mostHeapMb },
    });
    opened.unref();
    opened.on("message", (answer: Answer) => {
      const first = done();
      if ("loaded" in answer) first?.resolve(answer.loaded);
      else first?.reject(new Error(answer.failed));
      next();
    });
    opened.on("error", () => thread === opened && fail(tooLong()));
    opened.on("exit", () => thread === opened && fail(tooLong()));
    return opened;
  }

  function done(): Waiting | undefined {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    return waiting.shift();
  }

  function fail(error: unknown): void {
    const lost = thread;
    thread = null;
    void lost?.terminate();
    done()?.reject(error);
    next();
  }

  return {
    async load(upload) {
      if (sizeOf(upload) <= small) return loadUpload(upload, environment);
      if (waiting.length >= mostWaiting) {
        throw new Refusal("OVERLOADED", { detail: "The server is compiling many large definitions. Try again later." });
      }
      return await new Promise<LoadedUpload>((resolve, reject) => {
        drawn += 1;
        waiting.push({ order: { id: drawn, upload, environment }, resolve, reject });
        if (waiting.length === 1) next();
      });
    },
    async close() {
      const last = thread;
      thread = null;
      if (timer !== null) clearTimeout(timer);
      for (const { reject } of waiting.splice(0))
        reject(new Refusal("OVERLOADED", { detail: "The server is stopping." }));
      await last?.terminate();
    },
  };
}

function tooLong(): Refusal {
  return new Refusal("TOO_LARGE", {
    detail: `The definition cannot be compiled within ${mostMs / 1000} s and ${mostHeapMb} MiB.`,
  });
}

function sizeOf({ files }: Upload): number {
  let size = 0;
  for (const content of Object.values(files))
    size += typeof content === "string" ? content.length : content.base64.length;
  return size;
}
