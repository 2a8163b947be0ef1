/**
 * The tool calls of an activity. Each call is checked, begun as a row, performed, and ended in its row before the result is used
 * (packages/store/src/calls/tool-calls.ts describes kill -9). Calls of one reply are performed together; their ends are in the reply's
 * order.
 *
 * T1  A tool that is not safe to repeat is not aborted once it has begun. Its end is stored, so that a stopped run, or the next worker,
 *     finds it. Only two events end it early: its own time limit and the end of its run (a cancel). After the end of the run the outcome is
 *     no longer needed, and the row shows that the call was begun.
 * T2  Names of a class are removed from arguments before they are sent (for results see I7: they are text, and nothing else).
 */

import { actsInSession, type Failure, type McpServer, type Tool, type ToolCallPlace } from "@markmill/engine";
import type { ToolCall } from "@markmill/llm";
import {
  neutralText,
  type ReturnedCall,
  type ToolCallBegin,
  type ToolCallEnd,
  type ToolCallFailure,
} from "@markmill/store/machine";
import type { ToolBox, ToolResult } from "@markmill/tools";
import { callWorkflow } from "./call-workflow.ts";
import { lengthWithSchema, readForeign } from "./foreign-text.ts";
import { failed, type Performed } from "./performed.ts";
import { whenRunIsOver } from "./run-over.ts";
import type { Scrub } from "./scrub-requests.ts";
import type { SessionTools } from "./session-tools.ts";
import { tellFinding } from "./structured-reply.ts";

export interface ToolPorts {
  readonly box: ToolBox;
  /** The tools of the program, by name. */
  readonly tools: Readonly<Record<string, Tool>>;
  /** MCP servers of the program, by name. */
  readonly servers: Readonly<Record<string, McpServer>>;
  /** The tools that act in the run's sandbox session. */
  readonly session: SessionTools;
  readonly begin: (
    place: ToolCallPlace,
    call: {
      readonly name: string;
      readonly arguments: string;
      readonly safe: boolean;
      readonly again: boolean;
      readonly inSession?: boolean;
    },
  ) => Promise<ToolCallBegin>;
  readonly end: (place: ToolCallPlace, end: ToolCallEnd) => Promise<void>;
  /** The result of the workflow that was called at this place. null: it was not called yet. */
  readonly returned: (place: ToolCallPlace) => Promise<ReturnedCall | null>;
  readonly scrub: Scrub;
}

export type ToolCallOutcome =
  /** note: for people. */
  | { readonly is: "done"; readonly text: string; readonly note?: string }
  | { readonly is: "failed"; readonly failure: ToolCallFailure; readonly safe: boolean }
  /** A workflow call. The engine requests its run. */
  | { readonly is: "called"; readonly variables: Readonly<Record<string, string>> }
  | { readonly is: "unknown" }
  | { readonly is: "overtaken" }
  /** The call has no result, and the activity ends like this. */
  | { readonly is: "ended"; readonly performed: Performed };

export interface AskedTools {
  readonly callIndex: number;
  /** The hash of the request whose reply asks for the calls. Without a model: the hash of the call. */
  readonly requestHash: string;
  readonly calls: readonly Omit<ToolCall, "id">[];
  /** The tools that were offered. */
  readonly offered: readonly string[];
  /** Retry a call that failed in an earlier attempt. */
  readonly again: boolean;
}

/** No reply needs more calls at a time, and a worker holds many replies. */
export const mostCallsAtOnce = 64;

export async function performToolCalls(
  ports: ToolPorts,
  asked: AskedTools,
  signal: AbortSignal,
): Promise<readonly ToolCallOutcome[]> {
  // Wait for all calls: a running call must not be left alone because another one could not begin. Calls in the session run one after the
  // other, in order. If one of them cannot continue, the ones behind it do not begin.
  let turn: Promise<ToolCallOutcome | null> = Promise.resolve(null);
  const settled = await Promise.allSettled(
    asked.calls.map((call, position) => {
      const act = () => performToolCall(ports, asked, call, position, signal);
      const tool = toolOf(ports, asked.offered, call.name);
      if (tool === undefined || !actsInSession(tool, ports.servers)) return act();
      const mine = turn.then((before) => (before === null || isOver(before) ? act() : before));
      turn = mine;
      return mine;
    }),
  );
  return settled.map((one) => {
    if (one.status === "fulfilled") return one.value;
    // The call was given up, which is no defect. The results of the other calls are not used either.
    if (signal.aborted) return { is: "overtaken" };
    throw one.reason;
  });
}

const isOver = ({ is }: ToolCallOutcome) => is === "done" || is === "failed";

function toolOf({ tools }: ToolPorts, offered: readonly string[], name: string): Tool | undefined {
  return offered.includes(name) && Object.hasOwn(tools, name) ? tools[name] : undefined;
}

