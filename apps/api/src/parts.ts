/** What the API is made of. Whoever starts it opens these (serve-api.ts); tests open their own. */

import type { JobSpec } from "@markmill/engine";
import type { ModelCatalogue } from "@markmill/llm";
import type { StackLog } from "@markmill/stack";
import type { Access, Store } from "@markmill/store";
import type { Telemetry } from "@markmill/telemetry";
import type { FastifyBaseLogger } from "fastify";

export interface ApiSettings {
  /** Where browsers find it, such as https://mill.example.edu; null: wherever they ask. */
  readonly publicUrl: string | null;
  /** Addresses of proxies whose X-Forwarded-For counts; empty: nobody's. */
  readonly trustProxy: readonly string[];
  /** Origins of pages of other sites that may call it with a key; empty: none. */
  readonly corsOrigins: readonly string[];
  /** Of one key, or of one address without a key. */
  readonly requestsPerMinute: number;
  /** From one address. */
  readonly loginsPerMinute: number;
  /** With the password of one account, from all addresses that have not logged in to it before. */
  readonly loginFailuresPerMinute: number;
  readonly uploadBytes: number;
  /** Streams and long polls of all clients together, of those of one tenant, and of one. */
  readonly mostStreams: number;
  readonly mostStreamsOfTenant: number;
  readonly mostStreamsEach: number;
  /** A sign of life in a stream for proxies, and the moment to look whether its bearer may still see it. */
  readonly aliveMs: number;
  readonly sessionMs: number;
  /** What a workflow sees of the environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly defaultModel: string | null;
}

export const defaultSettings: ApiSettings = {
  publicUrl: null,
  trustProxy: [],
  corsOrigins: [],
  requestsPerMinute: 6_000,
  loginsPerMinute: 20,
  loginFailuresPerMinute: 10,
  uploadBytes: 64 * 1024 * 1024,
  mostStreams: 1_000,
  mostStreamsOfTenant: 500,
  mostStreamsEach: 100,
  aliveMs: 15_000,
  sessionMs: 12 * 3_600_000,
  environment: {},
  defaultModel: null,
};

/** The queue as the API needs it. It may be away: nothing waits for it, and the supervisor enqueues what was not enqueued. */
export interface Enqueuer {
  enqueue(jobs: readonly JobSpec[]): void;
  /** null: the queue is away. */
  counts(): Promise<Readonly<Record<string, Readonly<Record<string, number>>>> | null>;
  /** Rejects when the queue takes no jobs at this moment, with the reason. */
  probe(): Promise<void>;
}

export interface ApiParts {
  readonly store: Store;
  readonly access: Access;
  readonly enqueuer: Enqueuer;
  readonly catalogue: ModelCatalogue;
  readonly settings: ApiSettings;
  readonly version: string;
  readonly log: FastifyBaseLogger;
  /** Where trouble of the process is told, at its pace. */
  readonly tell: StackLog;
  /** Absent: nobody watches. */
  readonly telemetry?: Telemetry | null;
  /** Every answer is held against its schema; for tests. */
  readonly checkAnswers?: boolean;
}
