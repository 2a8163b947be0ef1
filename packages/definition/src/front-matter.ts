/** Optional YAML between `---` lines at the very top: settings a flowchart has no words for. Strict: unknown keys are errors. */
import type { Limits, ModelSettings, SandboxNeeds } from "@markmill/engine";
import { isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import type { Place } from "./finding.ts";
import { parseDuration, parseMoney, parseSize } from "./quantity.ts";
import type { Report } from "./report.ts";

export interface FrontMatter {
  readonly name?: string;
  readonly description?: string;
  readonly settings: ModelSettings;
  readonly agents: Readonly<Record<string, ModelSettings>>;
  readonly limits: Partial<Limits>;
  readonly sandbox: SandboxNeeds;
  readonly lenient: boolean;
  readonly prompts: readonly { readonly id: string; readonly text: string; readonly at: Place }[];
  readonly params: readonly { readonly name: string; readonly default: string | null; readonly at: Place }[];
}

export const noFrontMatter: FrontMatter = {
  settings: {},
  agents: {},
  limits: {},
  sandbox: {},
  lenient: false,
  prompts: [],
  params: [],
};

const MAX_CHARACTERS = 256 * 1024;

const amount = (parse: (text: string) => number | null, like: string) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const parsed = parse(typeof value === "number" ? plainDecimal(value) : value);
    if (parsed !== null) return parsed;
    context.addIssue({ code: "custom", message: `expected something like ${like}` });
    return z.NEVER;
  });
const duration = amount(parseDuration, "10m, 90s or 1h30m");
const size = amount(parseSize, "512m, 1g or a number of bytes");
const money = amount(parseMoney, "0.50 or $0.50");
const count = z.int().min(0);
const words = z.union([z.string().transform((one) => [one]), z.array(z.string())]);

const settings = z.strictObject({
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  maxPromptCharacters: z.int().min(1).optional(),
  stop: words.optional(),
});

const schema = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  model: z.string().min(1).optional(),
  agents: z.record(z.string(), settings).optional(),
  settings: settings.optional(),
  limits: z
    .strictObject({
      hits: z.int().min(1).optional(),
      steps: z.int().min(1).optional(),
      depth: count.optional(),
      cost: money.optional(),
      tokens: count.optional(),
      characters: count.optional(),
      time: duration.optional(),
    })
    .optional(),
  sandbox: z
    .strictObject({
      image: z.string().min(1).optional(),
      network: z.literal("none").optional(),
      memory: size.optional(),
      cpus: z.number().positive().optional(),
      pids: z.int().min(1).optional(),
      disk: size.optional(),
      wall: duration.optional(),
      cpu: duration.optional(),
      silence: duration.optional(),
      output: size.optional(),
      languages: words.optional(),
      allow: words.optional(),
      deny: words.optional(),
      checkpoint: z.boolean().optional(),
    })
    .optional(),
  verdicts: z.enum(["lenient", "exact"]).optional(),
  prompts: z.record(z.string().regex(/^(?:User|System|Assistant)(?![\p{L}\p{N}_])/u), z.string()).optional(),
  params: z.record(z.string(), z.string().nullable()).optional(),
});

/** How settings may be spelt on a node (`temperature: 0.2`), for compile-node. */
export const settingsSchema = settings;

/** Number of lines the front matter takes, 0 when there is none. */
export function frontMatterLines(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== "---") return 0;
  for (let index = 1; index < lines.length; index++)
    if (/^(?:---|\.\.\.)\s*$/.test(lines[index] ?? "")) return index + 1;
  return -1;
}

