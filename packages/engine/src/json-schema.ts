/**
 * Checks whether a value fits a JSON Schema: draft 2020-12, and the older spellings that are still in use (draft 4 to 2019-09, OpenAPI's
 * nullable). We do not use a library, because models, students and foreign servers write the checked texts: the check must end for every
 * input.
 *
 * J1  It never throws. Beyond a limit of depth or work, the result is a finding that reports this.
 * J2  Regular expressions are those of the folder pattern, which run in linear time.
 * J3  An unknown keyword has no effect, as the standard requires. A known keyword with a malformed value is a problem of the schema.
 * J4  `format` is checked only where a wrong value is certain. Every other format is a note for readers.
 */
import { isRecord } from "@markmill/base/json";
import { parsePattern } from "./pattern/parse-pattern.ts";
import { effortOf, searchWithin } from "./pattern/search-within.ts";

export interface SchemaFinding {
  /** The path into the value, for example `grades.0.points`. It is empty for the whole value. */
  readonly path: string;
  readonly message: string;
}

type Schema = Readonly<Record<string, unknown>> | boolean;
type Path = readonly (string | number)[];

const mostDepth = 500;
const mostWork = 2_000_000;
/** Of reading patterns and searching with them. */
const mostSearching = 8_000_000;
const mostFindings = 20;

const types = ["string", "number", "integer", "boolean", "object", "array", "null"];
const one = ["not", "if", "then", "else", "items", "additionalItems", "contains", "additionalProperties"];
const single: readonly string[] = [
  ...one,
  "propertyNames",
  "unevaluatedProperties",
  "unevaluatedItems",
  "contentSchema",
];
const several: readonly string[] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
const byName: readonly string[] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const counts = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
const whole: readonly string[] = [...counts, "minContains", "maxContains"];
const numbers: readonly string[] = ["minimum", "maximum", "multipleOf"];

/** Returns why a schema cannot be used, or null if it can. `pattern: "any"` also accepts patterns that the folder pattern cannot read. */
export function schemaProblem(schema: unknown, { pattern = "readable" }: SchemaLeniency = {}): SchemaFinding | null {
  const pending: { readonly at: Path; readonly of: unknown; readonly depth: number }[] = [
    { at: [], of: schema, depth: 0 },
  ];
  const root = rootOf(schema);
  let work = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { at, of, depth } = next;
    work += 1;
    if (depth > mostDepth || work > mostWork) return problem(at, "it is nested too deep, too large, or holds itself");
    if (typeof of === "boolean") continue;
    if (!isRecord(of)) return problem(at, "a schema is an object");
    const wrong = wrongKeyword(of, at, root, pattern);
    if (wrong !== null) return wrong;
    for (const [key, inner] of Object.entries(of)) {
      if (single.includes(key) && !Array.isArray(inner))
        pending.push({ at: [...at, key], of: inner, depth: depth + 1 });
      else if (several.includes(key) && Array.isArray(inner)) {
        for (const [n, item] of inner.entries()) pending.push({ at: [...at, key, n], of: item, depth: depth + 1 });
      } else if (byName.includes(key)) {
        for (const [name, item] of Object.entries(inner as object))
          pending.push({ at: [...at, key, name], of: item, depth: depth + 1 });
      } else if (key === "dependencies" && isRecord(inner)) {
        for (const [name, item] of Object.entries(inner))
          if (!Array.isArray(item)) pending.push({ at: [...at, key, name], of: item, depth: depth + 1 });
      }
    }
  }
  return null;
}

interface SchemaLeniency {
  readonly pattern?: "readable" | "any";
}

