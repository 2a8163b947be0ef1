// These tests count the work between two pauses instead of measuring time: a file system may be slow, and a machine may be busy.
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Look, type LookBounds } from "./look.ts";
import { listPlaces, readPlaces } from "./read-places.ts";

const files = 2_000;
const mebibyte = 1024 * 1024;
let root = "";
let places: { readonly workspace: string };
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "markmill-places-"));
  places = { workspace: root };
  mkdirSync(join(root, "many"));
  for (let number = 0; number < files; number += 1) writeFileSync(join(root, "many", `f${number}`), "");
  writeFileSync(join(root, "large"), "");
  truncateSync(join(root, "large"), 20 * mebibyte);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Counts how often the scan would have yielded, and the maximum number of entries between two pauses. */
class CountedLook extends Look {
  paces = 0;
  entries = 0;
  mostBetween = 0;
  #between = 0;

  constructor(bounds: LookBounds) {
    super(bounds, () => 0);
  }

  override count(path: string, depth: number): void {
    this.entries += 1;
    this.#between += 1;
    this.mostBetween = Math.max(this.mostBetween, this.#between);
    super.count(path, depth);
  }

  override async pace(): Promise<void> {
    this.paces += 1;
    this.#between = 0;
    await super.pace();
  }
}

it("a list of files pauses after each entry and after each 512 names", async () => {
  const look = new CountedLook({});
  const { entries } = await listPlaces(places, look);
  expect(entries.size).toBe(files + 2);
  expect(look.mostBetween).toBe(1);
  expect(look.paces).toBe(files + 2 + Math.floor(files / 512));
});

it("a large file is read in pieces of 4 MiB, with a pause after each", async () => {
  const [listing, reading] = [new CountedLook({}), new CountedLook({})];
  await listPlaces(places, listing);
  const [large] = await readPlaces(places, new Set(["workspace/large"]), 100 * mebibyte, reading);
  expect(large?.bytes.length).toBe(20 * mebibyte);
  expect(reading.paces - listing.paces).toBe(5);
});

it("the scan of a folder with too many names stops at the bound", async () => {
  const look = new CountedLook({ maxEntries: 600 });
  await expect(listPlaces(places, look)).rejects.toMatchObject({ code: "SANDBOX_CHECKPOINT_TOO_LARGE" });
  // `large` and `many` themselves. One pause after 512 of the names in `many`; none of these names is read.
  expect([look.entries, look.paces]).toEqual([2, 3]);
});

it("a scan does not enter folders below the maximum depth", async () => {
  const deep = join(root, "deep", ...Array.from({ length: 400 }, () => "d"));
  mkdirSync(deep, { recursive: true });
  const look = new CountedLook({});
  await expect(listPlaces({ deep: join(root, "deep") }, look)).rejects.toMatchObject({
    message: expect.stringContaining("nested deeper than 128"),
  });
  expect(look.entries).toBe(129);
  rmSync(join(root, "deep"), { recursive: true });
});
