import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { neutralPrograms } from "./neutral-programs.ts";

const folder = mkdtempSync(join(tmpdir(), "markmill-neutral-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const program = (name: string, text: string, mode = 0o755) => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
};

describe.skipIf(process.platform !== "linux")("a program under a neutral name", () => {
  it("has the same content under a name without its path, and is created once", async () => {
    const place = join(folder, "place");
    const path = program("tool", "one");
    const first = await neutralPrograms({ tool: path }, [place]);
    expect(readFileSync(first["tool"] ?? "", "utf8")).toBe("one");
    expect(basename(first["tool"] ?? "")).toMatch(/^[0-9a-f]{16}$/);
    expect(await neutralPrograms({ tool: path }, [place])).toEqual(first);
    expect(readdirSync(place)).toHaveLength(1);
  });

  it("is a copy where other users could not run the original", async () => {
    const path = program("private", "two", 0o700);
    const { private: copy = "" } = await neutralPrograms({ private: path }, [join(folder, "copies")]);
    expect(copy).not.toBe(path);
    expect(readFileSync(copy, "utf8")).toBe("two");
  });

  it("is never stored in a folder that others can write to or behind a link; without a folder the path stays", async () => {
    const path = program("other", "three");
    const open = join(folder, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    const link = join(folder, "link");
    symlinkSync(join(folder, "place"), link);
    expect(await neutralPrograms({ other: path }, [open, link])).toEqual({ other: path });
    expect(await neutralPrograms({ gone: join(folder, "gone") }, [join(folder, "place")])).toEqual({
      gone: join(folder, "gone"),
    });
  });
});
