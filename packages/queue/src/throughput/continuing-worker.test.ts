import { expect, it } from "vitest";
import { restAfter } from "./continuing-worker.ts";

const said = (code: string, message: string) => Object.assign(new Error(message), { code });

it.each([
  said("53100", "could not extend file: No space left on device"),
  new Error("OOM command not allowed when used memory > 'maxmemory'."),
  new Error("Connection terminated unexpectedly"),
  "odd",
])("a continuing worker rests for a second after the error %s", (error) => expect(restAfter(error)).toBe(1_000));

it.each([
  said("40P01", "deadlock detected"),
  said("40001", "could not serialize access"),
  said("55P03", "canceling statement due to lock timeout"),
])("a continuing worker fetches again soon after the error %s", (error) => expect(restAfter(error)).toBeLessThan(100));
