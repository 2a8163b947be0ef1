/**
 * Stores objects in a bucket of any S3-compatible server, with the official client, which is loaded on first use.
 *
 * A PUT needs its length in advance and may have to be repeated. So content longer than `heldBytes` is first written to a local file
 * without a name, which disappears with the process.
 */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { S3Client } from "@aws-sdk/client-s3";
import { StoreError } from "../database/store-error.ts";
import type { BlobStore } from "./blob-port.ts";

export interface S3Settings {
  /** null: Amazon's own. */
  readonly endpoint: string | null;
  readonly bucket: string;
  readonly region: string;
  /** null: the credentials of the machine (AWS_… variables, a profile, a role). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  /** The bucket is in the path and not in the host name. */
  readonly pathStyle: boolean;
}

const heldBytes = 4 * 1024 * 1024;
const retryMs = [200, 1_000];

export function createS3Blobs(settings: S3Settings): BlobStore {
  const { bucket: Bucket } = settings;
  let opening: Promise<Loaded> | null = null;
  const client = () => {
    opening ??= load(settings);
    return opening;
  };

  /** Repeats a request if that may help. */
  async function request<Answer>(doing: string, send: (loaded: Loaded) => Promise<Answer>): Promise<Answer> {
    const loaded = await client();
    for (const ms of retryMs) {
      try {
        return await send(loaded);
      } catch (error) {
        if (!translate(error, doing, Bucket).transient) throw translate(error, doing, Bucket);
      }
      await sleep(ms);
    }
    return await send(loaded).catch((error: unknown) => Promise.reject(translate(error, doing, Bucket)));
  }

  return {
    place: "s3",
    async write(object, content) {
      await withBody(content, (body, ContentLength) =>
        request("Storing a blob", ({ s3, sdk }) =>
          s3.send(new sdk.PutObjectCommand({ Bucket, Key: object, Body: body(), ContentLength })),
        ),
      );
    },
    async *read(object, from, to) {
      if (from >= to) return;
      const doing = "Reading a blob";
      let at = from;
      const Range = `bytes=${from}-${to - 1}`;
      const { Body } = await request(doing, ({ s3, sdk }) =>
        s3.send(new sdk.GetObjectCommand({ Bucket, Key: object, Range })),
      );
      try {
        for await (const piece of (Body ?? []) as AsyncIterable<Uint8Array>) {
          at += piece.length;
          yield piece;
        }
      } catch (error) {
        throw translate(error, doing, Bucket);
      }
      if (at !== to) throw new StoreError("STORE_BLOB_LOST", `The bytes of ${object} end at ${at}, not at ${to}.`);
    },
    async exists(object) {
      try {
        await request("Looking for a blob", ({ s3, sdk }) =>
          s3.send(new sdk.HeadObjectCommand({ Bucket, Key: object })),
        );
        return true;
      } catch (error) {
        if (error instanceof StoreError && error.code === "STORE_BLOB_LOST") return false;
        throw error;
      }
    },
    async delete(object) {
      await request("Deleting a blob", ({ s3, sdk }) => s3.send(new sdk.DeleteObjectCommand({ Bucket, Key: object })));
    },
    async close() {
      (await opening?.catch(() => null))?.s3.destroy();
    },
  };
}

interface Loaded {
  readonly s3: S3Client;
  readonly sdk: typeof import("@aws-sdk/client-s3");
}

async function load({ endpoint, region, credentials, pathStyle }: S3Settings): Promise<Loaded> {
  const sdk = await import("@aws-sdk/client-s3");
  const s3 = new sdk.S3Client({
    region,
    forcePathStyle: pathStyle,
    ...(endpoint === null ? {} : { endpoint }),
    ...(credentials === null ? {} : { credentials }),
    // Servers other than Amazon's do not know the newer checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000 },
  });
  return { s3, sdk };
}

/** Calls `use` with the length of the body and a function that creates it anew for each attempt. */
async function withBody<Result>(
  content: AsyncIterable<Uint8Array>,
  use: (body: () => Buffer | Readable, length: number) => Promise<Result>,
): Promise<Result> {
  const held: Uint8Array[] = [];
  let size = 0;
  const pieces = content[Symbol.asyncIterator]();
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    held.push(next.value);
    size += next.value.length;
    if (size > heldBytes) return await withFile(held, { [Symbol.asyncIterator]: () => pieces }, use);
  }
  const bytes = Buffer.concat(held);
  return await use(() => bytes, bytes.length);
}

async function withFile<Result>(
  held: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
  use: (body: () => Readable, length: number) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-blob-"));
  const file = await open(join(directory, "bytes"), "wx+", 0o600).finally(() => rm(directory, { recursive: true }));
  try {
    let size = 0;
    const keep = async (piece: Uint8Array) => {
      await file.write(piece);
      size += piece.length;
    };
    for (const piece of held) await keep(piece);
    for await (const piece of rest) await keep(piece);
    return await use(() => file.createReadStream({ start: 0, autoClose: false }), size);
  } finally {
    await file.close();
  }
}

/** Turns failures of the client into StoreErrors. No other code does this. */
function translate(error: unknown, doing: string, bucket: string): StoreError {
  if (error instanceof StoreError) return error;
  const { name = "", message = "" } = error instanceof Error ? error : {};
  const status = statusOf(error);
  const text = `${doing}: ${message === "" ? name : message} (bucket ${bucket})`;
  if (name === "NoSuchKey" || (name === "NotFound" && status === 404)) {
    return new StoreError("STORE_BLOB_LOST", text, { cause: error });
  }
  if (status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429) {
    return new StoreError("STORE_BUCKET_REFUSED", text, { cause: error });
  }
  if (name === "CredentialsProviderError") return new StoreError("STORE_BUCKET_REFUSED", text, { cause: error });
  return new StoreError("STORE_BUCKET_UNREACHABLE", text, { cause: error });
}

function statusOf(error: unknown): number | null {
  const { $metadata } = (error ?? {}) as { readonly $metadata?: { readonly httpStatusCode?: number } };
  return $metadata?.httpStatusCode ?? null;
}
