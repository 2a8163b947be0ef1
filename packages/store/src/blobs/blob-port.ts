/**
 * Where the bytes of blobs are kept. An object is written once, under a name that nobody else uses, and never changed; which object a
 * blob has is said by the blob's row (blobs.ts).
 */
export interface BlobStore {
  readonly place: BlobPlace;
  /** Returns when the bytes are safe. What an error or a kill leaves is deleted under the same name. */
  write(object: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /** Bytes from `from` to before `to`, piece by piece; fails if they are not there. */
  read(object: string, from: number, to: number): AsyncIterable<Uint8Array>;
  exists(object: string): Promise<boolean>;
  /** Deleting what is not there is no error. */
  delete(object: string): Promise<void>;
  close(): Promise<void>;
}

export type BlobPlace = "parts" | "s3";

export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;