function wrongKeyword(
  schema: Readonly<Record<string, unknown>>,
  at: Path,
  root: Root,
  pattern: "readable" | "any",
): SchemaFinding | null {
  const wrong = (key: string, message: string) => problem([...at, key], message);
  const { type, required, enum: listed } = schema;
  const named = Array.isArray(type) ? type : type === undefined ? [] : [type];
  const unknown = named.find((name) => typeof name !== "string" || !types.includes(name));
  if (unknown !== undefined || (Array.isArray(type) && type.length === 0))
    return wrong("type", `${show(unknown)} is not a type; types are ${types.join(", ")}`);
  if (required !== undefined && !isTexts(required) && typeof required !== "boolean")
    return wrong("required", "expected a list of names");
  if (listed !== undefined && !Array.isArray(listed)) return wrong("enum", "expected a list of values");
  for (const key of whole) {
    const given = schema[key];
    if (given !== undefined && !(Number.isInteger(given) && (given as number) >= 0))
      return wrong(key, `${show(given)} is not a count`);
  }
  for (const key of numbers) {
    const given = schema[key];
    if (given !== undefined && (typeof given !== "number" || (key === "multipleOf" && given <= 0)))
      return wrong(key, `${show(given)} is not a number that fits there`);
  }
  for (const key of byName) {
    if (schema[key] !== undefined && !isRecord(schema[key]))
      return wrong(key, "expected an object with a schema for each name");
  }
  for (const key of ["allOf", "anyOf", "oneOf", "prefixItems"]) {
    if (schema[key] !== undefined && !Array.isArray(schema[key])) return wrong(key, "expected a list of schemas");
  }
  const { dependentRequired = {} } = schema;
  if (!isRecord(dependentRequired) || !Object.values(dependentRequired).every(isTexts))
    return wrong("dependentRequired", "expected lists of names");
  const patterns = [
    ...(schema.pattern === undefined ? [] : [schema.pattern]),
    ...(isRecord(schema.patternProperties) ? Object.keys(schema.patternProperties) : []),
  ];
  for (const source of patterns) {
    if (typeof source !== "string") return wrong("pattern", "expected a regular expression, as text");
    const read = parsePattern(source);
    if (!read.ok && pattern === "readable")
      return wrong("pattern", `the pattern ${show(source)} is not supported: ${read.message}`);
  }
  for (const key of references) {
    const reference = schema[key];
    if (reference === undefined) continue;
    const seen = new Set<unknown>();
    for (let to: unknown = schema; isRecord(to) && typeof to[key] === "string"; to = root.find(to[key])) {
      if (seen.has(to)) return wrong(key, `the reference ${show(reference)} leads back to itself`);
      seen.add(to);
      if (root.find(to[key]) === undefined)
        return wrong(key, `the reference ${show(to[key])} leads nowhere inside the schema`);
    }
    if (typeof reference !== "string") return wrong(key, "expected a reference, as text");
  }
  return null;
}

const references = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

interface Root {
  find(reference: string): Schema | undefined;
}

/** A reference leads to a position in the schema, to an anchor, or to the `$id` of a part. */
function rootOf(schema: unknown): Root {
  let named: Map<string, unknown> | null = null;
  const own = isRecord(schema) && typeof schema.$id === "string" ? schema.$id : "";
  return {
    find(reference) {
      const [base = "", fragment = ""] = reference.split("#", 2);
      let at: unknown = schema;
      if (base !== "" && base !== own) {
        named ??= namedParts(schema);
        at = named.get(base);
      }
      if (fragment !== "" && !fragment.startsWith("/")) {
        named ??= namedParts(schema);
        at = named.get(`#${fragment}`);
      } else if (fragment !== "") {
        for (const part of fragment.slice(1).split("/")) at = memberOf(at, decoded(part));
      }
      return typeof at === "boolean" || isRecord(at) ? at : undefined;
    },
  };
}

