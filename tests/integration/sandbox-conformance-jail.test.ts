import { createJailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { describePort, supportProgram } from "../support/port-cases.ts";

describePort({
  name: "jail",
  available: process.platform === "linux",
  hasWalls: true,
  make: (root) => createJailSandbox({ root }),
  worker: async (root) => [supportProgram("jail-worker.ts"), root, "run"],
});
