/** What a handler is: a function typed by its route, which knows nothing of Fastify. */
import type { Asked, Route, RouteName, Routes } from "@markmill/contract";
import type { AuditAsked, TenantAccess, TenantStore } from "@markmill/store";
import type { z } from "zod";
import type { Principal } from "./principal.ts";
import type { Upload } from "./upload-of.ts";

export interface Caller {
  readonly principal: Principal;
  /** All that they may see. */
  readonly store: TenantStore;
  readonly access: TenantAccess;
  /** For what lasts: whether they may see it now. */
  stillMay(): Promise<boolean>;
}

export interface Request<R extends Route> extends Asked<R> {
  readonly id: string;
  readonly address: string;
  readonly secure: boolean;
  readonly caller: R["access"] extends "public" ? null : Caller;
  /** The file that the request brings. */
  readonly upload: R extends { readonly upload: true } ? Upload : null;
  /** What the audit log is to know of this; null: nothing. */
  readonly audit: AuditAsked | null;
  /** The client has gone, or the server ends. */
  readonly signal: AbortSignal;
}

export interface Frame {
  readonly id?: number | string;
  readonly event?: string;
  /** null: a sign of life. */
  readonly data: unknown;
}

interface Besides {
  readonly status?: number;
  /** What was made, for the audit log. */
  readonly target?: string;
  /** The handler has written the entry in the audit log, with its outcome. */
  readonly audited?: boolean;
  readonly location?: string;
  /** ETag of the changed work, without quotes. */
  readonly etag?: string;
  /** null: the cookie is taken back. */
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

/** One for each route of the table: one too few or one too many does not compile. */
export type Handlers = { readonly [Name in RouteName]: Handler<Routes[Name]> };

/** Some of them, by their names. */
export type Some<Names extends RouteName> = Pick<Handlers, Names>;
