/**
 * Reads the values for a run from `KEY=VALUE` arguments and from a file. An argument overrides the file. `KEY=file:PATH` is read here,
 * once, and only below the workflow's folder or the working directory.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { extname, relative, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { isProtectedPath } from "@markmill/definition";
import { parse } from "yaml";
import { formatBytes } from "./amounts.ts";
import { UsageError } from "./command.ts";

const mostBytes = 1024 * 1024;

/** The value is all text after the first `=`. */
export function splitAssignments(words: readonly string[], what = "KEY=VALUE"): Record<string, string> {
  const values: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) throw new UsageError(`'${word}' is not of the form ${what}.`);
    const key = word.slice(0, at).trim();
    if (key === "" || /[\p{Cc}]/u.test(key)) throw new UsageError(`'${word}' has no usable name before the '='.`);
    values[key] = word.slice(at + 1);
  }
  return values;
}

/** `.json`, `.yaml` and `.yml` contain an object of plain values. All other files contain NAME=value lines. */
export function readParamFile(file: string, cwd: string): Record<string, string> {
  const text = readText(resolve(cwd, file), file);
  const kind = extname(file).toLowerCase();
  if (kind !== ".json" && kind !== ".yaml" && kind !== ".yml") {
    return Object.fromEntries(Object.entries(parseEnv(text)).map(([name, value]) => [name, value ?? ""]));
  }
  let data: unknown;
  try {
    data = kind === ".json" ? JSON.parse(text) : parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
  if (data === null || data === undefined) return {};
  if (typeof data !== "object" || Array.isArray(data)) throw new UsageError(`${file} must contain names with values.`);
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, plain(value, `${name} in ${file}`)]));
}

/** Replaces values that name a file by its text. */
export function readFileValues(
  values: Readonly<Record<string, string>>,
  places: { readonly cwd: string; readonly root: string },
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.startsWith("file:") ? readConfined(value.slice("file:".length), name, places) : value,
    ]),
  );
}

function readConfined(
  path: string,
  name: string,
  { cwd, root }: { readonly cwd: string; readonly root: string },
): string {
  const candidates = [...new Set([resolve(cwd, path), resolve(root, path)])];
  const found = candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false }) !== undefined);
  if (found === undefined) throw new UsageError(`${name}: file ${path} not found (searched ${candidates.join(", ")}).`);
  const real = realpathSync(found);
  const inside = [cwd, root].some((place) => isBelow(real, realpathSync(place)));
  if (!inside) {
    throw new UsageError(
      `${name}: ${path} is outside the workflow's folder and the working directory. Copy it into one of them.`,
    );
  }
  const named = [cwd, root].some(
    (place) => isProtectedBelow(found, place) || isProtectedBelow(real, realpathSync(place)),
  );
  if (named) {
    throw new UsageError(
      `${name}: ${path} was not read, because hidden files and key files cannot be values. Copy the needed text to another file.`,
    );
  }
  return readText(real, path);
}

function isProtectedBelow(path: string, folder: string): boolean {
  return isBelow(path, folder) && isProtectedPath(relative(folder, path));
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function readText(path: string, shown: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError(`File ${shown} not found.`);
  if (!stat.isFile()) throw new UsageError(`${shown} is not a file.`);
  if (stat.size > mostBytes) {
    throw new UsageError(`${shown} has ${formatBytes(stat.size)}. A value may have at most ${formatBytes(mostBytes)}.`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const why = error instanceof TypeError ? "it is not UTF-8 text" : error instanceof Error ? error.message : error;
    throw new UsageError(`${shown} cannot be read: ${why}.`);
  }
}

function plain(value: unknown, where: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new UsageError(`${where} is a list or an object. A value must be a text, a number or true/false.`);
}
