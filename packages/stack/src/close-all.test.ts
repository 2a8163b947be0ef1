import { expect, it } from "vitest";
import { closeAll } from "./close-all.ts";

it("closeAll closes the remaining parts in order after a failure, and then throws the first failure", async () => {
  const closed: string[] = [];
  const closes = (name: string, failure?: string) => async () => {
    await Promise.resolve();
    closed.push(name);
    if (failure !== undefined) throw new Error(failure);
  };
  const at = (name: string) => () => void closed.push(name);
  const closing = closeAll([closes("stack", "the disk is full"), closes("health", "late"), at("signals")]);
  await expect(closing).rejects.toThrow("the disk is full");
  expect(closed).toEqual(["stack", "health", "signals"]);
  await expect(closeAll([closes("stack")])).resolves.toBeUndefined();
});
