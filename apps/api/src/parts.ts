/** The parts that the API needs. serve-api.ts opens them; tests open their own. */

import type { JobSpec } from "@markmill/engine";
import type { ModelCatalogue } from "@markmill/llm";
import type { StackLog } from "@markmill/stack";
import type { Access, Store } from "@markmill/store";
import type { Telemetry } from "@markmill/telemetry";
import type { FastifyBaseLogger } from "fastify";

export interface ApiSettings {
  /** The address for browsers, such as https://mill.example.edu. null: the address of the request. */
  readonly publicUrl: string | null;
  /** Addresses of proxies whose X-Forwarded-For counts. Empty: no proxy is trusted. */
  readonly trustProxy: readonly string[];
  /** Origins of other sites whose pages may call the API with a key. Empty: none. */
  readonly corsOrigins: readonly string[];
  /** The limit per key, or per address without a key. */
  readonly requestsPerMinute: number;
  /** The limit per address. */
  readonly loginsPerMinute: number;
  /** The limit for failed logins to one account with its password, from all addresses that have not logged in to it before. */
  readonly loginFailuresPerMinute: number;
  readonly uploadBytes: number;
  /** Streams and long polls: of all clients together, of one tenant, and of one client. */
  readonly mostStreams: number;
  readonly mostStreamsOfTenant: number;
  readonly mostStreamsEach: number;
  /** The interval at which a stream sends a keep-alive message for proxies, and checks whether its caller may still see it. */
  readonly aliveMs: number;
  readonly sessionMs: number;
  /** The environment that workflows can read. */
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

/** The queue as the API needs it. It may be unreachable: no request waits for it, and the supervisor enqueues missing jobs. */
export interface Enqueuer {
  enqueue(jobs: readonly JobSpec[]): void;
  /** null: the queue is unreachable. */
  counts(): Promise<Readonly<Record<string, Readonly<Record<string, number>>>> | null>;
  /** Rejects if the queue currently accepts no jobs, with the reason. */
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
  /** Logs trouble of the process, with a limit on repetitions. */
  readonly tell: StackLog;
  /** Absent: there is no telemetry. */
  readonly telemetry?: Telemetry | null;
  /** Checks every answer against its schema; for tests. */
  readonly checkAnswers?: boolean;
}
