import { createHash } from "node:crypto";

/** A file name for a student that works on every system. Two students never have the same name. */
export function fileNameOf(key: string): string {
  const plain = key
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^A-Za-z0-9._@+-]+/g, "_")
    .replace(/^[._-]+/, "")
    .slice(0, 60)
    .replace(/[. ]+$/, "");
  const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(plain);
  // Many systems ignore case. So a key that is not plain and lower case gets a unique suffix.
  if (plain === key && key !== "" && key === key.toLowerCase() && !reserved) return plain;
  return `${plain === "" || reserved ? "student" : plain}-${createHash("sha256").update(key).digest("hex").slice(0, 8)}`;
}
