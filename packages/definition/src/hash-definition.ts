/**
 * Computes the hash that identifies a definition. It covers the root's path, every file that is part of it, and the programs that were
 * compiled from them. So the same hash means the same programs and the same entry, even if two versions of the compiler use one database at
 * the same time.
 */
import { createHash } from "node:crypto";
import type { Program } from "@markmill/engine";

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Returns sha256 in hex. The order of files and programs does not matter. */
export function hashDefinition(
  root: string,
  files: readonly HashedFile[],
  programs: Readonly<Record<string, Program>>,
): string {
  const sources = files.map((file) => `${file.sha256}  ${file.path}\n`).sort();
  const compiled = Object.entries(programs)
    .map(([path, program]) => `${sha256(JSON.stringify(program))}  program ${path}\n`)
    .sort();
  return sha256([`root  ${root}\n`, ...sources, ...compiled].join(""));
}

export function sha256(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
