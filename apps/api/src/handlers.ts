import type { Streams } from "./count-streams.ts";
import type { Handlers } from "./handler.ts";
import { accessHandlers } from "./handlers/access.ts";
import { askAndFileHandlers } from "./handlers/asks-and-files.ts";
import { definitionHandlers } from "./handlers/definitions.ts";
import { eventHandlers } from "./handlers/events.ts";
import { operationHandlers } from "./handlers/operation.ts";
import { runHandlers } from "./handlers/runs.ts";
import { keepSubmissions } from "./known-submissions.ts";
import type { Meter } from "./metrics.ts";
import type { ApiParts } from "./parts.ts";

export function makeHandlers(parts: ApiParts, watched: { readonly streams: Streams; readonly meter: Meter }): Handlers {
  const submissions = keepSubmissions();
  return {
    ...definitionHandlers(parts),
    ...runHandlers(parts, submissions),
    ...eventHandlers(parts),
    ...askAndFileHandlers(parts, submissions),
    ...operationHandlers(parts, watched),
    ...accessHandlers(parts),
  } satisfies Handlers;
}
