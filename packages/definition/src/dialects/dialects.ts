/** The list of all dialects. To add one, add a folder beside codementor and a line here. Its name must be one that a program may have. */
import type { Dialect as ProgramDialect } from "@markmill/engine";
import { codementor } from "./codementor/codementor.ts";
import type { DialectRules, SourceFile } from "./dialect.ts";
import { tasksJson } from "./tasks-json/tasks-json.ts";

export const dialects = { codementor, tasks: tasksJson } satisfies { readonly [D in ProgramDialect]?: DialectRules };

/** The dialects that are read from files. */
export type Dialect = keyof typeof dialects;

const all = Object.entries(dialects) as [Dialect, DialectRules][];

/**
 * The content counts more than the name: the first dialect that recognises the content is used, else the first that recognises the name.
 */
export function recogniseDialect(file: SourceFile): Dialect | null {
  let named: Dialect | null = null;
  for (const [dialect, { recognises }] of all) {
    const by = recognises(file);
    if (by === "content") return dialect;
    if (by === "name") named ??= dialect;
  }
  return named;
}

/** undefined: programs of this dialect do not come from files. */
export function rulesOf(dialect: ProgramDialect): DialectRules | undefined {
  return (dialects as { readonly [D in ProgramDialect]?: DialectRules })[dialect];
}

/** A description of all kinds of workflow files, for people. */
export function knownFiles(): string {
  return all.map(([, { files }]) => files).join("; or ");
}
