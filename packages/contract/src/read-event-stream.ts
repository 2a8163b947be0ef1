/**
 * Reads the text/event-stream format of the HTML standard. An event is returned after its blank line has arrived, never in part. A broken
 * connection throws the error for an unreachable server.
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { unreachable } from "./reach.ts";

export interface StreamedEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

const mostCharacters = 64 * 1024 * 1024;

/** `alive` is called for all received data, including comments. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  alive: () => void = () => undefined,
): AsyncGenerator<StreamedEvent, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let came: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: mostCharacters,
    onEvent: (event) => came.push(event),
    onError(error) {
      // Fields that the standard does not know are passed over.
      if (error.type === "max-buffer-size-exceeded") throw new Error("An event of the stream is too long.");
    },
  });
  let lastId = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw unreachable(error);
      });
      if (done) return;
      alive();
      parser.feed(decoder.decode(value, { stream: true }));
      const events = came;
      came = [];
      for (const { event = "message", data, id = lastId } of events) {
        lastId = id;
        yield { event, data, id };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