async function performToolCall(
  ports: ToolPorts,
  { callIndex, requestHash, offered, again }: AskedTools,
  call: Omit<ToolCall, "id">,
  position: number,
  signal: AbortSignal,
): Promise<ToolCallOutcome> {
  const place = { callIndex, requestHash, position };
  const tool = toolOf(ports, offered, call.name);
  // A missing tool does nothing, however often it is called. The run of a workflow is created once, and not here.
  const safe = tool === undefined || tool.kind === "workflow" || tool.repeat === "safe";
  const inSession = tool !== undefined && actsInSession(tool, ports.servers);
  const given = await ports.scrub(neutralText(call.arguments));
  signal.throwIfAborted();
  const begun = await ports.begin(place, {
    name: call.name,
    arguments: given,
    safe: safe || inSession,
    again,
    ...(inSession ? { inSession } : {}),
  });
  switch (begun.is) {
    case "done":
      return { is: "done", text: begun.result, ...(begun.note === undefined ? {} : { note: begun.note }) };
    case "failed":
      return { is: "failed", failure: begun.failure, safe };
    case "unknown":
    case "overtaken":
      return begun;
    case "begun":
      break;
  }
  const since = performance.now();
  const end = await actOn(ports, place, call.name, tool, given, offered, safe ? signal : whenRunIsOver(signal));
  if ("called" in end) return { is: "called", variables: end.called };
  if ("ended" in end) return { is: "ended", performed: end.ended };
  const ms = end.ms ?? performance.now() - since;
  if ("failure" in end) {
    await ports.end(place, { failure: end.failure, ms });
    return { is: "failed", failure: end.failure, safe };
  }
  const { result: text, note } = end;
  const noted = note === undefined ? {} : { note };
  await ports.end(place, { result: text, ms, ...noted });
  return { is: "done", text, ...noted };
}

/** `ms`: set if the call took another time than we measured. note: additional information for people. */
export type End = ({ readonly result: string; readonly note?: string } | { readonly failure: ToolCallFailure }) & {
  readonly ms?: number;
};

async function actOn(
  { box, servers, session, returned }: ToolPorts,
  place: ToolCallPlace,
  name: string,
  tool: Tool | undefined,
  given: string,
  offered: readonly string[],
  signal: AbortSignal,
): Promise<End | { readonly called: Readonly<Record<string, string>> } | { readonly ended: Performed }> {
  if (tool === undefined) {
    const known = offered.length === 0 ? "none" : offered.join(", ");
    const shown = JSON.stringify(neutralText(name).slice(0, 100));
    return { failure: { code: "TOOL_UNKNOWN", message: `There is no tool ${shown}; offered: ${known}.` } };
  }
  // A server's schema may be impossible to check here. Then only the server checks.
  const uncheckable = tool.kind === "mcp" ? "pass" : "refuse";
  const read = await readForeign(
    lengthWithSchema(given, tool.schema),
    "readToolArguments",
    given,
    tool.schema,
    uncheckable,
  );
  if (!read.ok) {
    const wrong = read.findings.slice(0, 5).map(tellFinding);
    return { failure: { code: "TOOL_ARGUMENTS", message: neutralText(wrong.join("; ").slice(0, 1_000)) } };
  }
  const values = read.value as Readonly<Record<string, unknown>>;
  if (tool.kind === "workflow") return callWorkflow(tool, values, await returned(place), box.maxBytes);
  if (actsInSession(tool, servers)) return await session.perform(place, { name, tool, values }, signal);
  return endOf(await box.perform({ name, tool, values, servers, signal }));
}

/** The result of a tool in its stored form. */
export function endOf(result: ToolResult): End {
  if (result.ok) return { result: neutralText(result.text) };
  const { code, message, passing } = result;
  return { failure: { code, message: neutralText(message), ...(passing ? { passing } : {}) } };
}

/** The end of the activity if it cannot continue with these results. null: it can. */
export function endedByTools(
  outcomes: readonly ToolCallOutcome[],
  calls: readonly { readonly name: string }[],
): Performed | null {
  if (outcomes.some(({ is }) => is === "overtaken")) return { did: "leave" };
  const ended = outcomes.find((one) => one.is === "ended");
  if (ended !== undefined) return ended.performed;
  const unknown = outcomes.findIndex(({ is }) => is === "unknown");
  if (unknown === -1) return null;
  const name = calls[unknown]?.name ?? "";
  return failed(
    "OUTCOME_UNKNOWN",
    `The worker crashed during the tool '${name}', and the tool is not marked as safe to repeat.`,
    "fail",
  );
}

export function toldFailure({ code, message }: Failure): string {
  return JSON.stringify({ error: { code, message } });
}

/** A failed tool fails its activity. It is retried first if the failure may pass and the tool is safe to repeat. */
export function failedByTool(
  name: string,
  { failure, safe }: Extract<ToolCallOutcome, { is: "failed" }>,
): Extract<Performed, { did: "fail" }> {
  const next = failure.passing === true && safe ? "retry" : "fail";
  return failed(failure.code, `The tool '${name}': ${failure.message}`, next);
}
