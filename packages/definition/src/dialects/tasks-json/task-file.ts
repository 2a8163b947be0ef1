/**
 * The content of a tasks-JSON file, in one form for both revisions. S has `prompt`, `check` and `custom_tool`; H has `messages`,
 * `function_calling_raw`, `schema`, `custom_tools` and a list in `return_value`. `at` is an offset in the file.
 */
import type { BuiltinName, Json, PostRule, Role } from "@markmill/engine";

export const operators = [
  "generation",
  "function_calling",
  "function_calling_raw",
  "check",
  "search",
  "sample",
  "end",
] as const;
export type Operator = (typeof operators)[number];

export const expressions = [
  "Equal",
  "NotEqual",
  "Contains",
  "NotContains",
  "GreaterThan",
  "LessThan",
  "GreaterThanOrEqual",
  "LessThanOrEqual",
  "HaveSimilar",
] as const;
export type Expression = (typeof expressions)[number];

export const valueTypes = ["input", "read", "pop", "peek", "get_all", "size", "string", "search"] as const;

/** The source of a value. */
export type Source =
  | { readonly type: "input"; readonly at: number }
  | { readonly type: "read" | "pop" | "get_all" | "size" | "string"; readonly key: string; readonly at: number }
  | { readonly type: "peek"; readonly key: string; readonly index: number; readonly at: number }
  | { readonly type: "search"; readonly query: Source; readonly at: number };

export interface Input {
  readonly name: string;
  readonly source: Source;
  readonly required: boolean;
  readonly at: number;
}

export interface Output {
  readonly type: "write" | "push" | "insert";
  readonly key: string;
  /** null: the value is the task's result. */
  readonly literal: string | null;
}

export interface TaskMessage {
  readonly role: Role;
  readonly text: string;
  readonly at: number;
}

/** The required form of a reply: JSON of a schema, or text in a form that the model receives. */
export type ReplyForm =
  | { readonly is: "schema"; readonly schema: Json }
  | { readonly is: "instruction"; readonly text: string };

export interface Task {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly operator: Operator;
  readonly messages: readonly TaskMessage[];
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  readonly form: ReplyForm | null;
  readonly model: string | null;
  /** Where a search is done; null: its text decides. */
  readonly search: "files" | "web" | null;
  readonly at: number;
}

export interface StepCondition {
  readonly source: Source;
  readonly expected: string;
  readonly expression: Expression;
  readonly targetIfNot: Target;
  readonly at: number;
}

export interface Target {
  readonly id: string;
  readonly at: number;
}

export interface TaskStep {
  readonly source: Target;
  readonly target: Target;
  readonly condition: StepCondition | null;
  readonly fallback: Target | null;
  readonly at: number;
}

export interface ReturnValue {
  readonly sources: readonly Source[];
  /** The author wrote the value as a list. */
  readonly each: boolean;
  readonly toJson: boolean;
  readonly post: readonly PostRule[];
  readonly postAfterJson: boolean;
}

export interface CustomTool {
  readonly name: string;
  readonly description: string;
  readonly how:
    | { readonly mode: "declared"; readonly schema: Json }
    | {
        readonly mode: "http";
        readonly method: "GET" | "POST" | "PUT" | "DELETE";
        readonly url: string;
        readonly headers: Readonly<Record<string, string | { readonly secret: string; readonly before?: string }>>;
        readonly arguments: readonly string[];
      };
  readonly at: number;
}

/** Settings of the passages: their scope, and the embedder for their vectors. */
export interface MemoryWishes {
  readonly scope: string | null;
  /** null: the embedder that needs no model. */
  readonly embedder: { readonly model: string; readonly dimensions?: number; readonly queryPrefix?: string } | null;
}

export interface TaskFile {
  readonly revision: "S" | "H" | "mixed";
  readonly name: string;
  readonly description: string;
  readonly maxSteps: number;
  readonly maxSeconds: number;
  readonly maxTokens: number | null;
  readonly model: string | null;
  /** `{{name}}` keeps one pair of braces around the value, as in the original. */
  readonly keepBraces: boolean;
  readonly builtins: readonly BuiltinName[] | "ALL";
  readonly customTools: readonly CustomTool[];
  readonly cache: readonly { readonly key: string; readonly text: string; readonly at: number }[];
  readonly stacks: readonly { readonly key: string; readonly items: readonly string[]; readonly at: number }[];
  readonly memory: MemoryWishes;
  readonly tasks: readonly Task[];
  readonly steps: readonly TaskStep[];
  readonly returns: ReturnValue | null;
}
