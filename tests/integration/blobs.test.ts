import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { BlobStore } from "../../packages/store/src/blobs/blob-port.ts";
import { createPostgresBlobs } from "../../packages/store/src/blobs/postgres-blobs.ts";
import { createS3Blobs } from "../../packages/store/src/blobs/s3-blobs.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { type S3Server, startS3Server } from "../support/s3-server.ts";
import { type BlobSettings, createRun, defaultTenant, deleteOrphans, openStore, type Store } from "../support/store.ts";
import { chain, definition } from "./store-programs.ts";

const mebibyte = 1024 * 1024;
const day = 86_400_000;

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3Server();
});
afterAll(() => s3?.remove());

async function* inPieces(bytes: Uint8Array, length = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

/** Compares whole buffers. A matcher that compares every byte takes seconds. */
function same(one: Uint8Array | null, other: Uint8Array): void {
  expect(one).toHaveLength(other.length);
  expect(Buffer.compare(one ?? Buffer.alloc(0), other)).toBe(0);
}

async function gathered(content: AsyncIterable<Uint8Array> | null): Promise<Buffer | null> {
  if (content === null) return null;
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe.each(["postgres", "s3"] as const)("blobs in %s", (kind) => {
  let database: TestDatabase;
  let store: Store;
  let settings: BlobSettings;
  const blobs = () => store.as(defaultTenant).blobs;
  const ask = async <Row extends object>(text: string, ...values: unknown[]): Promise<Row[]> =>
    (await store.database.calm.query<Row>(text, values)).rows;
  const loose = () => ask<{ object: string; place: string; doomed: boolean }>("select * from loose_objects");
  /** The port of the store, to check whether bytes exist. */
  let port: BlobStore;

  beforeAll(async () => {
    database = await migratedDatabase();
    settings = { kind, s3: s3.settings };
    store = await openStore({ url: database.url, blobs: settings });
    port = kind === "s3" ? createS3Blobs(s3.settings) : createPostgresBlobs(store.database);
  });
  afterAll(async () => {
    await port?.close();
    await store?.close();
    await database?.drop();
  });

  describe("the blob store", () => {
    it("returns what was written, whole and in part, and forgets deleted blobs", async () => {
      const bytes = randomBytes(5 * mebibyte + 3);
      await port.write("t/whole", inPieces(bytes));
      expect(await port.exists("t/whole")).toBe(true);
      same(await gathered(port.read("t/whole", 0, bytes.length)), bytes);
      const [from, to] = [mebibyte - 5, 3 * mebibyte + 7];
      same(await gathered(port.read("t/whole", from, to)), bytes.subarray(from, to));
      expect(await gathered(port.read("t/whole", 9, 9))).toEqual(Buffer.alloc(0));
      await port.delete("t/whole");
      expect(await port.exists("t/whole")).toBe(false);
      await expect(gathered(port.read("t/whole", 0, 1))).rejects.toMatchObject({ code: "STORE_BLOB_LOST" });
      await port.delete("t/whole");
      await port.delete("t/never");
    });

    it("keeps an empty blob", async () => {
      await port.write("t/empty", inPieces(Buffer.alloc(0)));
      expect(await port.exists("t/empty")).toBe(true);
      expect(await gathered(port.read("t/empty", 0, 0))).toEqual(Buffer.alloc(0));
      await port.delete("t/empty");
    });

    it("fails a write if reading its source fails", async () => {
      async function* broken() {
        yield randomBytes(2 * mebibyte);
        throw new Error("the client went away");
      }
      await expect(port.write("t/broken", broken())).rejects.toThrow("the client went away");
      await port.delete("t/broken");
      expect(await port.exists("t/broken")).toBe(false);
    });
  });

  it.each([0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 5 * mebibyte + 17])(
    "%i bytes are read back unchanged",
    async (size) => {
      const bytes = randomBytes(size);
      const hash = createHash("sha256").update(bytes).digest("hex");
      const saved = await blobs().save(inPieces(bytes));
      expect(saved).toMatchObject({ hash, size });
      expect(await blobs().find(hash)).toEqual(saved);
      same(await blobs().load(hash), bytes);
      same(await gathered(await blobs().stream(hash)), bytes);
      const part = { from: Math.floor(size / 3), to: Math.floor(size / 2) };
      same(await gathered(await blobs().stream(hash, part)), bytes.subarray(part.from, part.to));
      same(await gathered(await blobs().stream(hash, { from: size - 1, to: size + 100 })), bytes.subarray(-1));
      expect((await blobs().save(bytes)).hash).toBe(hash);
      expect(await ask("select 1 from blobs where hash = $1", hash)).toHaveLength(1);
      expect(await store.as("other").blobs.load(hash)).toBeNull();
      expect(await store.as("other").blobs.find(hash)).toBeNull();
      expect(await store.as("other").blobs.stream(hash)).toBeNull();
    },
  );

  it("blobs are stored where the setting says", async () => {
    const { hash } = await blobs().save(randomBytes(2 * mebibyte));
    const [row] = await ask<{ place: string; object: string; bytes: Buffer | null }>(
      "select place, object, bytes from blobs where hash = $1",
      hash,
    );
    expect(row).toMatchObject({ place: kind === "s3" ? "s3" : "parts", bytes: null });
    expect(await port.exists(row?.object ?? "")).toBe(true);
  });

  it("a blob that is stored many times in parallel exists once, and the other copies are deleted", async () => {
    await store.blobs.deleteLoose();
    const bytes = randomBytes(1.5 * mebibyte);
    const all = await Promise.all(Array.from({ length: 5 }, () => blobs().save(inPieces(bytes))));
    expect(new Set(all.map(({ hash }) => hash)).size).toBe(1);
    const left = await loose();
    expect(left.length).toBeLessThanOrEqual(4);
    expect(await store.blobs.deleteLoose()).toBe(left.length);
    for (const { object } of left) expect(await port.exists(object)).toBe(false);
    expect(await loose()).toEqual([]);
    same(await blobs().load(all[0]?.hash ?? ""), bytes);
  });

  it("content beyond the limit is refused while it is read, and leaves nothing", async () => {
    const before = await ask("select hash from blobs");
    await expect(blobs().save(inPieces(randomBytes(3 * mebibyte)), 2 * mebibyte)).rejects.toMatchObject({
      code: "STORE_TOO_LARGE",
    });
    await expect(blobs().save(randomBytes(1_000), 999)).rejects.toMatchObject({ code: "STORE_TOO_LARGE" });
    await expect(blobs().save(inPieces(randomBytes(1_000), 10), 999)).rejects.toMatchObject({
      code: "STORE_TOO_LARGE",
    });
    const left = await loose();
    await store.blobs.deleteLoose();
    for (const { object } of left) expect(await port.exists(object)).toBe(false);
    expect(await loose()).toEqual([]);
    expect(await ask("select hash from blobs")).toEqual(before);
  });

  it("blobs that a killed process was writing have no reference, and are deleted after a while", async () => {
    const bytes = 6 * mebibyte;
    const options = JSON.stringify({ url: database.url, blobs: settings, tenant: defaultTenant, bytes });
    const script = join(import.meta.dirname, "../support/hold-blob-upload.ts");
    const before = await ask("select hash from blobs");
    const child = spawn(process.execPath, [script, options], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    const [left] = await loose();
    expect(left?.object).toMatch(/^default\//);
    expect(await ask("select hash from blobs")).toEqual(before);
    // The grace time of a day has not passed.
    expect(await store.blobs.deleteLoose()).toBe(0);
    await ask("update loose_objects set due = clock_timestamp()");
    expect(await store.blobs.deleteLoose()).toBe(1);
    expect(await port.exists(left?.object ?? "")).toBe(false);
    expect(await loose()).toEqual([]);
    expect(
      await ask("select 1 from blob_parts p where not exists (select 1 from blobs b where b.object = p.object)"),
    ).toEqual([]);
  });

  it("blobs without a reference are deleted after a grace time, and an interrupted deletion is repeated", async () => {
    const bytes = randomBytes(2 * mebibyte);
    const { hash } = await blobs().save(bytes);
    const named = await blobs().save(randomBytes(2 * mebibyte));
    await createRun(store, { definition: definition({ main: chain(1) }), submission: { blob: named.hash } });
    const [{ object } = { object: "" }] = await ask<{ object: string }>(
      "select object from blobs where hash = $1",
      hash,
    );
    await deleteOrphans(store, day);
    expect(await blobs().find(hash)).not.toBeNull();
    await ask("update blobs set created_at = created_at - interval '2 days'");
    // Storing the blob again renews its time.
    await blobs().save(inPieces(bytes));
    await deleteOrphans(store, day);
    same(await blobs().load(hash), bytes);
    await ask("update blobs set created_at = created_at - interval '2 days'");
    // The state after a kill: the row is deleted, and the deletion of the object has started.
    if (kind === "s3") {
      await s3.stop();
      await expect(deleteOrphans(store, day)).rejects.toMatchObject({
        code: "STORE_BUCKET_UNREACHABLE",
        transient: true,
      });
      await s3.start();
    } else {
      await ask(
        `with gone as (delete from blobs where hash = $1 returning object)
        insert into loose_objects (object, place, due, doomed) select object, 'parts', clock_timestamp(), true from gone`,
        hash,
      );
    }
    expect(await blobs().find(hash)).toBeNull();
    expect(await port.exists(object)).toBe(true);
    await ask("update loose_objects set due = clock_timestamp()");
    await deleteOrphans(store, day);
    expect(await port.exists(object)).toBe(false);
    expect(await loose()).toEqual([]);
    expect(await blobs().find(named.hash)).not.toBeNull();
    // The same bytes can be stored again.
    await blobs().save(inPieces(bytes));
    same(await blobs().load(hash), bytes);
  });

  it("the blobs of a run that starts during a deletion are either stored or were never referenced", async () => {
    for (let round = 0; round < (inject("thorough") ? 8 : 3); round++) {
      const { hash } = await blobs().save(randomBytes(mebibyte + 1));
      await ask("update blobs set created_at = created_at - interval '2 days' where hash = $1", hash);
      const [created] = await Promise.allSettled([
        createRun(store, { definition: definition({ main: chain(1) }), submission: { blob: hash } }),
        deleteOrphans(store, day),
      ]);
      const there = (await blobs().find(hash)) !== null;
      expect(created.status === "fulfilled").toBe(there);
      if (there) expect(await blobs().load(hash)).toHaveLength(mebibyte + 1);
    }
  });

  it("a blob of many megabytes is streamed without being held in memory", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    /** The memory in use, after two garbage collections. */
    const held = () => {
      collect();
      // Buffers are freed in the background. The second collection waits for the first.
      collect();
      return process.memoryUsage().arrayBuffers;
    };
    const size = (inject("thorough") ? 64 : 40) * mebibyte;
    const piece = randomBytes(64 * 1024);
    const before = held();
    let most = before;
    const look = (done: number) => {
      if (done % (8 * mebibyte) < piece.length) most = Math.max(most, held());
    };
    async function* content() {
      for (let sent = 0; sent < size; sent += piece.length) {
        look(sent);
        yield piece;
      }
    }
    const { hash } = await blobs().save(content());
    let read = 0;
    for await (const bytes of (await blobs().stream(hash)) ?? []) {
      read += bytes.length;
      look(read);
    }
    expect(read).toBe(size);
    expect(most - before).toBeLessThan(24 * mebibyte);
  });
});

it("old blobs stay readable when the setting changes for new ones", async () => {
  const database = await migratedDatabase();
  const into = await openStore({ url: database.url, blobs: { kind: "s3", s3: s3.settings } });
  const bytes = randomBytes(1_000);
  const { hash } = await into.as(defaultTenant).blobs.save(bytes);
  await into.close();
  const back = await openStore({ url: database.url, blobs: { kind: "postgres", s3: s3.settings } });
  expect(await back.as(defaultTenant).blobs.load(hash)).toEqual(bytes);
  await back.close();
  const without = await openStore({ url: database.url });
  await expect(without.as(defaultTenant).blobs.load(hash)).rejects.toMatchObject({ code: "STORE_BUCKET_REFUSED" });
  await without.close();
  await database.drop();
});

it("a missing bucket, a wrong key and an unreachable server have different errors", async () => {
  const { settings } = s3;
  const write = (wrong: Partial<typeof settings>) =>
    createS3Blobs({ ...settings, ...wrong }).write("t/x", inPieces(Buffer.from("x")));
  await expect(write({ bucket: "nowhere" })).rejects.toMatchObject({ code: "STORE_BUCKET_REFUSED" });
  const credentials = { accessKeyId: "S3RVER", secretAccessKey: "wrong" };
  await expect(write({ credentials })).rejects.toMatchObject({ code: "STORE_BUCKET_REFUSED" });
  await expect(write({ endpoint: "http://127.0.0.1:9" })).rejects.toMatchObject({
    code: "STORE_BUCKET_UNREACHABLE",
    transient: true,
  });
});
