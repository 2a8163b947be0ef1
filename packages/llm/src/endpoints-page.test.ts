import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatFinding } from "./finding.ts";
import { parseModels } from "./model-catalogue.ts";
import { modelFailureCodes } from "./model-failure.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/endpoints.md"), "utf8");
const sections = page.split(/^## /m).slice(1);
const named = ["Ollama", "llama.cpp", "vLLM", "OpenRouter", "Azure OpenAI", "Gemini", "Anthropic", "Any other"];

describe("docs/endpoints.md", () => {
  it.each(named)("has a valid catalogue entry for %s", (name) => {
    const section = sections.find((one) => one.startsWith(`${name}\n`)) ?? "";
    const entries = [...section.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, yaml]) => yaml ?? "");
    expect(entries.length).toBeGreaterThan(0);
    for (const yaml of entries) {
      const reading = parseModels(yaml, "models.yaml");
      expect(reading.ok ? "" : reading.findings.map(formatFinding).join("\n")).toBe("");
    }
    if (name !== "Any other") expect(section).toMatch(/^OPENAI_BASE_URL=https?:\/\//m);
  });

  it("names only existing error codes", () => {
    const codes = [...page.matchAll(/`(MODEL_[A-Z_]+)`/g)].map(([, code]) => code ?? "");
    expect(codes.length).toBeGreaterThan(3);
    expect(codes.filter((code) => !(code in modelFailureCodes))).toEqual([]);
  });
});
