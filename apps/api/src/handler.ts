/** Defines a handler: a function typed by its route that does not depend on Fastify. */
import type { Asked, Route, RouteName, Routes } from "@markmill/contract";
import type { AuditAsked, TenantAccess, TenantStore } from "@markmill/store";
import type { z } from "zod";
import type { Principal } from "./principal.ts";
import type { Upload } from "./upload-of.ts";

export interface Caller {
  readonly principal: Principal;
  /** Everything that the caller may see. */
  readonly store: TenantStore;
  readonly access: TenantAccess;
  /** Used by long requests: whether the caller may still see the data. */
  stillMay(): Promise<boolean>;
}

export interface Request<R extends Route> extends Asked<R> {
  readonly id: string;
  readonly address: string;
  readonly secure: boolean;
  readonly caller: R["access"] extends "public" ? null : Caller;
  /** The uploaded file of the request. */
  readonly upload: R extends { readonly upload: true } ? Upload : null;
  /** The audit log entry for this request. null: there is none. */
  readonly audit: AuditAsked | null;
  /** Aborts when the client disconnects or the server shuts down. */
  readonly signal: AbortSignal;
}

export interface Frame {
  readonly id?: number | string;
  readonly event?: string;
  /** null: a keep-alive message. */
  readonly data: unknown;
}

interface Besides {
  readonly status?: number;
  /** The created object, for the audit log. */
  readonly target?: string;
  /** The handler has already written the entry in the audit log, with its outcome. */
  readonly audited?: boolean;
  readonly location?: string;
  /** ETag of the changed submission, without quotes. */
  readonly etag?: string;
  /** null: the cookie is removed. */
  readonly cookie?: { readonly value: string; readonly maxAgeMs: number } | null;
}

type Reply<A extends Route["answer"]> = A extends {
  readonly kind: "json";
  readonly schema: infer S extends z.ZodType;
}
  ? { readonly body: z.output<S> } & Besides
  : A extends { readonly kind: "none" }
    ? Besides
    : A extends { readonly kind: "text" }
      ? { readonly text: string; readonly contentPolicy?: string }
      : A extends { readonly kind: "bytes" }
        ? { readonly content: AsyncIterable<Uint8Array>; readonly size: number; readonly name: string }
        : { readonly frames: AsyncIterable<Frame> | null };

type Handler<R extends Route> = (request: Request<R>) => Promise<Reply<R["answer"]>>;

/** One handler for each route of the table. A missing or extra handler does not compile. */
export type Handlers = { readonly [Name in RouteName]: Handler<Routes[Name]> };

/** Some of the handlers, by name. */
export type Some<Names extends RouteName> = Pick<Handlers, Names>;
