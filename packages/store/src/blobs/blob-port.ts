/**
 * Where the bytes of blobs are stored. An object is written once, under a unique name, and never changed. The blob's row names its object
 * (blobs.ts).
 */
export interface BlobStore {
  readonly place: BlobPlace;
  /** Returns when the bytes are safe. To remove the rest of a failed or killed write, delete the same name. */
  write(object: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Bytes from `from` to before `to`, piece by piece. Fails if they do not exist. */
  read(object: string, from: number, to: number): AsyncIterable<Uint8Array>;
  exists(object: string): Promise<boolean>;
  /** Deleting a missing object is not an error. */
  delete(object: string): Promise<void>;
  close(): Promise<void>;
}

export type BlobPlace = "parts" | "s3";

export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;
