/**
 * Reads the text/event-stream format of the HTML standard. An event is returned after its blank line has arrived, never in part. A broken
 * connection throws the error for an unreachable server.
 */
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
  let text = "";
  let fields = { event: "message", data: [] as string[], id: "" };
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw unreachable(error);
      });
      if (done) return;
      alive();
      text += decoder.decode(value, { stream: true });
      if (text.length > mostCharacters) throw new Error("An event of the stream is too long.");
      // A CR at the end may be half of a CRLF.
      const lines = text.split(/\r\n|\n|\r(?!$)/);
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (fields.data.length > 0) yield { event: fields.event, data: fields.data.join("\n"), id: fields.id };
          fields = { event: "message", data: [], id: fields.id };
          continue;
        }
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const given = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "data") fields.data.push(given);
        else if (name === "event") fields.event = given;
        else if (name === "id") fields.id = given;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