function memberOf(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function decoded(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // The reference is not percent-encoded.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

function namedParts(schema: unknown): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const pending: { readonly of: unknown; readonly depth: number }[] = [{ of: schema, depth: 0 }];
  for (let work = 0; pending.length > 0 && work < mostWork; work += 1) {
    const { of, depth } = pending.pop() ?? { of: null, depth: 0 };
    if (typeof of !== "object" || of === null || depth > mostDepth) continue;
    const { $id, $anchor, $dynamicAnchor } = of as Readonly<Record<string, unknown>>;
    if (typeof $id === "string" && !found.has($id)) found.set($id, of);
    for (const anchor of [$anchor, $dynamicAnchor])
      if (typeof anchor === "string" && !found.has(`#${anchor}`)) found.set(`#${anchor}`, of);
    for (const inner of Object.values(of)) pending.push({ of: inner, depth: depth + 1 });
  }
  return found;
}

/** Returns at most 20 findings about a value; an empty list means that the value fits. The schema must have no problem. */
export function findMisfits(schema: unknown, value: unknown): readonly SchemaFinding[] {
  const check = new Check(rootOf(schema));
  try {
    const { findings } = check.fit(schema as Schema, value, []);
    return findings.slice(0, mostFindings);
  } catch (error) {
    // The value is nested deeper than the stack allows.
    const deep = error instanceof RangeError ? "it is nested too deep" : null;
    const why = error instanceof TooMuch ? error.message : deep;
    if (why === null) throw error;
    return [{ path: "", message: `It cannot be checked: ${why}.` }];
  }
}

class TooMuch extends Error {}

/** `names`, `items`: the members that a schema covers, for the surrounding `unevaluated…` keywords. */
interface Fit {
  readonly findings: SchemaFinding[];
  readonly names: Set<string>;
  readonly items: Set<number>;
}

const newFit = (): Fit => ({ findings: [], names: new Set(), items: new Set() });

class Check {
  readonly #root: Root;
  readonly #searching = effortOf(mostSearching);
  #left = mostWork;
  #depth = 0;

  constructor(root: Root) {
    this.#root = root;
  }

  fit(schema: Schema | undefined, value: unknown, path: Path): Fit {
    const fit = newFit();
    if (schema === undefined || schema === true) return fit;
    if (schema === false) {
      fit.findings.push(finding(path, "nothing is allowed here"));
      return fit;
    }
    this.#depth += 1;
    this.#spend(1);
    if (this.#depth > mostDepth) throw new TooMuch(`it is nested deeper than ${mostDepth}`);
    this.#fitPlain(schema, value, path, fit);
    if (!(schema.nullable === true && value === null)) {
      this.#fitOthers(schema, value, path, fit);
      if (typeof value === "string") this.#fitText(schema, value, path, fit);
      if (typeof value === "number") fitNumber(schema, value, path, fit);
      if (Array.isArray(value)) this.#fitItems(schema, value, path, fit);
      else if (isRecord(value)) this.#fitMembers(schema, value, path, fit);
    }
    this.#depth -= 1;
    return fit;
  }

  #spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new TooMuch("the check exceeds the limit for one step");
  }

  #fitPlain(schema: Readonly<Record<string, unknown>>, value: unknown, path: Path, { findings }: Fit): void {
    const { type, enum: listed } = schema;
    if (type !== undefined && !(schema.nullable === true && value === null)) {
      const wanted = (Array.isArray(type) ? type : [type]) as readonly string[];
      if (!wanted.some((name) => isOfType(value, name)))
        findings.push(finding(path, `expected ${wanted.join(" or ")}, received ${typeOf(value)}`));
    }
    if (Array.isArray(listed) && !listed.some((one) => this.#same(one, value)))
      findings.push(finding(path, `expected one of ${listed.slice(0, 20).map(show).join(", ")}`));
    if (Object.hasOwn(schema, "const") && !this.#same(schema.const, value))
      findings.push(finding(path, `expected ${show(schema.const)}`));
  }

  /** Applies the other schemas that describe the same value (allOf, anyOf, $ref and so on). */
  #fitOthers(schema: Readonly<Record<string, unknown>>, value: unknown, path: Path, fit: Fit): void {
    const also = (inner: Fit) => {
      fit.findings.push(...inner.findings);
      take(fit, inner);
    };
    for (const key of references) {
      const reference = schema[key];
      if (typeof reference === "string") also(this.fit(this.#root.find(reference), value, path));
    }
    for (const inner of listIn(schema.allOf)) also(this.fit(inner, value, path));
    if (Array.isArray(schema.anyOf) || Array.isArray(schema.oneOf)) {
      for (const key of ["anyOf", "oneOf"] as const) {
        const branches = listIn(schema[key]).map((inner) => this.fit(inner, value, path));
        if (branches.length === 0) continue;
        const fitting = branches.filter(({ findings }) => findings.length === 0);
        for (const inner of fitting) take(fit, inner);
        if (fitting.length === 0) fit.findings.push(...closest(branches, path));
        if (key === "oneOf" && fitting.length > 1)
          fit.findings.push(finding(path, "it matches more than one alternative"));
      }
    }
    if (schema.not !== undefined && this.fit(schema.not as Schema, value, path).findings.length === 0)
      fit.findings.push(finding(path, "it matches an excluded schema"));
    if (schema.if !== undefined) {
      const condition = this.fit(schema.if as Schema, value, path);
      const holds = condition.findings.length === 0;
      if (holds) take(fit, condition);
      also(this.fit((holds ? schema.then : schema.else) as Schema | undefined, value, path));
    }
  }

  #fitText(schema: Readonly<Record<string, unknown>>, text: string, path: Path, { findings }: Fit): void {
    const { minLength, maxLength, pattern, format } = schema;
    if (typeof minLength === "number" || typeof maxLength === "number") {
      this.#spend(text.length);
      // The length counts characters, not UTF-16 units.
      const length = text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
      if (typeof minLength === "number" && length < minLength)
        findings.push(finding(path, `expected at least ${minLength} characters`));
      if (typeof maxLength === "number" && length > maxLength)
        findings.push(finding(path, `expected at most ${maxLength} characters`));
    }
    if (typeof pattern === "string" && this.#matches(pattern, text) === false)
      findings.push(finding(path, `it does not match the pattern ${show(pattern)}`));
    if (
      typeof format === "string" &&
      Object.hasOwn(formats, format) &&
      formats[format]?.(text.slice(0, 1_000)) === false
    )
      findings.push(finding(path, `expected the format ${format}`));
  }

  /** Returns null if the pattern cannot be read. */
  #matches(source: string, text: string): boolean | null {
    const searched = searchWithin(source, text, this.#searching);
    if (searched === null) throw new TooMuch("the check exceeds the limit for one step");
    return "found" in searched ? searched.found : null;
  }

  #fitItems(schema: Readonly<Record<string, unknown>>, items: readonly unknown[], path: Path, fit: Fit): void {
    const { findings } = fit;
    const { minItems, maxItems, uniqueItems, contains } = schema;
    if (typeof minItems === "number" && items.length < minItems)
      findings.push(finding(path, `expected at least ${minItems} items`));
    if (typeof maxItems === "number" && items.length > maxItems)
      findings.push(finding(path, `expected at most ${maxItems} items`));
    const legacy = Array.isArray(schema.items);
    const first = listIn(legacy ? schema.items : schema.prefixItems);
    const rest = (legacy ? schema.additionalItems : schema.items) as Schema | undefined;
    for (const [at, item] of items.entries()) {
      const inner = at < first.length ? first[at] : rest;
      if (inner === undefined) break;
      fit.items.add(at);
      findings.push(...this.fit(inner, item, [...path, at]).findings);
      if (findings.length > mostFindings) return;
    }
    if (uniqueItems === true) this.#fitUnique(items, path, findings);
    if (contains !== undefined) {
      const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema as Record<string, number>;
      let found = 0;
      for (const [at, item] of items.entries()) {
        if (this.fit(contains as Schema, item, [...path, at]).findings.length > 0) continue;
        found += 1;
        fit.items.add(at);
      }
      if (found < minContains)
        findings.push(finding(path, `expected at least ${minContains} items of a kind, found ${found}`));
      if (found > maxContains)
        findings.push(finding(path, `expected at most ${maxContains} items of a kind, found ${found}`));
    }
    const others = schema.unevaluatedItems as Schema | undefined;
    if (others === undefined) return;
    for (const [at, item] of items.entries()) {
      if (fit.items.has(at)) continue;
      fit.items.add(at);
      findings.push(...this.fit(others, item, [...path, at]).findings);
    }
  }

  #fitUnique(items: readonly unknown[], path: Path, findings: SchemaFinding[]): void {
    const seen = new Map<string, number>();
    for (const [at, item] of items.entries()) {
      const written = canonical(item);
      this.#spend(written.length);
      const before = seen.get(written);
      if (before !== undefined) {
        findings.push(finding([...path, at], `it repeats item ${before}`));
        return;
      }
      seen.set(written, at);
    }
  }

  #fitMembers(
    schema: Readonly<Record<string, unknown>>,
    value: Readonly<Record<string, unknown>>,
    path: Path,
    fit: Fit,
  ): void {
    const { findings } = fit;
    const names = Object.keys(value);
    const { minProperties, maxProperties, required, propertyNames, additionalProperties } = schema;
    if (typeof minProperties === "number" && names.length < minProperties)
      findings.push(finding(path, `expected at least ${minProperties} properties`));
    if (typeof maxProperties === "number" && names.length > maxProperties)
      findings.push(finding(path, `expected at most ${maxProperties} properties`));
    const missing = (name: string) => findings.push(finding([...path, name], "it is missing"));
    if (isTexts(required)) for (const name of required) if (!Object.hasOwn(value, name)) missing(name);
    const properties = isRecord(schema.properties) ? schema.properties : {};
    const patterns = isRecord(schema.patternProperties) ? Object.entries(schema.patternProperties) : [];
    for (const name of names) {
      this.#spend(1);
      const at = [...path, name];
      let spokenOf = false;
      if (Object.hasOwn(properties, name)) {
        spokenOf = true;
        findings.push(...this.fit(properties[name] as Schema, value[name], at).findings);
      }
      for (const [source, inner] of patterns) {
        const matches = this.#matches(source, name);
        // It is unknown whether the pattern matches this name, so the name counts as covered.
        if (matches !== false) spokenOf = true;
        if (matches === true) findings.push(...this.fit(inner as Schema, value[name], at).findings);
      }
      if (!spokenOf && additionalProperties !== undefined) {
        spokenOf = true;
        if (additionalProperties === false) findings.push(finding(path, `${show(name)} is not a known property`));
        else findings.push(...this.fit(additionalProperties as Schema, value[name], at).findings);
      }
      if (spokenOf) fit.names.add(name);
      if (propertyNames !== undefined) {
        const wrong = this.fit(propertyNames as Schema, name, path).findings;
        findings.push(...wrong.map(({ message }) => finding(path, `the name ${show(name)}: ${message}`)));
      }
      if (findings.length > mostFindings) return;
    }
    this.#fitDependent(schema, value, path, fit, missing);
    const others = schema.unevaluatedProperties as Schema | undefined;
    if (others === undefined) return;
    for (const name of names) {
      if (fit.names.has(name)) continue;
      fit.names.add(name);
      if (others === false) findings.push(finding(path, `${show(name)} is not a known property`));
      else findings.push(...this.fit(others, value[name], [...path, name]).findings);
    }
  }

  #fitDependent(
    schema: Readonly<Record<string, unknown>>,
    value: Readonly<Record<string, unknown>>,
    path: Path,
    fit: Fit,
    missing: (name: string) => void,
  ): void {
    for (const key of ["dependentRequired", "dependentSchemas", "dependencies"]) {
      const dependent = schema[key];
      if (!isRecord(dependent)) continue;
      for (const [name, wanted] of Object.entries(dependent)) {
        if (!Object.hasOwn(value, name)) continue;
        if (isTexts(wanted)) {
          for (const other of wanted) if (!Object.hasOwn(value, other)) missing(other);
          continue;
        }
        const inner = this.fit(wanted as Schema, value, path);
        fit.findings.push(...inner.findings);
        take(fit, inner);
      }
    }
  }

  #same(one: unknown, other: unknown): boolean {
    if (one === other) return true;
    if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
    const written = canonical(other);
    this.#spend(written.length);
    return canonical(one) === written;
  }
}

