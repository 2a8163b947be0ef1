import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import { describePort } from "../support/port-cases.ts";

describePort({
  name: "none",
  available: process.platform === "linux",
  hasWalls: false,
  cases: "own",
  make: async (root) => createNoneSandbox({ root, warn: () => undefined }),
});
