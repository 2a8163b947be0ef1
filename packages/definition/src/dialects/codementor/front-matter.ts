/** The optional YAML between `---` lines at the top of the file: settings that a flowchart cannot express. Unknown keys are errors. */
import { isRecord } from "@markmill/base/json";
import {
  type Grading,
  type JudgeNeeds,
  type Limits,
  type McpServer,
  type ModelSettings,
  type SandboxNeeds,
  type Tool,
  usualGrading,
} from "@markmill/engine";
import { flagKinds } from "@markmill/grading";
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import { z } from "zod";
import type { Place } from "../../finding.ts";
import { type Amount, duration, money, readAmount, size } from "../../quantity.ts";
import { mcpKeys, mcpSchema, mcpServersOf, mcpToolsOf } from "./mcp-matter.ts";
import { mostTools, toolsOf, toolsSchema } from "./tools-matter.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

export interface FrontMatter {
  readonly name?: string;
  readonly description?: string;
  readonly settings: ModelSettings;
  readonly agents: Readonly<Record<string, ModelSettings>>;
  readonly limits: Partial<Limits>;
  readonly sandbox: SandboxNeeds;
  readonly submission?: "required" | "optional" | "none";
  /** The paths of its files are still unresolved. */
  readonly judge?: Omit<JudgeNeeds, "from" | "files"> & { readonly written: readonly string[]; readonly at: Place };
  readonly grading?: Grading;
  /** The unresolved path of a file that contains the rubric. */
  readonly rubric?: { readonly written: string; readonly at: Place };
  readonly lenient: boolean;
  readonly trouble?: "wait" | "edge";
  readonly patienceMs?: number;
  /** The tools that PROMPTs offer their model. */
  readonly tools?: Readonly<Record<string, Tool>>;
  /** The places of tools that are workflows; their paths are still unresolved. */
  readonly toolPlaces?: Readonly<Record<string, Place>>;
  readonly mcp?: Readonly<Record<string, McpServer>>;
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

const amount = (of: Amount) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const read = readAmount(of, typeof value === "number" ? plainDecimal(value) : value);
    if (read.ok) return read.value;
    context.addIssue({ code: "custom", message: read.problem });
    return z.NEVER;
  });
const count = z.int().min(1);
/** 0.5, or 50 %. */
const share = z
  .union([
    z.number(),
    z.string().regex(/^\s*[0-9]{1,3}(?:\.[0-9]{1,3})?\s*%\s*$/, "expected a share such as 0.5 or 50%"),
  ])
  .transform((value) => (typeof value === "number" ? value : Number(value.replace("%", "")) / 100))
  .refine((value) => value >= 0 && value <= 1, "expected a share from 0 to 1, or from 0% to 100%");
const words = z.union([z.string().transform((one) => [one]), z.array(z.string())]);

const settings = z.strictObject({
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  maxOutputTokens: count.optional(),
  maxPromptCharacters: count.optional(),
  stop: words.optional(),
  cutReplies: z.enum(["keep", "fail"]).optional(),
});

const sessionLimits = {
  memory: amount(size).optional(),
  cpus: z.number().positive().optional(),
  pids: count.optional(),
  disk: amount(size).optional(),
  wall: amount(duration).optional(),
  cpu: amount(duration).optional(),
  silence: amount(duration).optional(),
  output: amount(size).optional(),
};

const schema = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  model: z.string().min(1).optional(),
  agents: z.record(z.string(), settings).optional(),
  settings: settings.optional(),
  limits: z
    .strictObject({
      hits: count.optional(),
      steps: count.optional(),
      depth: z.int().min(0).optional(),
      cost: amount(money).optional(),
      tokens: count.optional(),
      characters: count.optional(),
      time: amount(duration).optional(),
    })
    .optional(),
  judge: z
    .strictObject({
      files: words.optional(),
      autograder: z
        .union([
          z.string().min(1),
          z.strictObject({ from: z.string().min(1), setup: z.enum(["run", "skip"]).optional() }),
        ])
        .optional(),
      of: z.enum(["submission", "workspace"]).optional(),
      image: z.string().min(1).optional(),
      ...sessionLimits,
    })
    .optional(),
  sandbox: z
    .strictObject({
      image: z.string().min(1).optional(),
      network: z.literal("none").optional(),
      ...sessionLimits,
      file: amount(size).optional(),
      languages: words.optional(),
      allow: words.optional(),
      deny: words.optional(),
      checkpoint: z.boolean().optional(),
    })
    .optional(),
  submission: z.enum(["required", "optional", "none"]).optional(),
  rubric: z.string().min(1).optional(),
  grade: z
    .strictObject({
      twice: z.enum(["always", "flagged", "never"]).optional(),
      panel: words.pipe(z.array(z.string().min(1)).max(5)).optional(),
      review: z
        .strictObject({
          confidence: share.optional(),
          pass: share.optional(),
          borderline: share.optional(),
          gain: share.optional(),
          flags: words.pipe(z.array(z.enum(flagKinds))).optional(),
        })
        .optional(),
    })
    .optional(),
  verdicts: z.enum(["lenient", "exact"]).optional(),
  trouble: z.enum(["wait", "edge"]).optional(),
  patience: amount(duration).optional(),
  prompts: z.record(z.string().regex(/^(?:user|system|assistant)(?![\p{L}\p{N}_])/iu), z.string()).optional(),
  params: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).nullable()).optional(),
  tools: toolsSchema.optional(),
  mcp: mcpSchema.optional(),
});

