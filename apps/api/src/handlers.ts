import type { Streams } from "./count-streams.ts";
import type { DefinitionLoader } from "./definition-loader.ts";
import type { Handlers } from "./handler.ts";
import { accessHandlers } from "./handlers/access.ts";
import { askAndFileHandlers } from "./handlers/asks-and-files.ts";
import { batchStreamHandlers } from "./handlers/batch-stream.ts";
import { batchHandlers } from "./handlers/batches.ts";
import { definitionHandlers } from "./handlers/definitions.ts";
import { eventHandlers } from "./handlers/events.ts";
import { memoryHandlers } from "./handlers/memory.ts";
import { operationHandlers } from "./handlers/operation.ts";
import { runHandlers } from "./handlers/runs.ts";
import { webhookHandlers } from "./handlers/webhooks.ts";
import { keepSubmissions } from "./known-submissions.ts";
import type { Meter } from "./metrics.ts";
import type { ApiParts } from "./parts.ts";

interface Beside {
  readonly streams: Streams;
  readonly meter: Meter;
  readonly loader: DefinitionLoader;
  /** Aborts when the server accepts no new requests. */
  readonly closing: AbortSignal;
}

export function makeHandlers(parts: ApiParts, watched: Beside): Handlers {
  const submissions = keepSubmissions();
  return {
    ...definitionHandlers(parts, watched.loader),
    ...runHandlers(parts, submissions),
    ...batchHandlers(parts),
    ...batchStreamHandlers(parts),
    ...eventHandlers(parts),
    ...askAndFileHandlers(parts, submissions),
    ...memoryHandlers(),
    ...operationHandlers(parts, watched),
    ...webhookHandlers(),
    ...accessHandlers(parts),
  } satisfies Handlers;
}
