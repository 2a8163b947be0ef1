/**
 * Asks the model. The request has the messages of the thread and the new one, fitted to the model's window, and is one memoised paid call
 * (I3). If the model may ask for tools, their results are sent back, round by round. Each round is a call with an index of its own, and
 * each tool call is a row. Messages between model and tools stay in the activity; the thread gets only the answer.
 *
 * kill -9 at any line: the activity is delivered again. The thread is unchanged, because messages are written with the outcome. So the
 * request is the same, and its hash finds a stored reply. Ended tool calls are found in their rows, so the next round's request is also the
 * same. The same holds for the listings of MCP servers (list-mcp-tools.ts). If a reply calls workflows, the activity ends with the calls
 * and is performed again when they have returned (call-workflow.ts), just as after a kill.
 */
import { schemaProblem, type Usage, type Work } from "@markmill/engine";
import {
  callModel,
  contextExcess,
  effectiveSettings,
  fitContext,
  likelyToolTokens,
  ModelFailure,
  type ModelMessage,
  type ModelReply,
  parseJson,
  type ToolCall,
  type ToolOffer,
  together,
} from "@markmill/llm";
import { calledWorkflows } from "./call-workflow.ts";
import { chooseModel, consentRefusal, type ModelPorts, modelFailed } from "./choose-model.ts";
import { lengthWithSchema, readForeign } from "./foreign-text.ts";
import { listMcpTools } from "./list-mcp-tools.ts";
import {
  endedByTools,
  failedByTool,
  mostCallsAtOnce,
  performToolCalls,
  type ToolPorts,
  toldFailure,
} from "./perform-tools.ts";
import { done, failed, type Performed } from "./performed.ts";
import { scrubMessage, scrubMessages } from "./scrub-requests.ts";
import { tellFinding } from "./structured-reply.ts";

export interface PromptPorts extends ModelPorts {
  /** The messages of a thread, oldest first. */
  readonly conversation: (thread: string) => Promise<readonly ModelMessage[]>;
  readonly tools: ToolPorts;
}

/** Limit for the description of a wrong reply: a model may write names of any length. */
const mostWrongCharacters = 2_000;

type PromptWork = Extract<Work, { kind: "prompt" }>;

