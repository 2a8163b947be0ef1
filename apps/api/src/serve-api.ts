/** Opens the API's port. It does not close the parts that it receives: the caller opened them and closes them. */
import type { Config } from "@markmill/config";
import type { ModelCatalogue } from "@markmill/llm";
import type { Queues } from "@markmill/queue";
import { markmillVersion, openProcessLog, type StackLog } from "@markmill/stack";
import { defaultTenant, type Store } from "@markmill/store";
import type { Telemetry } from "@markmill/telemetry";
import { type LevelWithSilent, pino } from "pino";
import { createBoard } from "./board/board.ts";
import { createApi } from "./create-api.ts";
import { enqueuerOf } from "./enqueuer.ts";
import { defaultSettings } from "./parts.ts";

export interface Served {
  /** Example: http://127.0.0.1:8085. */
  readonly url: string;
  /** The secret of the first key, set only at the start that creates it. */
  readonly firstKey: string | null;
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly config: Config;
  readonly store: Store;
  readonly queues: Pick<Queues, "enqueue" | "counts" | "probe" | "watch">;
  readonly catalogue: ModelCatalogue;
  readonly logLevel?: LevelWithSilent;
  readonly telemetry?: Telemetry | null;
  /** Logs trouble of the process, with a limit on repetitions. */
  readonly tell: StackLog;
}

const usualPort = 8085;

export async function serveApi(options: ServeOptions): Promise<Served> {
  const { config, store, queues, catalogue } = options;
  const access = store.access;
  const log = await openProcessLog(config, "api", {
    level: options.logLevel ?? config.logLevel,
    to: pino.destination(2),
  });
  const { app, close } = await createApi(
    {
      store,
      access,
      enqueuer: enqueuerOf(queues),
      catalogue,
      version: markmillVersion(),
      log,
      tell: options.tell,
      telemetry: options.telemetry ?? null,
      settings: {
        ...defaultSettings,
        publicUrl: config.api.url,
        trustProxy: config.api.trustProxy,
        corsOrigins: config.api.corsOrigins,
        requestsPerMinute: config.api.requestsPerMinute,
        uploadBytes: config.api.uploadBytes,
        environment: config.workflowEnvironment,
        defaultModel: config.models.defaultModel,
      },
    },
    createBoard({ queues, writes: config.api.boardWrites }),
  );
  const { host, port } = config.api;
  try {
    const url = await app.listen({ host, port: port ?? usualPort }).catch(async (error: NodeJS.ErrnoException) => {
      if (port !== null || error.code !== "EADDRINUSE") throw error;
      return await app.listen({ host, port: 0 });
    });
    const first = await access.createFirstKey(
      { name: "first key", roles: ["owner", "ops"], scopes: null, createdBy: "installation", expiresAt: null },
      defaultTenant,
      { name: "installation", requestId: "", address: "" },
    );
    return { url, firstKey: first?.secret ?? null, close };
  } catch (error) {
    await close();
    throw error;
  }
}
