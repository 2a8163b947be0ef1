/**
 * Asks the model: the thread's messages so far and the new one, fitted to the model's window, as one memoised paid call (I3).
 *
 * kill -9 at any line: the activity is delivered again and the thread is as it was (messages are written with the outcome), so the
 * same request is made and its hash finds a reply that had arrived.
 */
import type { Usage, Work } from "@markmill/engine";
import {
  type CallOutcome,
  type CallPorts,
  callModel,
  effectiveSettings,
  findModel,
  fitContext,
  type ModelMessage,
} from "@markmill/llm";
import { done, failed, type Performed } from "./performed.ts";

export interface PromptPorts extends CallPorts {
  /** The messages of a thread, oldest first. */
  readonly conversation: (thread: string) => Promise<readonly ModelMessage[]>;
  readonly defaultModel: string | null;
  /** The endpoint said when to come back: no worker asks this model before. */
  readonly pause: (model: string, ms: number) => Promise<void>;
}

export async function performPrompt(
  ports: PromptPorts,
  work: Extract<Work, { kind: "prompt" }>,
  activity: { readonly id: number },
  signal: AbortSignal,
): Promise<Performed> {
  const { maxPromptCharacters, model: named, stop, ...settings } = work.settings;
  const name = named ?? ports.defaultModel;
  if (name === null) {
    const fix = "Set DEFAULT_MODEL, pass --model, or name a model in the workflow's front matter.";
    return failed("MODEL_NOT_CHOSEN", `The workflow names no model and there is no default. ${fix}`, "fail");
  }
  const lookup = findModel(ports.catalogue, name);
  if (!lookup.ok) return failed(lookup.code, lookup.message, "fail");
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
  let usage = usageOf(called);
  if (called.kind === "replied" && called.structured?.ok === false) {
    // Asked once more, with what was wrong; the first reply stays paid for and remembered.
    const wish = `That reply does not fit the schema: ${called.structured.findings.map(({ message }) => message).join("; ")}. Reply again.`;
    called = await ask(
      [...fitted.messages, { role: "assistant", content: called.reply.text }, { role: "user", content: wish }],
      1,
    );
    usage = sum(usage, usageOf(called));
  }
  switch (called.kind) {
    case "limited":
      return failed(called.code, called.message, "fail", { usage });
    case "failed": {
      const { code, message, retryable, retryAfterMs } = called.failure;
      if (signal.aborted && code === "MODEL_ABORTED") return { did: "leave" };
      if (code === "MODEL_RATE_LIMITED" && retryAfterMs !== undefined)
        await ports.pause(lookup.model.name, retryAfterMs);
      return failed(code, message, retryable ? "park" : "fail", {
        retryAfterMs,
        usage,
        trouble: { model: lookup.model.name, endpoint: "", reason: message },
      });
    }
    case "replied":
      if (called.structured?.ok === false) {
        return failed(
          "MODEL_REPLY_MALFORMED",
          "The reply does not fit the schema, also after it was asked again.",
          "fail",
          { usage },
        );
      }
      return done(
        { kind: "replied", text: called.reply.text, notes: notesOf(fitted.cut, called.reply.finishReason) },
        usage,
      );
  }
}

function usageOf(called: CallOutcome): Usage | null {
  if (called.kind !== "replied") return null;
  const { promptTokens, completionTokens, nanodollars, characters } = called.reply.usage;
  return { calls: 1, promptTokens, completionTokens, nanodollars, characters };
}

function sum(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return one ?? other;
  return {
    calls: one.calls + other.calls,
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    nanodollars: one.nanodollars + other.nanodollars,
    characters: one.characters + other.characters,
  };
}

/** What a person must know to trust the reply. */
function notesOf(cut: { droppedMessages: number; droppedCharacters: number }, finishReason: string): string[] {
  const notes: string[] = [];
  if (cut.droppedMessages > 0) notes.push(`The ${cut.droppedMessages} oldest messages did not fit the model's window.`);
  if (cut.droppedCharacters > 0) notes.push(`${cut.droppedCharacters} characters were left out of the request.`);
  if (finishReason === "length") notes.push("The reply ended at the limit of output tokens.");
  return notes;
}