export async function performPrompt(
  ports: PromptPorts,
  work: PromptWork,
  activity: { readonly id: number; readonly ref: { readonly attempt: number } },
  signal: AbortSignal,
): Promise<Performed> {
  const { maxPromptCharacters, model: named, stop, cutReplies, ...settings } = work.settings;
  const chosenModel = chooseModel(ports, named);
  if ("did" in chosenModel) return chosenModel;
  const { name, model } = chosenModel;
  const refusal = consentRefusal(ports.consent, model);
  if (refusal !== null) return failed("CONSENT_MISSING", refusal, "fail");
  const unusable = work.schema === null ? null : schemaProblem(work.schema);
  if (unusable !== null) {
    return modelFailed(ports, model.name, new ModelFailure("MODEL_SCHEMA_UNUSABLE", tellFinding(unusable)), null);
  }
  const listed = await listMcpTools(ports.tools, work.tools, signal);
  if (listed.is === "ended") return listed.performed;
  const { ports: tools } = listed;
  const offers = offersOf(work.tools, tools);
  if ("did" in offers) return offers;
  const offered = offers.map((offer) => offer.name);
  const chosen = { ...settings, ...(stop === undefined ? {} : { stop: [...stop] }) };
  const { maxOutputTokens } = effectiveSettings(model, chosen).settings;
  const room = { contextTokens: model.contextTokens, maxOutputTokens: maxOutputTokens ?? model.maxOutputTokens };

  const opening = (work.opening ?? []).map(({ role, text }) => ({ role, content: text }));
  const asked = opening.length > 0 && work.text === "" ? [] : [{ role: "user" as const, content: work.text }];
  const said = [...(await ports.conversation(work.thread)), ...opening, ...asked];
  const messages = await scrubMessages(said, ports.scrub);
  const fitted = fitContext(messages, {
    ...room,
    contextTokens: room.contextTokens - likelyToolTokens(offers),
    ...(maxPromptCharacters === undefined ? {} : { maxPromptCharacters }),
  });
  if (fitted.kind === "too-long") return failed(fitted.code, fitted.message, "fail");

  let usage: Usage | null = null;
  const ask = async (conversation: readonly ModelMessage[], callIndex: number, toolChoice?: "none") => {
    const called = await callModel(ports, {
      activityId: String(activity.id),
      attempt: activity.ref.attempt,
      callIndex,
      request: {
        model: name,
        messages: conversation,
        settings: chosen,
        ...(work.schema === null ? {} : { schema: { name: "reply", schema: work.schema as Record<string, unknown> } }),
        ...(offers.length === 0 ? {} : { tools: offers, ...(toolChoice === undefined ? {} : { toolChoice }) }),
      },
      signal,
    });
    usage = together(usage, called.booked);
    return called;
  };
  const withUsage = (performed: Performed): Performed => ("usage" in performed ? { ...performed, usage } : performed);

  const notes: string[] = [];
  let conversation = fitted.messages;
  let called = await ask(conversation, 0);
  if (offers.length > 0) {
    const use = work.toolUse ?? "feed";
    for (let round = 0; called.kind === "replied"; round += 1) {
      const { reply, callIndex, requestHash } = called;
      const calls = reply.toolCalls ?? [];
      if (use !== "feed") {
        return withUsage(await answerWithCalls(tools, { use, calls, callIndex, requestHash, offered }, signal));
      }
      if (calls.length === 0) break;
      if (round >= work.rounds) {
        const told = `The model still requests ${calls[0]?.name ?? "tools"} after ${work.rounds} rounds.`;
        return withUsage(failed("TOOL_ROUNDS_EXHAUSTED", told, "fail"));
      }
      if (calls.length > mostCallsAtOnce) return withUsage(tooMany(calls.length));
      const asked = { callIndex, requestHash, calls, offered, again: false };
      const outcomes = await performToolCalls(tools, asked, signal);
      const ended = endedByTools(outcomes, calls);
      if (ended !== null) return withUsage(ended);
      if (signal.aborted) return { did: "leave" };
      const below = calledWorkflows(outcomes, asked);
      if (below !== null) return withUsage(below);
      const results: ModelMessage[] = [];
      for (const [position, { id, name: tool }] of calls.entries()) {
        const outcome = outcomes[position];
        if (outcome?.is === "done") {
          if (outcome.note !== undefined) notes.push(outcome.note);
          results.push({ role: "tool", callId: id, content: await ports.scrub(outcome.text) });
          continue;
        }
        const failure = outcome?.is === "failed" ? outcome.failure : { code: "TOOL_FAILED", message: "" };
        notes.push(`The tool '${tool.slice(0, 64)}' failed: ${failure.code}: ${failure.message.slice(0, 200)}`);
        results.push({ role: "tool", callId: id, content: await ports.scrub(toldFailure(failure)) });
      }
      const asking: ModelMessage = { role: "assistant", content: reply.text, toolCalls: calls };
      conversation = [...conversation, await scrubMessage(asking, ports.scrub), ...results];
      const excess = contextExcess(conversation, offers, room);
      if (excess !== null) return withUsage(failed("MODEL_CONTEXT_EXCEEDED", excess, "fail"));
      called = await ask(conversation, callIndex + 1, round + 1 >= work.rounds ? "none" : undefined);
    }
  }
  /** null: no schema, or a reply that asks for tools, which is not the answer yet. */
  const readReply = async ({ text, toolCalls = [] }: ModelReply) =>
    work.schema === null || (offers.length > 0 && toolCalls.length > 0)
      ? null
      : await readForeign(lengthWithSchema(text, work.schema), "readStructuredText", text, work.schema);
  const first = called.kind === "replied" ? await readReply(called.reply) : null;
  if (called.kind === "replied" && first?.ok === false) {
    // Ask once more, with the findings. The first reply stays paid and remembered.
    const wrong = first.findings.map(tellFinding).join("; ").slice(0, mostWrongCharacters);
    const wish = `That reply does not fit the schema: ${await ports.scrub(wrong)}. Reply again, with the JSON alone.`;
    called = await ask(
      [...conversation, { role: "assistant", content: called.reply.text }, { role: "user", content: wish }],
      called.callIndex + 1,
      offers.length === 0 ? undefined : "none",
    );
  }
  switch (called.kind) {
    case "limited":
      return failed(called.code, called.message, "fail", { usage });
    case "failed": {
      const { failure } = called;
      if (signal.aborted && failure.code === "MODEL_ABORTED") return { did: "leave" };
      return modelFailed(ports, model.name, failure, usage);
    }
    case "replied": {
      const { reply } = called;
      const read = await readReply(reply);
      // A reply that asks for tools here is not an answer either.
      if (work.schema !== null && read?.ok !== true) {
        const why = read?.ok === false ? read.findings.map(tellFinding).join("; ") : "It asks for tools.";
        const off = new ModelFailure("MODEL_REPLY_OFF_SCHEMA", why.slice(0, mostWrongCharacters));
        return modelFailed(ports, model.name, off, usage);
      }
      const cut = reply.finishReason === "length";
      if (cut && cutReplies === "fail") {
        const cutAt = new ModelFailure("MODEL_REPLY_CUT", `It has ${reply.usage.completionTokens} tokens.`);
        return modelFailed(ports, model.name, cutAt, usage);
      }
      notes.push(...notesOf(fitted.cut, reply.finishReason));
      const bare = read?.ok === true ? read.text : reply.text;
      return done({ kind: "replied", text: bare, notes, ...(cut ? { cut: "length" } : {}) }, usage);
    }
  }
}

