/**
 * Secrets that we create: `PREFIX_ID_SECRET`. The id finds the row, and only the SHA-256 of the secret is stored. The secret has 256 random
 * bits, so a slower hash would add nothing.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

export type SecretKind = "mm" | "ms";

export interface MadeSecret {
  readonly id: string;
  /** Shown once. */
  readonly text: string;
  readonly hash: Buffer;
}

export function makeSecret(kind: SecretKind): MadeSecret {
  const id = randomBytes(10).toString("hex");
  const secret = randomBytes(32).toString("base64url");
  return { id, text: `${kind}_${id}_${secret}`, hash: hashOf(secret) };
}

/** null: not a secret of this kind. */
export function readSecret(kind: SecretKind, text: string): { readonly id: string; readonly hash: Buffer } | null {
  const found = /^(m[ms])_([0-9a-f]{20})_([A-Za-z0-9_-]{43})$/.exec(text);
  if (found === null || found[1] !== kind) return null;
  const [, , id = "", secret = ""] = found;
  return { id, hash: hashOf(secret) };
}

export function sameHash(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
