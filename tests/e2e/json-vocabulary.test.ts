// What commands say with --json has the API's names and units: it is held against the schemas of the contract.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { routes } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { writeWorkflows } from "./cli-workflows.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;

beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({ SANDBOX: "none" }, { postgres: "running" });
  writeWorkflows(place.cwd);
  writeFileSync(join(place.cwd, "replies.yaml"), 'default: { reply: "hello" }\n');
});
afterAll(async () => {
  await resident.close();
  await place.remove();
});

type Listing = "listRuns" | "listBatches" | "listMemoryScopes" | "listEvents" | "listCalls";
const schemaOf = (name: Listing | "getRun" | "startRun" | "replayRun") =>
  (routes[name].answer as unknown as { readonly schema: z.ZodType }).schema;

/** Names that the schema does not know, by their path. A list's place is its first index. */
function unknownNames(schema: z.ZodType, said: unknown): string[] {
  const read = schema.safeParse(said);
  if (!read.success) return read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return missingIn(read.data, said, "");
}

function missingIn(known: unknown, said: unknown, at: string): string[] {
  if (typeof said !== "object" || said === null || typeof known !== "object" || known === null) return [];
  return Object.entries(said).flatMap(([name, value]) => {
    const path = at === "" ? name : `${at}.${name}`;
    return name in known ? missingIn((known as Record<string, unknown>)[name], value, path) : [path];
  });
}

const json = async (...args: string[]): Promise<unknown> => JSON.parse((await resident.say(place, args)).stdout);

describe("--json", () => {
  it("of 'run', 'watch' and 'status RUN' is a run of the API, with warnings and questions beside it", async () => {
    const ran = await markmill(place, ["run", "greet.wf.md", "NAME=Ada", "--script", "replies.yaml", "--json"]);
    const run = JSON.parse(ran.stdout);
    expect(unknownNames(schemaOf("getRun"), run)).toEqual(["warnings"]);
    expect(run).toMatchObject({
      status: "success",
      result: "hello",
      spent: { nanodollars: expect.any(Number), calls: 1 },
    });
    expect(unknownNames(schemaOf("getRun"), await json("watch", "last", "--json"))).toEqual(["warnings"]);
    const shown = await json("status", "last", "--json");
    expect(unknownNames(schemaOf("getRun"), shown)).toEqual(["warnings", "hits", "asks", "workers", "pauses"]);
  });

  it("of 'run --detach' is a started run", async () => {
    const detached = await json("run", "ask.wf.md", "--script", "replies.yaml", "--detach", "--json");
    expect(unknownNames(schemaOf("startRun"), detached)).toEqual([]);
    await resident.say(place, ["cancel", (detached as { id: string }).id]);
  });

  it("of lists is a page of the API; an empty one has no items", async () => {
    const runs = (await json("status", "--json")) as { items: object[] };
    const beside = unknownNames(schemaOf("listRuns"), runs).filter((name) => !/^items\.\d+\.waits$/.test(name));
    expect({ beside, some: runs.items.length > 0 }).toEqual({ beside: ["pauses"], some: true });
    for (const [name, args] of [
      ["listBatches", ["status", "--batches", "--json"]],
      ["listMemoryScopes", ["memory", "--json"]],
    ] as const) {
      const said = await json(...args);
      expect({ unknown: unknownNames(schemaOf(name), said), said }).toEqual({
        unknown: [],
        said: { items: [], next: null },
      });
    }
  });

  it("of 'logs', 'history' and 'replay' has events, calls and comparisons of the API", async () => {
    const { items } = (await json("status", "--json")) as { items: { id: string; name: string }[] };
    const id = items.find(({ name }) => name === "Greet")?.id ?? "";
    const lines = (await resident.say(place, ["logs", id, "--json"])).stdout.trim().split("\n");
    const page = {
      items: lines.map((line) => JSON.parse(line)),
      last: 1,
      next: "1",
      rev: 1,
      status: "success",
      ended: true,
    };
    const decided = /^items\.\d+\.(checked|failed|again|ended)$/;
    expect(unknownNames(schemaOf("listEvents"), page).filter((name) => !decided.test(name))).toEqual([]);
    const history = (await json("history", id, "--json")) as { items: { calls: object[] }[] };
    const [one] = history.items;
    expect(unknownNames(schemaOf("getRun"), one)).toEqual([
      "variables",
      "hits",
      "events",
      "activities",
      "calls",
      "toolCalls",
    ]);
    expect(unknownNames(schemaOf("listCalls"), { items: one?.calls, next: null })).toEqual([]);
    expect(one?.calls).toHaveLength(1);
    const replayed = (await json("replay", id, "--json")) as { items: object[] };
    expect(unknownNames(schemaOf("replayRun"), replayed.items[0])).toEqual(["id", "name"]);
  });
});
