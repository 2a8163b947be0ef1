import { expect, it } from "vitest";
import { inTurn } from "./in-turn.ts";

it("inTurn runs one action after the other, continues after a failed one, and refuses when too many wait", async () => {
  const turn = inTurn(2);
  const seen: string[] = [];
  let open = () => {};
  const first = turn(async () => {
    await new Promise<void>((resolve) => {
      open = resolve;
    });
    seen.push("first");
    throw new Error("failed");
  });
  const second = turn(async () => seen.push("second"));
  const third = turn(async () => seen.push("third"));
  await expect(turn(async () => seen.push("never"))).rejects.toMatchObject({ code: "OVERLOADED" });
  open();
  await expect(first).rejects.toThrow("failed");
  await Promise.all([second, third]);
  expect(seen).toEqual(["first", "second", "third"]);
  await turn(async () => seen.push("later"));
  expect(seen.at(-1)).toBe("later");
});