/** The spellings of settings on a node (`temperature: 0.2`), for compile-node. */
export const settingsSchema = settings;

/** Reads a setting that is written as a decimal, or with an exponent for very small numbers. Returns null if it is not a number. */
export function settingNumber(text: string): number | null {
  return /^\s*-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?\s*$/i.test(text) ? Number(text) : null;
}

/** The number of lines of the front matter; 0 if there is none. */
export function frontMatterLines(lines: readonly string[]): number {
  if (lines[0]?.trimEnd() !== "---") return 0;
  for (let index = 1; index < lines.length; index++)
    if (/^(?:---|\.\.\.)\s*$/.test(lines[index] ?? "")) return index + 1;
  return -1;
}

export function readFrontMatter(
  lines: readonly string[],
  length: number,
  file: string,
  report: WorkflowReport,
): FrontMatter {
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
  // The library compares each key with all keys before it, so 16,000 keys would need seconds. `duplicateKeys` does it in one pass.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
  const placeOf = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { file, line: Math.max(1, line) + 1, column: Math.max(1, col) };
  };
  for (const problem of document.errors) {
    report.error(
      "FRONT_MATTER_YAML",
      placeOf(problem.pos[0]),
      `The front matter is not valid YAML: ${problem.message}`,
      "Correct the YAML between the two --- lines; indent with spaces and quote values that contain a colon.",
    );
  }
  const twice = duplicateKeys(document);
  for (const key of twice) {
    report.error(
      "FRONT_MATTER_YAML",
      placeOf(key.range?.[0] ?? 0),
      `The front matter is not valid YAML: ${String(key.value).slice(0, 40)} is given twice.`,
      "Remove one of the two.",
    );
  }
  if (document.errors.length > 0 || twice.length > 0) return noFrontMatter;
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

  const index = new KeyIndex();
  /** The place of the value at a path, or of the key if one is given. */
  const pathPlace = (path: readonly PropertyKey[], key?: string): Place => {
    let node: unknown = document.contents;
    let at = 0;
    for (const segment of key === undefined ? path : [...path, key]) {
      const pair = index.find(node, segment);
      if (pair === undefined) break;
      node = pair.value;
      if (isNode(pair.key)) at = pair.key.range?.[0] ?? at;
      if (key === undefined && isNode(node)) at = node.range?.[0] ?? at;
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
            `${report.didYouMean(key, known)}Valid settings: ${known.join(", ")}.`,
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
  const own = toolsOf(data.tools ?? {});
  const theirs = mcpToolsOf(data.mcp ?? {});
  const both = Object.keys(theirs).find((name) => Object.hasOwn(own, name));
  if (both !== undefined) {
    report.error(
      "FRONT_MATTER_VALUE",
      pathPlace(["tools"], both),
      `tools.${both}: a tool of an MCP server has this name too.`,
      "Rename it.",
    );
  }
  const tools = { ...own, ...theirs };
  if (Object.keys(tools).length > mostTools) {
    report.error(
      "FRONT_MATTER_VALUE",
      pathPlace(["mcp"]),
      `mcp: expected at most ${mostTools} tools together with those under tools.`,
      "Offer fewer tools to models.",
    );
  }
  const { cost, time, ...counts } = data.limits ?? {};
  const { files: judgeFiles = [], of = "submission", autograder, ...judge } = data.judge ?? {};
  return present({
    name: data.name,
    description: data.description,
    settings: present({ ...data.settings, ...(data.model === undefined ? {} : { model: data.model }) }),
    agents: Object.fromEntries(Object.entries(data.agents ?? {}).map(([name, own]) => [name, present(own)])),
    limits: present({ ...counts, nanodollars: cost, timeMs: time }),
    sandbox: withUnits(data.sandbox ?? {}),
    judge:
      data.judge === undefined
        ? undefined
        : {
            ...withUnits(judge),
            ...(autograder === undefined ? {} : { autograder: autograderOf(autograder) }),
            of,
            written: judgeFiles,
            at: pathPlace(["judge"], "files"),
          },
    submission: data.submission,
    rubric: data.rubric === undefined ? undefined : { written: data.rubric.trim(), at: pathPlace(["rubric"]) },
    grading: gradingOf(data.grade),
    lenient: data.verdicts === "lenient",
    trouble: data.trouble,
    patienceMs: data.patience,
    tools: Object.keys(tools).length === 0 ? undefined : tools,
    toolPlaces: Object.fromEntries(
      Object.entries(own).flatMap(([name, { kind }]) =>
        kind === "workflow" ? [[name, pathPlace(["tools", name, "workflow"])]] : [],
      ),
    ),
    mcp: data.mcp === undefined || Object.keys(data.mcp).length === 0 ? undefined : mcpServersOf(data.mcp),
    prompts: Object.entries(data.prompts ?? {}).map(([id, text]) => ({ id, text, at: pathPlace(["prompts"], id) })),
    params: Object.entries(data.params ?? {}).map(([name, value]) => ({
      name,
      default:
        typeof value === "string" || value === null
          ? value
          : asWritten(index.find(index.find(document.contents, "params")?.value, name)?.value, value),
      at: pathPlace(["params"], name),
    })),
  });
}

function autograderOf(written: string | { from: string; setup?: "run" | "skip" | undefined }) {
  return typeof written === "string"
    ? { from: written, setup: "run" as const }
    : { setup: "run" as const, ...present(written) };
}

type GradeMatter = z.infer<typeof schema>["grade"];

/** undefined means the usual settings. */
function gradingOf(matter: GradeMatter): Grading | undefined {
  const { review: usual } = usualGrading;
  const review = matter?.review ?? {};
  const grading: Grading = {
    twice: matter?.twice ?? usualGrading.twice,
    panel: matter?.panel ?? usualGrading.panel,
    review: {
      confidence: review.confidence ?? usual.confidence,
      pass: review.pass ?? usual.pass,
      borderline: review.borderline ?? usual.borderline,
      ...(review.gain === undefined ? {} : { gain: review.gain }),
      flags: flagKinds.filter((kind) => (review.flags ?? usual.flags).includes(kind)),
    },
  };
  return JSON.stringify(grading) === JSON.stringify(usualGrading) ? undefined : grading;
}

/** Renames the limits of a session to the names in the program. */
function withUnits<
  T extends {
    memory?: unknown;
    disk?: unknown;
    wall?: unknown;
    cpu?: unknown;
    silence?: unknown;
    output?: unknown;
    file?: unknown;
  },
>({ memory, disk, wall, cpu, silence, output, file, ...rest }: T) {
  return present({
    ...rest,
    memoryBytes: memory,
    diskBytes: disk,
    wallMs: wall,
    cpuMs: cpu,
    silenceMs: silence,
    outputBytes: output,
    fileBytes: file,
  }) as Present<Omit<T, "memory" | "disk" | "wall" | "cpu" | "silence" | "output" | "file">> &
    Partial<
      Record<"memoryBytes" | "diskBytes" | "wallMs" | "cpuMs" | "silenceMs" | "outputBytes" | "fileBytes", number>
    >;
}

function duplicateKeys(document: Document): Scalar[] {
  const twice: Scalar[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (seen.has(name)) twice.push(key);
        seen.add(name);
      }
    },
  });
  return twice;
}

