// Writes entries as one tar, with the same bytes for the same entries: sorted as a walk through the folders would find them.
import { pack } from "tar-stream";
import type { Entry } from "./submission.ts";

const epoch = new Date(0);

export async function writeTar(entries: readonly Entry[]): Promise<Buffer> {
  const tar = pack();
  const chunks: Buffer[] = [];
  const packed = (async () => {
    for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
  })();
  for (const entry of sorted(entries)) {
    const common = { name: entry.path, mtime: epoch, uid: 0, gid: 0 };
    switch (entry.kind) {
      case "folder":
        tar.entry({ ...common, type: "directory", mode: 0o755 });
        break;
      case "link":
        tar.entry({ ...common, type: "symlink", mode: 0o777, linkname: entry.target });
        break;
      case "file":
        tar.entry(
          { ...common, type: "file", mode: entry.executable ? 0o755 : 0o644, size: entry.bytes.length },
          entry.bytes,
        );
    }
  }
  tar.finalize();
  await packed;
  return Buffer.concat(chunks);
}

/** Compares part by part: a folder comes before its content, and its content stays together. */
function sorted(entries: readonly Entry[]): Entry[] {
  const split = entries.map((entry) => ({ entry, parts: entry.path.split("/") }));
  split.sort((one, other) => compare(one.parts, other.parts));
  return split.map(({ entry }) => entry);
}

function compare(one: readonly string[], other: readonly string[]): number {
  for (let at = 0; at < one.length && at < other.length; at += 1) {
    const [a = "", b = ""] = [one[at], other[at]];
    if (a !== b) return a < b ? -1 : 1;
  }
  return one.length - other.length;
}