export function readFrontMatter(lines: readonly string[], length: number, file: string, report: Report): FrontMatter {
  const text = lines.slice(1, length - 1).join("\n");
  if (text.length > MAX_CHARACTERS) {
    report.error(
      "FRONT_MATTER_TOO_LARGE",
      { file, line: 1, column: 1 },
      `The front matter is longer than ${MAX_CHARACTERS / 1024} Ki characters.`,
      "Move long texts into the Prompts section.",
    );
    return noFrontMatter;
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const placeOf = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(1, line) + 1, column: Math.max(1, col) };
  };
  for (const problem of document.errors) {
    report.error(
      "FRONT_MATTER_YAML",
      placeOf(problem.pos[0]),
      `The front matter is not valid YAML: ${problem.message}`,
      "Correct the YAML between the two --- lines; indent with spaces and quote values that hold a colon.",
    );
  }
  if (document.errors.length > 0) return noFrontMatter;
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 50 });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report.error(
      "FRONT_MATTER_YAML",
      { file, line: 2, column: 1 },
      `The front matter cannot be read: ${why}`,
      "Write it without aliases.",
    );
    return noFrontMatter;
  }
  if (raw === null || raw === undefined) return noFrontMatter;

  const pathPlace = (path: readonly PropertyKey[], key?: string): Place => {
    let node: unknown = document.contents;
    let at = 0;
    for (const segment of key === undefined ? path : [...path, key]) {
      if (isMap(node)) {
        const pair = node.items.find((item) => {
          const name = isScalar(item.key) ? String(item.key.value) : "";
          return name === segment || camelCase(name) === segment;
        });
        if (pair === undefined) break;
        node = pair.value;
        if (isNode(pair.key)) at = pair.key.range?.[0] ?? at;
        if (key === undefined && isNode(node)) at = node.range?.[0] ?? at;
      } else break;
    }
    return placeOf(at);
  };

  const parsed = schema.safeParse(withCamelCase(raw));
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      const where = issue.path.length === 0 ? "the front matter" : issue.path.join(".");
      if (issue.code === "unrecognized_keys") {
        const known = knownKeys(issue.path);
        for (const key of issue.keys) {
          report.error(
            "FRONT_MATTER_KEY",
            pathPlace(issue.path, key),
            `${key} is not a setting of ${where}.`,
            `${report.didYouMean(key, known)}Known here: ${known.join(", ")}.`,
          );
        }
      } else {
        report.error(
          "FRONT_MATTER_VALUE",
          pathPlace(issue.path),
          `${where}: ${issue.message}.`,
          "Give the setting a value of the expected kind, or remove it.",
        );
      }
    }
    return noFrontMatter;
  }
  const { data } = parsed;
  const { cost, time, ...counts } = data.limits ?? {};
  const { memory, disk, wall, cpu, silence, output, ...needs } = data.sandbox ?? {};
  return present({
    name: data.name,
    description: data.description,
    settings: present({ ...data.settings, ...(data.model === undefined ? {} : { model: data.model }) }),
    agents: Object.fromEntries(Object.entries(data.agents ?? {}).map(([name, own]) => [name, present(own)])),
    limits: present({ ...counts, nanodollars: cost, timeMs: time }),
    sandbox: present({
      ...needs,
      memoryBytes: memory,
      diskBytes: disk,
      wallMs: wall,
      cpuMs: cpu,
      silenceMs: silence,
      outputBytes: output,
    }),
    lenient: data.verdicts === "lenient",
    prompts: Object.entries(data.prompts ?? {}).map(([id, text]) => ({ id, text, at: pathPlace(["prompts"], id) })),
    params: Object.entries(data.params ?? {}).map(([name, value]) => ({
      name,
      default: value,
      at: pathPlace(["params"], name),
    })),
  });
}

type Present<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Without the keys whose value is undefined: absent is absent. */
export function present<T extends object>(record: T): Present<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** `top-p` and `top_p` are `topP`. */
export function camelCase(key: string): string {
  return key.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function withCamelCase(raw: unknown): unknown {
  if (!isRecord(raw)) return raw;
  const out: Record<string, unknown> = { ...raw };
  for (const key of ["settings", "sandbox", "limits"]) if (Object.hasOwn(out, key)) out[key] = camelKeys(out[key]);
  if (isRecord(out.agents))
    out.agents = Object.fromEntries(Object.entries(out.agents).map(([name, value]) => [name, camelKeys(value ?? {})]));
  return out;
}

function camelKeys(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelCase(key), inner]));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  if (path[0] === "agents" || path[0] === "settings") return Object.keys(settings.shape);
  if (path[0] === "limits") return Object.keys(schema.shape.limits.unwrap().shape);
  if (path[0] === "sandbox") return Object.keys(schema.shape.sandbox.unwrap().shape);
  return Object.keys(schema.shape);
}

/** Digits only, as the parsers of amounts want them. */
function plainDecimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, "");
}