function fitNumber(schema: Readonly<Record<string, unknown>>, value: number, path: Path, { findings }: Fit): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  // In draft 4, this flag excludes the bound itself.
  const [over, under] = [exclusiveMinimum === true, exclusiveMaximum === true];
  if (typeof minimum === "number" && (over ? value <= minimum : value < minimum))
    findings.push(finding(path, `expected ${over ? "more than" : "at least"} ${minimum}`));
  if (typeof maximum === "number" && (under ? value >= maximum : value > maximum))
    findings.push(finding(path, `expected ${under ? "less than" : "at most"} ${maximum}`));
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    findings.push(finding(path, `expected more than ${exclusiveMinimum}`));
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    findings.push(finding(path, `expected less than ${exclusiveMaximum}`));
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const times = value / multipleOf;
    // 0.3 is three times 0.1, although binary fractions give a slightly different quotient.
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times)))
      findings.push(finding(path, `expected a multiple of ${multipleOf}`));
  }
}

/** If no alternative fits, returns the findings of the one that fits best. */
function closest(branches: readonly Fit[], path: Path): readonly SchemaFinding[] {
  const here = path.map(String).join(".");
  const inside = branches.filter(({ findings }) => findings.every((one) => one.path !== here));
  const [first] = (inside.length > 0 ? inside : branches).toSorted((a, b) => a.findings.length - b.findings.length);
  if (inside.length > 0 || branches.length === 1) return first?.findings ?? [];
  const all = [...new Set(branches.flatMap(({ findings }) => findings.map(({ message }) => message)))];
  return [finding(path, `it matches none of the alternatives: ${all.slice(0, 5).join("; or ")}`)];
}