/** Describes the tools for a model. A name that the program does not have is a defect of its definition. */
function offersOf(
  names: readonly string[],
  { tools, box }: ToolPorts,
): readonly ToolOffer[] | Extract<Performed, { did: "fail" }> {
  const offers: ToolOffer[] = [];
  for (const name of names) {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool === undefined) return failed("TOOL_UNKNOWN", `The workflow has no tool '${name}'.`, "fail");
    const { description, schema } = tool;
    if (tool.kind === "builtin" && tool.optional === true && !box.has(tool)) continue;
    offers.push({ name, description, schema: schema as Readonly<Record<string, unknown>> });
  }
  if (names.length > 0 && offers.length === 0) {
    return failed("TOOL_NOT_CONFIGURED", `None of the tools is configured here: ${names.join(", ")}.`, "fail");
  }
  return offers;
}

/** The answer is the calls themselves, or their results. */
async function answerWithCalls(
  tools: ToolPorts,
  asked: {
    readonly use: "outputs" | "raw";
    readonly calls: readonly ToolCall[];
    readonly callIndex: number;
    readonly requestHash: string;
    readonly offered: readonly string[];
  },
  signal: AbortSignal,
): Promise<Performed> {
  const { use, calls, offered } = asked;
  if (calls.length === 0)
    return failed("TOOL_NOT_CALLED", "The model had to request a tool, but requested none.", "fail");
  if (calls.length > mostCallsAtOnce) return tooMany(calls.length);
  if (use === "raw") {
    const invented = calls.find(({ name }) => !offered.includes(name));
    if (invented !== undefined) {
      const shown = JSON.stringify(invented.name.slice(0, 100));
      return failed("TOOL_UNKNOWN", `There is no tool ${shown}; offered: ${offered.join(", ")}.`, "fail");
    }
    const written = calls.map(({ name, arguments: given }) => ({ name, arguments: jsonOrText(given) }));
    return done({ kind: "replied", text: JSON.stringify(written.length === 1 ? written[0] : written) });
  }
  const outcomes = await performToolCalls(tools, { ...asked, again: true }, signal);
  const ended = endedByTools(outcomes, calls);
  if (ended !== null) return ended;
  const texts: string[] = [];
  const notes: string[] = [];
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.is === "failed") return failedByTool(calls[position]?.name ?? "", outcome);
    if (outcome.is !== "done") continue;
    texts.push(outcome.text);
    if (outcome.note !== undefined) notes.push(outcome.note);
  }
  const noted = notes.length === 0 ? {} : { notes };
  return calledWorkflows(outcomes, asked) ?? done({ kind: "replied", text: texts.join("\n"), ...noted });
}

function tooMany(count: number): Extract<Performed, { did: "fail" }> {
  return failed(
    "TOOL_CALLS_TOO_MANY",
    `The reply requests ${count} tools, but at most ${mostCallsAtOnce} are called.`,
    "fail",
  );
}

function jsonOrText(text: string): unknown {
  const read = parseJson(text === "" ? "{}" : text);
  return "value" in read ? read.value : text;
}

/** What a person must know to trust the reply. */
function notesOf(cut: { droppedMessages: number; droppedCharacters: number }, finishReason: string): string[] {
  const notes: string[] = [];
  if (cut.droppedMessages > 0) notes.push(`The ${cut.droppedMessages} oldest messages did not fit the model's window.`);
  if (cut.droppedCharacters > 0) notes.push(`${cut.droppedCharacters} characters were removed from the request.`);
  if (finishReason === "length") notes.push("The reply ended at the limit of output tokens.");
  return notes;
}
