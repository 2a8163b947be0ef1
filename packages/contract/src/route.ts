/** Describes a route: everything that the server, the client and the OpenAPI document need to know about it. */
import type { z } from "zod";
import type { ProblemCode } from "./problem.ts";
import type { Scope } from "./roles-and-scopes.ts";

/** @public */
export type Answer =
  /** `also`: another status with the same body. */
  | { readonly kind: "json"; readonly status: number; readonly schema: z.ZodType; readonly also?: number }
  | { readonly kind: "none"; readonly status: 204 }
  | { readonly kind: "text"; readonly status: 200; readonly type: string }
  | { readonly kind: "bytes"; readonly status: 200; readonly type: string }
  /** Server-sent events, each with an id and `schema` as its data. The last one is named `end` and has `end` as its data. */
  | {
      readonly kind: "events";
      readonly status: 200;
      readonly schema: z.ZodType;
      readonly end: z.ZodType /** Further events, by name. They have no id. */;
      readonly others?: Readonly<Record<string, z.ZodType>>;
    };

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** `{name}` stands for a parameter. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** public: no login needed. anybody: every key and every session. */
  readonly access: "public" | "anybody" | Scope;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  /** JSON. */
  readonly body?: z.ZodType;
  /** The body consists of raw bytes. */
  readonly upload?: true;
  readonly answer: Answer;
  /** The answer contains the address of the created resource in `Location`. */
  readonly location?: true;
  /** The answer to a change contains the new version of the resource in `ETag`. */
  readonly etag?: true;
  /** The answer sets or deletes a cookie. */
  readonly cookie?: true;
  /** In addition to the problems of every route. */
  readonly problems?: readonly ProblemCode[];
}

/** Schema of a part of a route, if it has that part. */
type Part<R extends Route, Name extends keyof Route> = R extends { readonly [key in Name]: infer S extends z.ZodType }
  ? S
  : null;
type Output<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The parsed input of a handler. */
export interface Asked<R extends Route> {
  readonly params: Output<Part<R, "params">>;
  readonly query: Output<Part<R, "query">>;
  readonly headers: Output<Part<R, "headers">>;
  readonly body: Output<Part<R, "body">>;
}

type Given<Name extends string, S> = S extends z.ZodOptional
  ? { readonly [key in Name]?: z.input<S> }
  : S extends z.ZodType
    ? { readonly [key in Name]: z.input<S> }
    : object;
/** Every field of a query and every header is optional. */
type Loose<Name extends string, S> = S extends z.ZodType ? { readonly [key in Name]?: Partial<z.output<S>> } : object;

/** The input of a client call. */
export type Asking<R extends Route> = (R extends { readonly params: infer S extends z.ZodType }
  ? { readonly params: { readonly [key in keyof z.output<S>]: string | number } }
  : object) &
  Loose<"query", Part<R, "query">> &
  Loose<"headers", Part<R, "headers">> &
  Given<"body", Part<R, "body">> &
  (R extends { readonly upload: true } ? { readonly body: Uint8Array | ReadableStream<Uint8Array> } : object);

/** The result of a client call. */
export type Got<R extends Route> = R["answer"] extends {
  readonly kind: "json";
  readonly schema: infer S extends z.ZodType;
}
  ? z.output<S>
  : R["answer"] extends { readonly kind: "text" }
    ? string
    : R["answer"] extends { readonly kind: "bytes" }
      ? Uint8Array
      : undefined;
