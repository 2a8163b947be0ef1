/**
 * Refuses regular expressions whose work grows faster than the text they search: one long line of foreign text would stop a process.
 *
 * P1  Every regular expression of the product is scanned by recheck. Tests, their helpers (testing-*.ts) and benchmarks are left out.
 * P2  The hashes of safe patterns are kept in safe-patterns.json, because a scan of all takes minutes. The hash covers the pattern, its
 *     flags and the version of recheck, so a changed pattern is scanned again.
 * P3  A pattern that is slow, that recheck cannot judge, or that is computed needs an entry in bounded-patterns.ts. The entry says which
 *     bound the searched text has, or why the computed pattern is linear. An entry that no pattern needs is an error.
 *
 * `--write` adds new safe patterns to safe-patterns.json and drops the ones that are gone. Without it an unknown pattern is scanned each
 * time.
 */
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { bounded } from "./bounded-patterns.ts";
import { findPatterns } from "./find-patterns.ts";

/** recheck counts the characters it reads; its own clocks would make a result depend on how busy the machine is. */
const unhurried = {
  timeout: 300_000,
  attackLimit: 20_000_000,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
};
const remembered = new URL("safe-patterns.json", import.meta.url);
const version: string = JSON.parse(
  readFileSync(new URL("../node_modules/recheck/package.json", import.meta.url), "utf8"),
).version;
const hashOf = (pattern: string) => createHash("sha256").update(`${version} ${pattern}`).digest("hex").slice(0, 16);

const write = process.argv.includes("--write");
const safe = new Set<string>(JSON.parse(readFileSync(remembered, "utf8")));
const unused = new Set(bounded);
const isBounded = (file: string, pattern: string) => {
  const entry = bounded.find((one) => one.file === file && pattern.startsWith(one.begins));
  if (entry !== undefined) unused.delete(entry);
  return entry !== undefined;
};

const findings: string[] = [];
const inUse = new Set<string>();
const toScan = new Map<string, { source: string; flags: string; places: string[] }>();
let count = 0;

const files = globSync(["{packages,apps}/*/{src,bin}/**/*.{ts,mjs}", "{scripts,infra}/**/*.{ts,mjs}"]).filter(
  (file) => !/\.(?:test|bench)\.ts$|\/testing-[^/]+\.ts$/.test(file),
);
for (const file of files.toSorted()) {
  const { constant, computed } = findPatterns(file, readFileSync(file, "utf8"));
  count += constant.length + computed.length;
  for (const { text, line } of computed)
    if (!isBounded(file, text))
      findings.push(
        `${file}:${line}: the pattern is computed; say in scripts/bounded-patterns.ts why it is linear: ${text}`,
      );
  for (const { source, flags, line } of constant) {
    const pattern = `/${source}/${flags}`;
    const hash = hashOf(pattern);
    if (isBounded(file, pattern)) continue;
    inUse.add(hash);
    if (safe.has(hash)) continue;
    const known = toScan.get(hash) ?? { source, flags, places: [] };
    toScan.set(hash, { ...known, places: [...known.places, `${file}:${line}`] });
  }
}
for (const { file, begins } of unused)
  findings.push(`scripts/bounded-patterns.ts: ${file} has no pattern that begins with ${begins}; delete the entry`);

if (toScan.size > 0) {
  const { check } = await import("recheck");
  const waiting = [...toScan];
  const scan = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [hash, { source, flags, places }] = next;
      const told = await check(source, flags, unhurried);
      if (told.status === "safe") safe.add(hash);
      else {
        const why = told.status === "vulnerable" ? told.complexity.summary : `not judged, ${told.error.kind}`;
        const attack = told.status === "vulnerable" ? `; slow for ${told.attack.pattern}` : "";
        findings.push(`${places.join(", ")}: /${source}/${flags} is not linear (${why}${attack})`);
      }
    }
  };
  await Promise.all([scan(), scan()]);
  const fresh = [...toScan.keys()].filter((hash) => safe.has(hash)).length;
  if (!write && fresh > 0)
    console.log(`patterns: ${fresh} new ones are linear; \`npm run check:patterns -- --write\` remembers them`);
}
if (write) {
  const kept = [...safe].filter((hash) => inUse.has(hash)).toSorted();
  writeFileSync(remembered, `${JSON.stringify(kept, null, 2)}\n`);
}

if (findings.length > 0) {
  console.error(findings.toSorted().join("\n"));
  console.error(
    "Rewrite a slow pattern, or scan the text by hand. scripts/bounded-patterns.ts is for text with a small bound only.",
  );
} else console.log(`patterns: ${count} regular expressions are linear or bounded`);
// The process of recheck would keep this one alive.
process.exit(findings.length > 0 ? 1 : 0);
