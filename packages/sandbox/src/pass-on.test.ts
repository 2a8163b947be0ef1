import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createPassOn } from "./pass-on.ts";

it("a source pauses until its full target has room again, and waits only once for many pieces", async () => {
  const said: string[] = [];
  const passOn = createPassOn({ pause: () => said.push("pause"), resume: () => said.push("resume") });
  const to = new PassThrough({ highWaterMark: 4 });
  for (let piece = 0; piece < 20; piece += 1) passOn(to, Buffer.from("piece"));
  expect([to.listenerCount("drain"), said]).toEqual([1, ["pause"]]);
  let read = 0;
  to.on("data", (piece: Buffer) => {
    read += piece.length;
  });
  await expect.poll(() => [read, said]).toEqual([100, ["pause", "resume"]]);
  expect(to.listenerCount("drain")).toBe(0);
});
