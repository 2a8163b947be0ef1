// Reads YAML (and JSON, which is YAML), checks it with a schema, and reports every error at its place in the file.
import type { Place, Report } from "@markmill/definition";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { z } from "zod";
import type { ClassFindingCode } from "./class-codes.ts";

const MAX_CHARACTERS = 1024 * 1024;

export interface Codes {
  readonly syntax: ClassFindingCode;
  readonly key: ClassFindingCode;
  readonly value: ClassFindingCode;
}

export interface Positioned<T> {
  readonly data: T;
  readonly placeOf: (path: readonly PropertyKey[]) => Place;
}

export function readPositioned<T>(
  text: string,
  file: string,
  schema: z.ZodType<T>,
  known: (path: readonly PropertyKey[]) => readonly string[],
  codes: Codes,
  report: Report<ClassFindingCode>,
): Positioned<T> | null {
  const start = { file, line: 1, column: 1 };
  if (text.length > MAX_CHARACTERS) {
    report.error(
      codes.syntax,
      start,
      "The file is longer than a million characters.",
      "Move long texts to other files.",
    );
    return null;
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  for (const problem of document.errors.slice(0, 20)) {
    report.error(
      codes.syntax,
      placeAt(problem.pos[0]),
      `The file cannot be read: ${problem.message}`,
      "Indent with spaces, and quote values that contain a colon.",
    );
  }
  let twice = false;
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name)) {
          twice = true;
          report.error(
            codes.syntax,
            placeAt(key.range?.[0] ?? 0),
            `${name.slice(0, 60)} appears twice.`,
            "Remove one of them.",
          );
        }
        seen.add(name);
      }
    },
  });
  if (document.errors.length > 0 || twice) return null;
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 50 }) ?? {};
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.error(codes.syntax, start, `The file cannot be read: ${why}`, "Write it without aliases.");
    return null;
  }
  const placeOf = (path: readonly PropertyKey[], ofKey = false): Place => {
    let node: unknown = document.contents;
    let at = isNode(node) ? (node.range?.[0] ?? 0) : 0;
    for (const [index, segment] of path.entries()) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment));
        if (pair === undefined) break;
        if (isNode(pair.key)) at = pair.key.range?.[0] ?? at;
        node = pair.value;
      } else if (isSeq(node)) node = node.items[Number(segment)];
      else break;
      const last = index === path.length - 1;
      if (isNode(node) && !(ofKey && last)) at = node.range?.[0] ?? at;
    }
    return placeAt(at);
  };
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { data: parsed.data, placeOf };
  for (const issue of parsed.error.issues.slice(0, 50)) {
    const where = issue.path.length === 0 ? "the file" : issue.path.join(".");
    if (issue.code === "unrecognized_keys") {
      const names = known(issue.path);
      for (const key of issue.keys) {
        report.error(
          codes.key,
          placeOf([...issue.path, key], true),
          `${key.slice(0, 60)} is not a setting of ${where}.`,
          `${report.didYouMean(key, names)}Valid settings: ${names.join(", ")}.`,
        );
      }
    } else {
      report.error(
        codes.value,
        placeOf(issue.path),
        `${where}: ${issue.message}.`,
        "Write a value of the expected kind, or remove the setting.",
      );
    }
  }
  return null;
}
