import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";

const reference = readFileSync(
  fileURLToPath(new URL("../../../../../docs/workflow-files.md", import.meta.url)),
  "utf8",
);
const examples = Array.from(reference.matchAll(/^````markdown\n(.*?)^````$/gms), (match) => match[1] ?? "");

describe("docs/workflow-files.md", () => {
  it("contains at least five examples", () => expect(examples.length).toBeGreaterThanOrEqual(5));

  it.each(examples.map((text) => [/^(?:# |name: )(.*)$/m.exec(text)?.[1] ?? "", text]))(
    "example %s loads without a finding",
    (_, text) => {
      const bytes = new TextEncoder().encode(text);
      const { definition, findings } = loadDefinition(
        { read: (path) => (path === "a.wf.md" ? bytes : undefined) },
        "a.wf.md",
      );
      expect(findings).toEqual([]);
      expect(definition).not.toBeNull();
    },
  );
});
