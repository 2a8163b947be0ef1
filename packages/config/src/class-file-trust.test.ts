import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { classFileWithPlaces } from "./class-file-trust.ts";

const folder = mkdtempSync(join(tmpdir(), "markmill-class-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function shown(text: string): readonly string[] | null {
  const file = join(folder, "class.yaml");
  writeFileSync(file, text);
  return classFileWithPlaces(file)?.shows ?? null;
}

describe("the trust question about a class.yaml", () => {
  it.each([
    "repositories: https://git.example/course/{login}.git",
    'repositories: "ssh://git@git.example/{id}"',
    "repositories: { from: 'https://git.example/{handle}' }",
    "repositories: { from: roster, allow: [https://git.example/course/] }",
    "repositories:\n  from: roster\n  allow:\n    - file:///srv/works/",
  ])("shows where credentials are sent: %j", (text) => {
    const lines = shown(`name: A\n${text}\n`);
    expect(lines?.join("\n")).toContain(text.split("\n").at(-1));
  });

  it.each(["submissions: works", "repositories: roster", "repositories: file:///srv/{login}", "# allow: nothing"])(
    "is not asked when there is nothing to decide: %j",
    (text) => {
      expect(shown(`name: A\n${text}\n`)).toBeNull();
    },
  );

  it("shows the places themselves, not comments before them, and mentions further lines", () => {
    const comments = "# allow: [https://git.example/harmless/]\n".repeat(40);
    const places = Array.from({ length: 30 }, (_, n) => `    - https://host-${n}.example/`).join("\n");
    const lines = shown(`${comments}repositories:\n  from: roster\n  allow:\n${comments}${places}\n`) ?? [];
    expect(lines[1]).toBe("    - https://host-0.example/");
    expect(lines.at(-1)).toBe("… and 11 more lines: read the file");
    expect(lines.join()).not.toContain("harmless");
  });

  it("shows the places after lines that only look like a place", () => {
    const decoy = `name: "allow: none"\n${Array.from({ length: 30 }, (_, n) => `param-${n}: harmless\n`).join("")}`;
    const lines = shown(`${decoy}repositories:\n  from: roster\n  allow:\n    - https://git.example/\n`) ?? [];
    expect(lines).toContain("    - https://git.example/");
    expect(lines.at(-1)).toBe("… and 32 more lines: read the file");
  });

  it("marks where it cuts a long line", () => {
    const [line] = shown(`repositories: { allow: [ ${"x".repeat(200)}, https://git.example/ ] }\n`) ?? [];
    expect(line).toMatch(/^repositories: .{146}… and \d+ more characters: read the file$/);
  });
});
