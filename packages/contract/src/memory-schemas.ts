import { z } from "zod";
import { named } from "./named.ts";
import { count, page, runId, time } from "./values.ts";

export const scopeParams = z.object({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/)
    .describe("the name in the workflow: `config.memory.scope`"),
});

const memoryScope = named(
  "MemoryScope",
  z.object({
    name: z.string(),
    passages: count,
    characters: count,
    runs: count.describe("root runs that inserted the passages"),
    embedders: z.array(z.string()),
    firstAt: time,
    lastAt: time,
  }),
);
export const scopePage = named("MemoryScopePage", page(memoryScope));

const passage = named(
  "Passage",
  z.object({
    id: count,
    text: z.string(),
    runId: runId.describe("the root run that inserted the passage; it is deleted with this run"),
    embedder: z.string(),
    createdAt: time,
  }),
);
export const passagePage = named("PassagePage", page(passage));
