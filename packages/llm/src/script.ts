// The YAML script of the scripted model server. It is checked completely before the server starts, so that a mistake in the script is not
// first noticed in the middle of a class.
import { z } from "zod";
import type { FileCode } from "./file-codes.ts";
import type { Finding } from "./finding.ts";
import { inFileOrder, readYaml, type YamlPath } from "./read-yaml.ts";

export type Fault =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly code: string | undefined;
      readonly message: string | undefined;
      /** Seconds, or the header's text unchanged. */
      readonly retryAfter: number | string | undefined;
      readonly retryAfterMs: number | undefined;
      /** Retry-After as a date this many seconds from now. */
      readonly retryAfterDate: number | undefined;
    }
  /** The connection ends after this many characters of the reply. */
  | { readonly kind: "cut"; readonly characters: number }
  /** A reply of this many characters, which the server never holds in memory. */
  | { readonly kind: "huge"; readonly characters: number }
  | { readonly kind: PlainFault };

/**
 * `reset`: the connection ends before any answer; `reset-after-headers`: after the status line. `hang`: no answer, ever. `empty`: no
 * choices; `null`, `blank`, `tool-calls`, `reasoning`: a choice that contains only this.
 */
const plainFaults = [
  "malformed",
  "html",
  "hang",
  "reset",
  "reset-after-headers",
  "empty",
  "null",
  "blank",
  "tool-calls",
  "reasoning",
] as const;
type PlainFault = (typeof plainFaults)[number];

/** A tool call in the reply. */
interface ScriptedCall {
  readonly name: string;
  /** An object, whose texts are filled like a reply; or the text to send instead. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
  readonly id: string | undefined;
}

export interface Answer {
  /** The n-th time gives the n-th reply; the last one repeats. Empty only together with a fault. */
  readonly replies: readonly string[];
  /** Tool calls of the reply; a text beside them is sent too. */
  readonly calls: readonly ScriptedCall[];
  /** Sent with the reply, in a field of its own. */
  readonly reasoning: string | undefined;
  /** Replies are sent unchanged, including {{...}}. */
  readonly verbatim: boolean;
  readonly usage: { readonly prompt: number; readonly completion: number } | undefined;
  readonly finish: "stop" | "length" | "content_filter";
  readonly delayMs: number;
  readonly fault: Fault | undefined;
  readonly sticky: boolean;
}

interface Conditions {
  readonly model: string | undefined;
  /** The role of the last message. */
  readonly role: string | undefined;
  /** The last message must contain all of them. */
  readonly text: readonly string[];
  /** Must match the last message; its groups fill the reply. */
  readonly pattern: RegExp | undefined;
  /** The system messages must contain all of them. */
  readonly system: readonly string[];
  /** The number of this call within its conversation: the number of assistant messages in the request, plus one. */
  readonly turn: number | undefined;
  /** Of the requests that meet all conditions above, only these (from 1). */
  readonly nth: readonly number[] | undefined;
  /** Like nth, for the first `times` requests. */
  readonly times: number | undefined;
}

export interface Rule {
  readonly name: string;
  readonly when: Conditions;
  readonly answer: Answer;
}

/** Requests that fail at random, before any rule is tried: they advance no counter. The same seed gives the same sequence. */
interface ScriptedTrouble {
  /** 0 to 1. */
  readonly share: number;
  readonly seed: number;
  /** Each kind is equally likely. */
  readonly kinds: readonly Fault[];
}

export interface Script {
  readonly rules: readonly Rule[];
  readonly otherwise: Answer | undefined;
  readonly trouble?: ScriptedTrouble;
}

export type ScriptReading =
  | { readonly ok: true; readonly script: Script }
  | { readonly ok: false; readonly findings: readonly Finding[] };

const from1 = z.int().positive();
const texts = z.union(
  [
    z
      .string()
      .min(1)
      .transform((text) => [text]),
    z.array(z.string().min(1)).min(1),
  ],
  {
    error: "expected a text or a list of texts, none empty",
  },
);

const delaySchema = z
  .union([z.number().nonnegative(), z.string().regex(/^\d+(\.\d+)?(ms|s)$/)], {
    error: 'expected milliseconds, or a text like "250ms" or "2s"',
  })
  .transform((delay) => {
    if (typeof delay === "number") return delay;
    return delay.endsWith("ms") ? Number(delay.slice(0, -2)) : Number(delay.slice(0, -1)) * 1000;
  });

