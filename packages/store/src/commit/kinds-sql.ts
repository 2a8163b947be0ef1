/** The answers of engine's work-kinds.ts, as SQL conditions on activities. */
import { kindsWhere } from "@markmill/engine";

const isOneOf = (alias: string, kinds: readonly string[]) =>
  kinds.length === 0 ? "false" : `${alias}.kind in (${kinds.map((kind) => `'${kind}'`).join(", ")})`;

export const waitsForAnswer = (alias: string) =>
  isOneOf(
    alias,
    kindsWhere(({ waitsFor }) => waitsFor === "answer"),
  );

export const waitsForCallee = (alias: string) =>
  isOneOf(
    alias,
    kindsWhere(({ waitsFor }) => waitsFor === "callee"),
  );

export const isLeasedSql = (alias: string) => `(${isOneOf(
  alias,
  kindsWhere(({ leased }) => leased === "always"),
)}
  or (${isOneOf(
    alias,
    kindsWhere(({ leased }) => leased === "reading"),
  )} and ${alias}.work ->> 'read' is not null))`;

export const changesFiles = (alias: string) => `((${isOneOf(
  alias,
  kindsWhere(({ changesFiles }) => changesFiles === "in session"),
)} and ${alias}.work ->> 'session' is null)
  or (${isOneOf(
    alias,
    kindsWhere(({ changesFiles }) => changesFiles === "writing"),
  )} and ${alias}.work ->> 'write' is not null))`;
