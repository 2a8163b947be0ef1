// The import graph as ARCHITECTURE.md draws it: a package imports only what its package.json declares, never a sibling's inner
// file, and packages point downwards only. Biome checks undeclared npm imports and cycles between files; this adds the layers.
import { globSync, readFileSync } from "node:fs";

/** A package may import packages of a strictly lower layer. */
const layers: Record<string, number> = {
  "@markmill/base": -1,
  "@markmill/engine": 0,
  "@markmill/config": 0,
  "@markmill/contract": 0,
  "@markmill/grading": 0,
  "@markmill/definition": 1,
  "@markmill/embedded-postgres": 2,
  "@markmill/store": 2,
  "@markmill/queue": 2,
  "@markmill/llm": 2,
  "@markmill/sandbox": 2,
  "@markmill/telemetry": 2,
  "@markmill/tools": 2,
  "@markmill/classroom": 3,
  "@markmill/worker": 3,
  "@markmill/stack": 4,
  "@markmill/api": 5,
  markmill: 6,
};

/** What the engine may import. */
const pure = new Set(["@markmill/base/json", "@markmill/base/text"]);

/** Beside a package's root, and who may import it: the store's machine side knows no tenants, so nobody who serves requests. */
const entries: Record<string, readonly string[] | "everybody"> = {
  // JSON and the search for a text, without threads and processes. They are all that the engine, which is pure, has of base.
  "@markmill/base/json": "everybody",
  "@markmill/base/text": "everybody",
  // Their words, without what gives them: the API tells them and performs nothing.
  "@markmill/sandbox/codes": ["@markmill/stack"],
  "@markmill/tools/codes": ["@markmill/stack"],
  "@markmill/worker/codes": ["@markmill/stack"],
  // Blocks of Markdown, without the dialects.
  "@markmill/definition/markdown": ["@markmill/sandbox"],
  // The supervisor, without the worker.
  "@markmill/worker/supervisor": ["@markmill/stack"],
  // Tables in CSV, without what reads a class.
  "@markmill/classroom/csv": ["markmill"],
  // Grades handed over to gradebooks, and reports, without what reads a class.
  "@markmill/classroom/gradebook": ["@markmill/stack", "markmill"],
  // Students' files, read without a rubric.
  "@markmill/grading/submission": ["@markmill/classroom", "@markmill/worker", "@markmill/api", "markmill"],
  // What is public, without the tools themselves.
  "@markmill/tools/address-rules": ["@markmill/classroom", "@markmill/stack"],
  "@markmill/tools/checked-fetch": ["@markmill/stack"],
  // A batch for tests.
  "@markmill/stack/testing-batch": ["markmill"],
  // An MCP server for tests.
  "@markmill/tools/testing-mcp-server": ["@markmill/worker"],
  "@markmill/store/machine": ["@markmill/worker", "@markmill/stack"],
};

type Manifest = { name: string; dependencies?: Record<string, string> };
const findings: string[] = [];

for (const manifestPath of globSync("{packages,apps}/*/package.json")) {
  const manifest: Manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
  const root = manifestPath.slice(0, -"/package.json".length);
  const layer = layers[manifest.name];
  if (layer === undefined) {
    findings.push(`${manifestPath}: ${manifest.name} has no layer in scripts/check-imports.ts`);
    continue;
  }
  for (const file of globSync(`${root}/src/**/*.ts`)) {
    const text = readFileSync(file, "utf8");
    for (const [, specifier = ""] of text.matchAll(/(?:from|import)\s{0,9}\(?\s{0,9}"([^"]+)"/g)) {
      const line = text.slice(0, text.indexOf(`"${specifier}"`)).split("\n").length;
      const at = `${file}:${line}`;
      // Counting work is set up by the test runner, for all packages.
      if (file.endsWith(".work.test.ts") && specifier.endsWith("/tests/support/count-work.ts")) continue;
      if (specifier.startsWith(".") && new URL(specifier, `file:///${file}`).pathname.indexOf(`/${root}/`) !== 0) {
        findings.push(`${at}: ${specifier} leaves the package; import the package by name`);
      }
      const target = Object.keys(layers).find((name) => specifier === name || specifier.startsWith(`${name}/`));
      if (target === undefined || target === manifest.name) continue;
      const entry = entries[specifier];
      if (entry !== undefined && entry !== "everybody" && !entry.includes(manifest.name))
        findings.push(`${at}: ${specifier} is not for ${manifest.name}; ask the store as a tenant`);
      if (manifest.name === "@markmill/engine" && !pure.has(specifier))
        findings.push(`${at}: ${specifier} is not for the engine, which is pure`);
      if (specifier !== target && entry === undefined)
        findings.push(`${at}: ${specifier} reaches inside ${target}; export it from its index.ts`);
      if (!(target in (manifest.dependencies ?? {}))) findings.push(`${at}: ${target} is not in ${manifestPath}`);
      if ((layers[target] ?? 99) >= layer)
        findings.push(`${at}: ${manifest.name} may not import ${target} (layers point down)`);
    }
  }
}

if (findings.length > 0) {
  console.error(findings.join("\n"));
  process.exit(1);
}
console.log(`imports: ${Object.keys(layers).length} packages, layers hold`);
