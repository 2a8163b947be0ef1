/** Makes a reply fail as the script demands (scripted-server.ts): by status, malformed, cut, without content, hanging, huge. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./script.ts";
import { beginStream, chunkOf, completionOf, type Exchange, sendEvent } from "./scripted-exchange.ts";
import { send, sendError, sendJson, write } from "./scripted-http.ts";

const PIECE = 64 * 1024;

/** An endpoint that refuses, or that never received the request, bills nothing. After all other faults the reply was generated. */
export function isBilled(fault: Fault | undefined): boolean {
  return fault?.kind !== "status" && fault?.kind !== "html";
}

export function nameOfFault(fault: Fault): string {
  if (fault.kind !== "status") return fault.kind;
  return fault.code === undefined ? String(fault.status) : `${fault.status} ${fault.code}`;
}

export async function sendFault(exchange: Exchange, fault: Fault): Promise<void> {
  const { response, chat, text } = exchange;
  switch (fault.kind) {
    case "status": {
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      if (fault.retryAfterMs !== undefined) response.setHeader("retry-after-ms", fault.retryAfterMs);
      if (fault.retryAfterDate !== undefined) {
        response.setHeader("retry-after", new Date(Date.now() + fault.retryAfterDate * 1000).toUTCString());
      }
      const code = fault.code ?? (fault.status === 429 ? "rate_limit_exceeded" : "scripted_fault");
      return sendError(
        response,
        fault.status,
        code,
        fault.message ?? `The script answers with status ${fault.status}.`,
      );
    }
    case "malformed": {
      if (!chat.stream) return send(response, 200, "application/json", '{"id":"chatcmpl-scripted","choices":[{"mess');
      beginStream(exchange);
      await sendEvent(response, '{"id":"chatcmpl-scripted","choices":[{"del');
      response.end();
      return;
    }
    case "html":
      return send(
        response,
        200,
        "text/html; charset=utf-8",
        "<!doctype html><html><body><h1>Sign in</h1></body></html>",
      );
    case "empty": {
      if (!chat.stream) return sendJson(response, 200, { ...completionOf(exchange), choices: [] });
      beginStream(exchange);
      await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [] });
      await sendEvent(response, "[DONE]");
      response.end();
      return;
    }
    case "hang":
      // Until the client gives up or the server closes.
      if (!response.destroyed) await once(response, "close");
      return;
    case "reset":
      response.destroy();
      return;
    case "reset-after-headers":
      response.writeHead(200, { "content-type": chat.stream ? "text/event-stream" : "application/json" });
      response.flushHeaders();
      await sleep(20);
      response.destroy();
      return;
    case "null":
    case "blank":
    case "tool-calls":
    case "reasoning": {
      const { message, finish } = hollowMessage(fault.kind);
      if (!chat.stream) {
        return sendJson(response, 200, {
          ...completionOf(exchange),
          choices: [{ index: 0, message, finish_reason: finish }],
        });
      }
      beginStream(exchange);
      await sendEvent(response, chunkOf(exchange, message, null));
      await sendEvent(response, chunkOf(exchange, {}, finish));
      await sendEvent(response, { ...chunkOf(exchange, {}, null), choices: [], usage: exchange.usage });
      await sendEvent(response, "[DONE]");
      response.end();
      return;
    }
    case "cut":
      return await sendCut(exchange, text.slice(0, fault.characters));
    case "huge":
      return await sendHuge(exchange, fault.characters);
  }
}

async function sendCut(exchange: Exchange, head: string): Promise<void> {
  const { response, chat } = exchange;
  if (chat.stream) {
    beginStream(exchange);
    await sendEvent(response, chunkOf(exchange, { role: "assistant", content: head }, null));
  } else {
    const body = JSON.stringify(completionOf(exchange));
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    await write(response, body.slice(0, body.indexOf('"content":"') + '"content":"'.length) + head);
  }
  // The written bytes must leave before the connection closes, or the client sees a reset instead of a cut.
  await sleep(20);
  response.destroy();
}

async function sendHuge(exchange: Exchange, characters: number): Promise<void> {
  const { response, chat } = exchange;
  const pieces = function* () {
    for (let left = characters; left > 0; left -= PIECE) yield "x".repeat(Math.min(left, PIECE));
  };
  if (chat.stream) {
    beginStream(exchange);
    for (const piece of pieces()) await sendEvent(response, chunkOf(exchange, { content: piece }, null));
    await sendEvent(response, chunkOf(exchange, {}, "stop"));
    await sendEvent(response, "[DONE]");
  } else {
    const [before = "", after = ""] = JSON.stringify(completionOf({ ...exchange, text: "\u0001" })).split("\\u0001");
    response.writeHead(200, { "content-type": "application/json" });
    await write(response, before);
    for (const piece of pieces()) await write(response, piece);
    await write(response, after);
  }
  response.end();
}

const unaskedTool = { index: 0, id: "call_1", type: "function", function: { name: "look_up", arguments: "{}" } };

/** The message, or its parts, of a choice without readable content. */
function hollowMessage(kind: "null" | "blank" | "tool-calls" | "reasoning"): { message: object; finish: string } {
  switch (kind) {
    case "null":
      return { message: { role: "assistant", content: null }, finish: "stop" };
    case "blank":
      return { message: { role: "assistant", content: " \n\t\u00a0" }, finish: "stop" };
    case "tool-calls":
      return { message: { role: "assistant", content: null, tool_calls: [unaskedTool] }, finish: "tool_calls" };
    case "reasoning":
      return {
        message: { role: "assistant", content: "<think>Let me see.</think>", reasoning_content: "I look." },
        finish: "stop",
      };
  }
}
