// Reads YAML text into a checked value, and reports every mistake with its line and column.
import { type Document, isMap, isPair, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import type { z } from "zod";
import type { FileCode } from "./file-codes.ts";
import type { Finding } from "./finding.ts";

export type YamlPath = readonly (string | number)[];

/** Codes and advice of one file format. */
export interface YamlFormat {
  /** Prefix of the codes, for example MODELS. */
  readonly prefix: string;
  /** The name of the file in messages, for example "model catalogue". */
  readonly noun: string;
}

export interface YamlReading<T> {
  readonly value: T | undefined;
  readonly findings: Finding[];
  /** A finding at the position of the key (or list entry) that the path names. */
  place(path: YamlPath, code: FileCode, message: string, fix: string): Finding;
}

export function readYaml<T>(text: string, file: string, format: YamlFormat, schema: z.ZodType<T>): YamlReading<T> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number, code: FileCode, message: string, fix: string): Finding => {
    const { line, col } = lines.linePos(offset);
    return { code: `${format.prefix}_${code}`, file, line: Math.max(line, 1), column: Math.max(col, 1), message, fix };
  };
  const place: YamlReading<T>["place"] = (path, code, message, fix) => at(offsetOf(document, path), code, message, fix);

  if (document.errors.length > 0) {
    const findings = document.errors.map((error) =>
      at(error.pos[0], "YAML", `The file is not valid YAML: ${error.message}.`, "Correct the YAML at this place."),
    );
    return { value: undefined, findings, place };
  }
  let plain: unknown;
  try {
    plain = document.toJS();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const finding = at(0, "YAML", `The file cannot be read: ${why}.`, "Use fewer YAML aliases.");
    return { value: undefined, findings: [finding], place };
  }
  const parsed = schema.safeParse(plain ?? {});
  if (parsed.success) return { value: parsed.data, findings: [], place };
  const findings = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== "symbol");
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) =>
        place(
          [...path, key],
          "KEY_UNKNOWN",
          `"${key}" is not a key of ${nameOf(path, format)}.`,
          "Remove it, or correct its spelling.",
        ),
      );
    }
    const missing = issue.code === "invalid_type" && readAt(plain, path) === undefined;
    return [
      missing
        ? place(path, "KEY_MISSING", `${nameOf(path, format)} is missing.`, `Add it: ${issue.message}.`)
        : place(path, "VALUE", `${nameOf(path, format)} has a wrong value: ${issue.message}.`, "Correct the value."),
    ];
  });
  return { value: undefined, findings, place };
}

export function inFileOrder(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function nameOf(path: YamlPath, format: YamlFormat): string {
  return path.length === 0 ? `the ${format.noun}` : `"${path.join(".")}"`;
}

function readAt(value: unknown, path: YamlPath): unknown {
  return path.reduce<unknown>((inner, key) => {
    if (inner === null || typeof inner !== "object") return undefined;
    return (inner as Record<string | number, unknown>)[key];
  }, value);
}

/** The position of the key if the path ends in a map, of the entry if it ends in a list; if it is missing, the nearest parent. */
function offsetOf(document: Document, path: YamlPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parentPath = path.slice(0, length - 1);
    const last = path[length - 1];
    const parent = parentPath.length === 0 ? document.contents : document.getIn(parentPath, true);
    if (isMap(parent)) {
      const pair = parent.items.find(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(last),
      );
      const offset = startOf(pair?.key);
      if (offset !== undefined) return offset;
    } else {
      const offset = startOf(document.getIn(path.slice(0, length), true));
      if (offset !== undefined) return offset;
    }
  }
  return startOf(document.contents) ?? 0;
}

function startOf(node: unknown): number | undefined {
  if (node === null || typeof node !== "object" || !("range" in node)) return undefined;
  return (node as Node).range?.[0];
}
