// Reads the tool calls of a reply, whole or in the pieces of a stream. A call that violates the protocol is still a call: its readable
// parts are kept, so that the code that performs it can report the problem. Arguments stay text here and are not parsed.
import { isRecord } from "@markmill/base/json";
import type { ToolCall } from "./model-request.ts";

/** The fields of a message, or of a piece of one, that may contain calls. `function_call` is the protocol's first form. */
interface Holder {
  readonly tool_calls?: unknown;
  readonly function_call?: unknown;
}

interface Piece {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export function readToolCalls(message: Holder): readonly ToolCall[] {
  const pieces = new ToolCallPieces();
  pieces.add(message);
  return pieces.whole();
}

/** Collects calls whose parts arrive one after the other. Their index identifies them. */
export class ToolCallPieces {
  readonly #calls = new Map<number, { id: string; name: string; arguments: string[] }>();

  /** Returns the number of bytes in this piece. */
  add(message: Holder): number {
    let bytes = 0;
    for (const piece of piecesIn(message)) {
      const known = this.#calls.get(piece.index);
      const call = known ?? { id: "", name: "", arguments: [] };
      if (known === undefined) this.#calls.set(piece.index, call);
      call.id ||= piece.id;
      call.name ||= piece.name;
      call.arguments.push(piece.arguments);
      bytes += Buffer.byteLength(piece.id) + Buffer.byteLength(piece.name) + Buffer.byteLength(piece.arguments) + 1;
    }
    return bytes;
  }

  /** The calls in the order of their index. Each has its own id, because results name the call they belong to. */
  whole(): readonly ToolCall[] {
    const ordered = [...this.#calls].toSorted(([a], [b]) => a - b).map(([, call]) => call);
    const taken = new Set<string>();
    // Numbers tried before are taken. The search continues after them, so that all calls together try each number once.
    let tried = 0;
    return ordered.map(({ id, name, arguments: given }, position) => {
      let own = id;
      if (own === "" || taken.has(own)) {
        tried = Math.max(tried, position);
        do own = `call_${++tried}`;
        while (taken.has(own));
      }
      taken.add(own);
      return { id: own, name, arguments: given.join("") };
    });
  }
}

function piecesIn({ tool_calls, function_call }: Holder): Piece[] {
  const old = isRecord(function_call) ? [{ function: function_call }] : [];
  const listed: readonly unknown[] = Array.isArray(tool_calls) && tool_calls.length > 0 ? tool_calls : old;
  return listed.filter(isRecord).map((call, position) => {
    const called = isRecord(call.function) ? call.function : {};
    const index = typeof call.index === "number" && Number.isInteger(call.index) ? call.index : position;
    return { index, id: textOf(call.id), name: textOf(called.name), arguments: argumentsOf(called.arguments) };
  });
}

/** Some endpoints send the object itself instead of its text. */
function argumentsOf(given: unknown): string {
  return isRecord(given) ? JSON.stringify(given) : textOf(given);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
