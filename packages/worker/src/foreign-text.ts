/**
 * Reads text of students and models: a short text at once, a long text in a thread. So the worker can renew its leases and serve other runs
 * meanwhile.
 */
import { createThreadCalls } from "@markmill/base";
import type { Json } from "@markmill/engine";
import { foreignTextFunctions as functions } from "./foreign-text-functions.ts";

/** In characters. Any text of this length is read in a few milliseconds. */
const short = 16 * 1024;

const inThread = createThreadCalls<typeof functions>(new URL("./foreign-text-thread.ts", import.meta.url), {
  name: "markmill foreign text",
});

type Functions = typeof functions;

/** `length`: the length of all texts together. */
export async function readForeign<Name extends keyof Functions>(
  length: number,
  name: Name,
  ...args: Parameters<Functions[Name]>
): Promise<ReturnType<Functions[Name]>> {
  if (length > short) return (await inThread(name, ...args)) as ReturnType<Functions[Name]>;
  // The compiler cannot see that these arguments belong to this function.
  const read = functions[name] as unknown as (...given: readonly unknown[]) => ReturnType<Functions[Name]>;
  return read(...args);
}

/**
 * The length of a text together with the schema that it is checked against. A schema that refers to itself can double the work at each level of
 * a short value, so its check always counts as long.
 */
export function lengthWithSchema(text: string, schema: Json): number {
  // `true` and `false` are schemas, too.
  if (typeof schema !== "object" || schema === null) return text.length;
  let known = schemaLengths.get(schema);
  if (known === undefined) {
    const written = JSON.stringify(schema);
    known = /"\$(?:ref|dynamicRef|recursiveRef)"/.test(written) ? Number.POSITIVE_INFINITY : written.length;
    schemaLengths.set(schema, known);
  }
  return text.length + known;
}

const schemaLengths = new WeakMap<object, number>();

export function lengthOf(texts: ReadonlyMap<string, string>): number {
  let length = 0;
  for (const [name, text] of texts) length += name.length + text.length;
  return length;
}
