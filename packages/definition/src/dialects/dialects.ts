/** All dialects there are. A new one is a folder beside codementor and a line here; its name is one that a program may carry. */
import type { Dialect as ProgramDialect } from "@markmill/engine";
import { codementor } from "./codementor/codementor.ts";
import type { DialectRules, SourceFile } from "./dialect.ts";
import { tasksJson } from "./tasks-json/tasks-json.ts";

export const dialects = { codementor, tasks: tasksJson } satisfies { readonly [D in ProgramDialect]?: DialectRules };

/** The dialects that are read from files. */
export type Dialect = keyof typeof dialects;

const all = Object.entries(dialects) as [Dialect, DialectRules][];

/** Content tells more than a name: the first dialect that knows the content, else the first that knows the name. */
export function recogniseDialect(file: SourceFile): Dialect | null {
  let named: Dialect | null = null;
  for (const [dialect, { recognises }] of all) {
    const by = recognises(file);
    if (by === "content") return dialect;
    if (by === "name") named ??= dialect;
  }
  return named;
}

/** undefined: programs of this dialect come from no file. */
export function rulesOf(dialect: ProgramDialect): DialectRules | undefined {
  return (dialects as { readonly [D in ProgramDialect]?: DialectRules })[dialect];
}

/** What a workflow file may be, for people. */
export function knownFiles(): string {
  return all.map(([, { files }]) => files).join("; or ");
}