const status = z.int().min(400).max(599);
const faultSchema = z
  .union(
    [
      status.transform((code) => ({ status: code })),
      z.enum(plainFaults),
      z.strictObject({
        status,
        code: z.string().optional(),
        message: z.string().optional(),
        retryAfter: z.union([z.number().nonnegative(), z.string().min(1)]).optional(),
        retryAfterMs: z.number().nonnegative().optional(),
        retryAfterDate: z.number().nonnegative().optional(),
      }),
      z.strictObject({ cut: z.int().nonnegative() }),
      z.strictObject({ huge: from1 }),
    ],
    {
      error:
        `expected a status from 400 to 599, one of ${plainFaults.join(", ")}, or one of ` +
        "{ status, retryAfter, retryAfterMs, retryAfterDate, code, message }, { cut: CHARACTERS }, { huge: CHARACTERS }",
    },
  )
  .transform((fault): Fault => {
    if (typeof fault === "string") return { kind: fault };
    if ("cut" in fault) return { kind: "cut", characters: fault.cut };
    if ("huge" in fault) return { kind: "huge", characters: fault.huge };
    return {
      kind: "status",
      code: undefined,
      message: undefined,
      retryAfter: undefined,
      retryAfterMs: undefined,
      retryAfterDate: undefined,
      ...fault,
    };
  });

const answerShape = {
  reply: z
    .union([z.string().transform((text) => [text]), z.array(z.string()).min(1)], {
      error: "expected a text or a list of texts",
    })
    .default([]),
  calls: z
    .array(
      z.strictObject({
        name: z.string(),
        arguments: z
          .union([z.string(), z.record(z.string(), z.json())], {
            error: "expected an object, or a text to be sent as it is",
          })
          .default({}),
        id: z.string().min(1).optional(),
      }),
    )
    .min(1)
    .max(1_000)
    .default([]),
  reasoning: z.string().optional(),
  verbatim: z.boolean().default(false),
  usage: z.strictObject({ prompt: z.int().nonnegative(), completion: z.int().nonnegative() }).optional(),
  finish: z.enum(["stop", "length", "content_filter"]).default("stop"),
  delay: delaySchema.default(0),
  fault: faultSchema.optional(),
  sticky: z.boolean().optional(),
};
const answerSchema = z.strictObject(answerShape);

const ruleSchema = z.strictObject({
  name: z.string().min(1).optional(),
  when: z
    .strictObject({
      model: z.string().min(1).optional(),
      role: z.enum(["system", "user", "assistant", "tool"]).optional(),
      text: texts.default([]),
      pattern: z.string().min(1).optional(),
      flags: z
        .string()
        .regex(/^[imsu]*$/, "expected flags out of i, m, s, u")
        .default(""),
      system: texts.default([]),
      turn: from1.optional(),
      nth: z
        .union([from1.transform((n) => [n]), z.array(from1).min(1)], {
          error: "expected a number from 1, or a list of them",
        })
        .optional(),
    })
    .prefault({}),
  times: from1.optional(),
  ...answerShape,
});

/** Every known way in which an endpoint fails; `hang` lasts until the client's own timeout. */
const everyTrouble = [
  429,
  { status: 429, retryAfter: 1 },
  { status: 429, retryAfterMs: 30 },
  { status: 429, retryAfterDate: 1 },
  { status: 429, retryAfter: 86_400 },
  { status: 429, code: "insufficient_quota" },
  500,
  502,
  503,
  529,
  401,
  403,
  "reset",
  "reset-after-headers",
  "hang",
  "malformed",
  "html",
  { cut: 5 },
] as const;

const troubleSchema = z
  .strictObject({
    share: z.number().min(0).max(1),
    seed: z.int().nonnegative().default(1),
    kinds: z
      .array(faultSchema)
      .min(1)
      .prefault([...everyTrouble]),
  })
  .optional();

const fileSchema = z.strictObject({
  sticky: z.boolean().default(false),
  trouble: troubleSchema,
  rules: z.array(ruleSchema).default([]),
  default: answerSchema.optional(),
});

