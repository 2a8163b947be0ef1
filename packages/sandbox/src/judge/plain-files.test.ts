import { pack } from "tar-stream";
import { describe, expect, it } from "vitest";
import { plainFiles } from "./plain-files.ts";

type Header = Parameters<ReturnType<typeof pack>["entry"]>[0];

async function tarOf(...entries: readonly (Header & { text?: string })[]): Promise<Uint8Array> {
  const archive = pack();
  for (const { text, ...header } of entries) archive.entry(header, text ?? "");
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const read = async (...entries: readonly (Header & { text?: string })[]) => {
  const { files, leftOut } = await plainFiles({ kind: "tar", bytes: await tarOf(...entries) }, 1_000_000);
  return { files: Object.fromEntries(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])), leftOut };
};

describe("the plain files of a submission", () => {
  it("include regular files with their content", async () => {
    expect(
      await read({ name: "./a.txt", text: "A" }, { name: "lib", type: "directory" }, { name: "lib/b", text: "B" }),
    ).toEqual({
      files: { "a.txt": "A", "lib/b": "B" },
      leftOut: 0,
    });
  });

  it("exclude links, devices and pipes, which could point to a file of the judge", async () => {
    const found = await read(
      { name: "answer.txt", type: "symlink", linkname: "/judge/expected.txt" },
      { name: "hard", type: "link", linkname: "/judge/expected.txt" },
      { name: "pipe", type: "fifo" },
      { name: "disk", type: "block-device" },
      { name: "a.txt", text: "A" },
    );
    expect(found).toEqual({ files: { "a.txt": "A" }, leftOut: 4 });
  });

  it("exclude paths that lead elsewhere, and the later of two entries that exclude each other", async () => {
    const found = await read(
      { name: "../up", text: "x" },
      { name: "/judge/x", text: "x" },
      { name: "a/../../b", text: "x" },
      { name: "both", text: "file" },
      { name: "both/inner", text: "x" },
      { name: "dir/inner", text: "y" },
      { name: "dir", text: "x" },
    );
    expect(found).toEqual({ files: { both: "file", "dir/inner": "y" }, leftOut: 5 });
  });

  it("include the last of two entries with the same path, as tar does", async () => {
    expect(await read({ name: "a", text: "1" }, { name: "./a", text: "2" })).toMatchObject({ files: { a: "2" } });
  });

  it("are refused when they exceed the allowed bytes or are not an archive", async () => {
    const bytes = await tarOf({ name: "a", text: "x".repeat(2000) });
    await expect(plainFiles({ kind: "tar", bytes }, 1000)).rejects.toThrow("SANDBOX_FILES_REFUSED");
    const noise = Buffer.alloc(1024, "noise");
    await expect(plainFiles({ kind: "tar", bytes: noise }, 1000)).rejects.toThrow("SANDBOX_FILES_REFUSED");
    expect(await plainFiles({ kind: "tar", bytes: new Uint8Array() }, 1000)).toEqual({ files: [], leftOut: 0 });
  });
});
