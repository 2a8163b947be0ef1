import { createHash } from "node:crypto";

/** A name for a student's files that every system takes; two students never share one. */
export function fileNameOf(key: string): string {
  const plain = key
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^A-Za-z0-9._@+-]+/g, "_")
    .replace(/^[._-]+/, "")
    .slice(0, 60)
    .replace(/[. ]+$/, "");
  const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(plain);
  // Case is no difference on many systems, so a key that is not plain and lower case carries a mark of its own.
  if (plain === key && key !== "" && key === key.toLowerCase() && !reserved) return plain;
  return `${plain === "" || reserved ? "student" : plain}-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
}
