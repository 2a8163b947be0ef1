/** Paths of the files in a packed submission. */
import { extract } from "tar-stream";

export async function submissionPaths(tar: Buffer): Promise<string[]> {
  const paths: string[] = [];
  const reader = extract();
  reader.end(tar);
  for await (const entry of reader) {
    if (entry.header.type !== "directory") paths.push(entry.header.name.replace(/^\.\//, ""));
    entry.resume();
  }
  return paths;
}