/** Returns a number or boolean parameter as the text that the author wrote: 1.50 is not 1.5. */
function asWritten(node: unknown, value: number | boolean): string {
  return isScalar(node) && node.source !== undefined ? node.source : String(value);
}

function nameOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : "";
}

/** The pairs of a map by key, as written or in camel case. Each map is read once, for any number of lookups. */
class KeyIndex {
  readonly #maps = new Map<unknown, Map<string, Pair>>();

  find(map: unknown, key: PropertyKey): Pair | undefined {
    if (!isMap(map)) return undefined;
    let pairs = this.#maps.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.map((pair) => [nameOf(pair), pair]));
      for (const pair of map.items) {
        const spelling = camelCase(nameOf(pair));
        if (!pairs.has(spelling)) pairs.set(spelling, pair);
      }
      this.#maps.set(map, pairs);
    }
    return pairs.get(String(key));
  }
}

type Present<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Removes the keys whose value is undefined. */
export function present<T extends object>(record: T): Present<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** `top-p` and `top_p` become `topP`. */
export function camelCase(key: string): string {
  return key.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function withCamelCase(raw: unknown): unknown {
  if (!isRecord(raw)) return raw;
  const out: Record<string, unknown> = { ...raw };
  for (const key of ["settings", "sandbox", "limits", "judge"])
    if (Object.hasOwn(out, key)) out[key] = camelKeys(out[key]);
  if (isRecord(out.agents))
    out.agents = Object.fromEntries(Object.entries(out.agents).map(([name, value]) => [name, camelKeys(value ?? {})]));
  return out;
}

function camelKeys(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camelCase(key), inner]));
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  if (path[0] === "agents" || path[0] === "settings") return Object.keys(settings.shape);
  if (path[0] === "limits") return Object.keys(schema.shape.limits.unwrap().shape);
  if (path[0] === "sandbox") return Object.keys(schema.shape.sandbox.unwrap().shape);
  if (path[0] === "grade") {
    const { shape } = schema.shape.grade.unwrap();
    return Object.keys(path[1] === "review" ? shape.review.unwrap().shape : shape);
  }
  if (path[0] === "mcp") return mcpKeys;
  if (path[0] === "judge") return Object.keys(schema.shape.judge.unwrap().shape);
  return Object.keys(schema.shape);
}

/** Writes only digits and a point, because the parsers of amounts require that. */
function plainDecimal(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : value.toFixed(9).replace(/(?<!0)0+$/, "");
}
