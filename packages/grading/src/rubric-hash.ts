/**
 * Computes the hash of a rubric and of one criterion.
 *
 * H1  Two rubrics with the same meaning have the same hash. It ignores the order of criteria, levels, test patterns and keys, white space
 *     in texts, and the Unicode form of a text.
 * H2  Hashes that an earlier version stored depend on the order. They stay valid: `isHashOf` accepts both forms.
 */
import { createHash } from "node:crypto";
import type { Criterion, Rubric, Scale, Source } from "./rubric.ts";

export function rubricHash({ criteria }: Rubric): string {
  return hashOf({ criteria: criteria.map(canonical).sort((one, other) => compare(one.id, other.id)) });
}

/** H1: two criteria with the same meaning have the same text. */
export function criterionText(criterion: Criterion): string {
  return JSON.stringify(sorted(canonical(criterion)));
}

/** See H2 in the file header. */
export function isHashOf(rubric: Rubric, hash: string): boolean {
  return rubricHash(rubric) === hash || hashOf(rubric) === hash;
}

function canonical(criterion: Criterion): Criterion {
  const { title, guidance, scale, source } = criterion;
  return {
    ...criterion,
    title: plain(title),
    guidance: plain(guidance),
    scale: canonicalScale(scale),
    source: canonicalSource(source),
  };
}

function canonicalScale(scale: Scale): Scale {
  if (scale.is !== "levels") return scale;
  const levels = scale.levels.map((level) => ({ ...level, name: plain(level.name) }));
  return { ...scale, levels: levels.sort((one, other) => one.points - other.points || compare(one.name, other.name)) };
}

function canonicalSource(source: Source): Source {
  if (source.is !== "tests") return source;
  return { ...source, patterns: [...new Set(source.patterns.map(plain))].sort(compare) };
}

function plain(text: string): string {
  return text.normalize("NFC").replaceAll(/\s+/gu, " ").trim();
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function hashOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, member]) => [name, sorted(member)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}
