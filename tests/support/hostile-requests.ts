/** What a hostile client sends: texts, JSON, headers, cursors, and values near to a schema. */
import fc from "fast-check";
import { z } from "zod";

/** Any code point; the library's own such unit costs a second to make. */
const anyUnit = fc.nat(0x10f7ff).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));
export const hostileText = fc.oneof(
  fc.string({ unit: anyUnit, maxLength: 60 }),
  fc.constantFrom(
    "",
    "\0",
    "\ud800",
    "../../etc/passwd",
    "%00",
    "' or 1=1 --",
    "{{7*7}}",
    "__proto__",
    "constructor",
    "a".repeat(5_000),
    "１２",
    "-1",
    "1e309",
    "NaN",
    "null",
    "[]",
  ),
);
export const hostileJson = fc.oneof(
  { depthSize: "small", withCrossShrink: true },
  fc.json({ maxDepth: 4 }),
  fc.constantFrom(
    "",
    "{",
    "[",
    "null",
    "1e999",
    '{"__proto__":{"x":1}}',
    '{"a":{"constructor":{"prototype":{}}}}',
    `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
    '"\\ud800"',
    "\u0000",
  ),
);
export const hostileHeaders = fc.record(
  {
    "idempotency-key": hostileText,
    "last-event-id": hostileText,
    "if-none-match": hostileText,
    "x-csrf-token": hostileText,
    "x-forwarded-for": hostileText,
    origin: hostileText,
    cookie: hostileText.map((text) => `markmill_session=${text}`),
    accept: hostileText,
  },
  { requiredKeys: [] },
);

/** Values that the schema accepts, with some fields spoilt. `real`: texts that the server knows, such as ids. */
export function near(schema: z.ZodType, real: readonly string[]): fc.Arbitrary<unknown> {
  const json = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Shape;
  return fromShape(json, json.$defs ?? {}, 0, real);
}
export interface Shape {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Shape>> & { readonly cursor?: Shape };
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly additionalProperties?: Shape | boolean;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Shape>>;
  readonly pattern?: string;
}
function fromShape(
  shape: Shape,
  defs: Readonly<Record<string, Shape>>,
  depth: number,
  real: readonly string[],
): fc.Arbitrary<unknown> {
  const anything = fc.oneof(hostileText, fc.jsonValue({ maxDepth: 2 }), fc.constant(null), fc.integer());
  if (depth > 5) return anything;
  const known = ((): fc.Arbitrary<unknown> => {
    if (shape.$ref !== undefined)
      return fromShape(defs[shape.$ref.replace("#/$defs/", "")] ?? {}, defs, depth + 1, real);
    if (shape.enum !== undefined) return fc.constantFrom(...shape.enum);
    if (shape.anyOf !== undefined) return fc.oneof(...shape.anyOf.map((one) => fromShape(one, defs, depth + 1, real)));
    if (shape.type === "object" && shape.properties !== undefined) {
      const fields = Object.entries(shape.properties).map(
        ([name, one]) => [name, fromShape(one, defs, depth + 1, real)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
    }
    if (shape.type === "object") {
      const value =
        typeof shape.additionalProperties === "object"
          ? fromShape(shape.additionalProperties, defs, depth + 1, real)
          : anything;
      return fc.dictionary(fc.oneof(hostileText, fc.constant("a.wf.md")), value, { maxKeys: 4 });
    }
    if (shape.type === "array") return fc.array(fromShape(shape.items ?? {}, defs, depth + 1, real), { maxLength: 4 });
    if (shape.type === "integer" || shape.type === "number")
      return fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 2 ** 53, 1e308));
    if (shape.type === "boolean") return fc.boolean();
    return fc.oneof(fc.constantFrom(...real, "2026-01-01T00:00:00Z", "9999-12-31T23:59:59Z"), hostileText);
  })();
  return fc.oneof({ weight: 6, arbitrary: known }, { weight: 1, arbitrary: anything });
}
/** fetch refuses what HTTP cannot carry; the rest goes out as it is. */
export const sendable = (text: string) => text.replace(/[^\x21-\x7e\x80-\xff]/g, "").slice(0, 4_000);

/** As it stands in an address, so that what is no Unicode can be sent too. */
export const escaped = (cursor: string) =>
  cursor.isWellFormed() ? encodeURIComponent(cursor) : cursor.replaceAll("\ud800", "%ED%A0%80");

/** A cursor of ours with one part of it spoilt, or cut, or grown. */
export function spoilt(cursor: string): string[] {
  const spoils = [
    "",
    "0",
    "-1",
    "9".repeat(15),
    "9".repeat(17),
    "9".repeat(40),
    "1e3",
    "NaN",
    "\0",
    "\ud800",
    "１",
    "é",
    "'",
  ];
  const parts = cursor.split("-");
  const without = [
    cursor.slice(0, -1),
    cursor.slice(1),
    `${cursor}-`,
    `-${cursor}`,
    `${cursor}-0`,
    cursor.toUpperCase(),
  ];
  // An id has parts of one kind: its first and last ones do.
  const places = [...new Set([0, 1, parts.length - 1])].filter((at) => at < parts.length);
  const changed = places.flatMap((at) => spoils.map((spoil) => parts.with(at, spoil).join("-")));
  return [...without, Buffer.from(cursor).toString("base64url"), cursor.repeat(40), ...changed];
}