function take(fit: Fit, { names, items }: Fit): void {
  for (const name of names) fit.names.add(name);
  for (const item of items) fit.items.add(item);
}

const day = /^(\d{4})-(\d\d)-(\d\d)$/;
const clock = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,30})?([zZ]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Applies J4: a check refuses only values that are certainly wrong. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDay,
  time: (text) => clock.test(text),
  "date-time": (text) => /^[tT ]$/.test(text.charAt(10)) && isDay(text.slice(0, 10)) && clock.test(text.slice(11)),
  // Any 128 bits are accepted, not only the versions that are known today.
  uuid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
  email: (text) => /^[^\s@]{1,320}@[^\s@]{1,320}$/.test(text),
  ipv4: (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text),
  ipv6: (text) => text.includes(":") && URL.canParse(`http://[${text}]/`),
  uri: (text) => /^[a-z][a-z0-9+.-]{0,100}:[^\s]*$/i.test(text),
};

function isDay(text: string): boolean {
  const [, year = 0, month = 0, at = 0] = (day.exec(text) ?? []).map(Number);
  return month >= 1 && month <= 12 && at >= 1 && at <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

function listIn(value: unknown): readonly Schema[] {
  return Array.isArray(value) ? value : [];
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function finding(path: Path, message: string): SchemaFinding {
  return { path: path.join("."), message };
}

function problem(at: Path, message: string): SchemaFinding {
  return finding(at, message);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
