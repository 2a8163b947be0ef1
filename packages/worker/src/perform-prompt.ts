/**
 * Asks the model: the thread's messages so far and the new one, fitted to the model's window, as one memoised paid call (I3).
 *
 * kill -9 at any line: the activity is delivered again and the thread is as it was (messages are written with the outcome), so the
 * same request is made and its hash finds a reply that had arrived.
 */
import type { Work } from "@markmill/engine";
import {
  type CallPorts,
  callModel,
  effectiveSettings,
  findModel,
  fitContext,
  ModelFailure,
  type ModelMessage,
  together,
} from "@markmill/llm";
import { done, failed, type Performed } from "./performed.ts";

export interface PromptPorts extends CallPorts {
  /** The messages of a thread, oldest first. */
  readonly conversation: (thread: string) => Promise<readonly ModelMessage[]>;
  readonly defaultModel: string | null;
  /** No endpoint is left alone for longer, whatever it asks for. */
  readonly pauseMaxMs: number;
}

export async function performPrompt(
  ports: PromptPorts,
  work: Extract<Work, { kind: "prompt" }>,
  activity: { readonly id: number; readonly ref: { readonly attempt: number } },
  signal: AbortSignal,
): Promise<Performed> {
  const { maxPromptCharacters, model: named, stop, cutReplies, ...settings } = work.settings;
  const name = named ?? ports.defaultModel;
  if (name === null) {
    const fix = "Set DEFAULT_MODEL, pass --model, or name a model in the workflow.";
    return failed("MODEL_NOT_CHOSEN", `The workflow names no model and there is no default. ${fix}`, "hold");
  }
  const lookup = findModel(ports.catalogue, name);
  if (!lookup.ok) return failed(lookup.code, lookup.message, "hold");
  const model = lookup.model.name;
  const chosen = { ...settings, ...(stop === undefined ? {} : { stop: [...stop] }) };
  const { maxOutputTokens } = effectiveSettings(lookup.model, chosen).settings;

  const messages = [...(await ports.conversation(work.thread)), { role: "user" as const, content: work.text }];
  const fitted = fitContext(messages, {
    contextTokens: lookup.model.contextTokens,
    maxOutputTokens: maxOutputTokens ?? lookup.model.maxOutputTokens,
    ...(maxPromptCharacters === undefined ? {} : { maxPromptCharacters }),
  });
  if (fitted.kind === "too-long") return failed(fitted.code, fitted.message, "fail");

  const ask = (conversation: readonly ModelMessage[], callIndex: number) =>
    callModel(ports, {
      activityId: String(activity.id),
      attempt: activity.ref.attempt,
      callIndex,
      request: {
        model: name,
        messages: conversation,
        settings: chosen,
        ...(work.schema === null ? {} : { schema: { name: "reply", schema: work.schema as Record<string, unknown> } }),
      },
      signal,
    });
  let called = await ask(fitted.messages, 0);
  let usage = called.booked;
  if (called.kind === "replied" && called.structured?.ok === false) {
    // Asked once more, with what was wrong; the first reply stays paid for and remembered.
    const wish = `That reply does not fit the schema: ${called.structured.findings.map(({ message }) => message).join("; ")}. Reply again.`;
    called = await ask(
      [...fitted.messages, { role: "assistant", content: called.reply.text }, { role: "user", content: wish }],
      called.callIndex + 1,
    );
    usage = together(usage, called.booked);
  }
  switch (called.kind) {
    case "limited":
      return failed(called.code, called.message, "fail", { usage });
    case "failed": {
      const { failure } = called;
      if (signal.aborted && failure.code === "MODEL_ABORTED") return { did: "leave" };
      return fail(failure);
    }
    case "replied": {
      const { reply } = called;
      if (called.structured?.ok === false) return fail(new ModelFailure("MODEL_REPLY_OFF_SCHEMA", ""));
      const cut = reply.finishReason === "length";
      if (cut && cutReplies === "fail") {
        return fail(new ModelFailure("MODEL_REPLY_CUT", `It has ${reply.usage.completionTokens} tokens.`));
      }
      const notes = notesOf(fitted.cut, reply.finishReason);
      return done({ kind: "replied", text: reply.text, notes, ...(cut ? { cut: "length" } : {}) }, usage);
    }
  }

  function fail({ code, message, next, reason, retryAfterMs }: ModelFailure): Performed {
    const wish = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, ports.pauseMaxMs);
    const trouble = { model, endpoint: ports.client.endpoint, reason };
    return failed(code, message, next, {
      retryAfterMs: wish,
      usage,
      ...(next === "park" || next === "hold" ? { trouble } : {}),
    });
  }
}

/** What a person must know to trust the reply. */
function notesOf(cut: { droppedMessages: number; droppedCharacters: number }, finishReason: string): string[] {
  const notes: string[] = [];
  if (cut.droppedMessages > 0) notes.push(`The ${cut.droppedMessages} oldest messages did not fit the model's window.`);
  if (cut.droppedCharacters > 0) notes.push(`${cut.droppedCharacters} characters were left out of the request.`);
  if (finishReason === "length") notes.push("The reply ended at the limit of output tokens.");
  return notes;
}