export function parseScript(yamlText: string, file: string): ScriptReading {
  const reading = readYaml(yamlText, file, { prefix: "SCRIPT", noun: "script" }, fileSchema);
  if (reading.value === undefined) return { ok: false, findings: inFileOrder(reading.findings) };
  const { rules, sticky, trouble, default: otherwise } = reading.value;

  const findings: Finding[] = [];
  const report = (path: YamlPath, code: FileCode, message: string, fix: string) => {
    findings.push(reading.place(path, code, message, fix));
  };
  if (rules.length === 0 && otherwise === undefined) {
    report([], "EMPTY", "The script has no rule and no default, so it answers nothing.", "Add rules or a default.");
  }

  const readAnswer = (raw: z.infer<typeof answerSchema>, path: YamlPath, groups: ReadonlySet<string>): Answer => {
    const needsReply = raw.fault === undefined || raw.fault.kind === "cut";
    if (needsReply && raw.reply.length === 0 && raw.calls.length === 0) {
      report(path, "NO_REPLY", "The rule has no reply and no fault.", "Add a reply.");
    }
    const filled: readonly [string, string][] = [
      ...raw.reply.map((text): [string, string] => ["reply", text]),
      ...raw.calls.flatMap((call) => textsIn(call.arguments).map((text): [string, string] => ["calls", text])),
    ];
    for (const [field, text] of raw.verbatim ? [] : filled) {
      for (const name of placeholdersOf(text)) {
        if (groups.has(name)) continue;
        report(
          [...path, field],
          "PLACEHOLDER_UNKNOWN",
          `{{${name}}} is not a placeholder of this rule. Valid placeholders: ${[...groups].join(", ")}.`,
          "Correct the name, add the group to the pattern, or set verbatim: true to send the text as it stands.",
        );
      }
    }
    return {
      replies: raw.reply,
      calls: raw.calls.map((call) => ({ id: undefined, ...call })),
      reasoning: raw.reasoning,
      verbatim: raw.verbatim,
      usage: raw.usage,
      finish: raw.finish,
      delayMs: raw.delay,
      fault: raw.fault,
      sticky: raw.sticky ?? sticky,
    };
  };

  const names = new Set<string>();
  const parsedRules = rules.map((raw, index): Rule => {
    const path = ["rules", index];
    const name = raw.name ?? `rule ${index + 1}`;
    if (names.has(name)) {
      report(
        [...path, "name"],
        "NAME_TWICE",
        `Two rules are called "${name}".`,
        "Rename one of them. The log identifies rules by name.",
      );
    }
    names.add(name);
    if (raw.times !== undefined && raw.when.nth !== undefined) {
      report([...path, "times"], "TIMES_AND_NTH", '"times" and "nth" both choose occasions.', "Remove one of them.");
    }
    let pattern: RegExp | undefined;
    if (raw.when.pattern !== undefined) {
      try {
        pattern = new RegExp(raw.when.pattern, raw.when.flags);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        report([...path, "when", "pattern"], "PATTERN", `${why}.`, "Correct the regular expression.");
      }
    } else if (raw.when.flags !== "") {
      report(
        [...path, "when", "flags"],
        "FLAGS",
        '"flags" does nothing without "pattern".',
        "Add a pattern, or remove it.",
      );
    }
    // A broken pattern has its own finding; its groups are unknown.
    const unsure = raw.when.pattern !== undefined && pattern === undefined;
    return {
      name,
      when: {
        model: raw.when.model,
        role: raw.when.role,
        text: raw.when.text,
        pattern,
        system: raw.when.system,
        turn: raw.when.turn,
        nth: raw.when.nth,
        times: raw.times,
      },
      answer: readAnswer({ ...raw, verbatim: raw.verbatim || unsure }, path, groupsOf(pattern)),
    };
  });
  const parsedOtherwise = otherwise && readAnswer(otherwise, ["default"], groupsOf(undefined));
  if (findings.length > 0) return { ok: false, findings: inFileOrder(findings) };
  const script = { rules: parsedRules, otherwise: parsedOtherwise };
  return { ok: true, script: trouble === undefined ? script : { ...script, trouble } };
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Returns the value with each of its texts filled. */
export function fillTexts(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((inner) => fillTexts(inner, fill));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fillTexts(inner, fill)]));
}

const PLACEHOLDER = /\{\{\s*([\p{L}\p{N}_]+)\s*\}\}/gu;

function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

/** One pass: inserted text is not searched again. */
export function fillTemplate(text: string, values: ReadonlyMap<string, string>): string {
  return text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole);
}

function groupsOf(pattern: RegExp | undefined): ReadonlySet<string> {
  const names = ["n", "prompt", "model"];
  if (pattern === undefined) return new Set(names);
  // The empty alternative always matches, so the result lists every group of the pattern.
  const probe = new RegExp(`${pattern.source}|`, pattern.flags).exec("");
  const numbers = Array.from({ length: probe?.length ?? 1 }, (_, index) => String(index));
  return new Set([...names, ...numbers, ...Object.keys(probe?.groups ?? {})]);
}
