/** system: begins a new conversation for the agent that it names. assistant: adds a message in the agent's name. user: calls the model. */
import type { Work } from "../activity.ts";
import { allow } from "../bounds.ts";
import type { Message } from "../command.ts";
import type { Aside } from "../event.ts";
import { asideOf } from "../limits.ts";
import { own } from "../own-value.ts";
import type { ModelSettings, PromptNode, Role } from "../program.ts";
import { resolve } from "../resolve.ts";
import { settingsFor } from "../settings.ts";
import { usualRounds } from "../tool.ts";
import { type Begin, type NodeRule, nextThread, scopeOf, type Turn, tellUnknown, type Visit } from "../turn.ts";
import { filesOf } from "./authored-value.ts";
import { unfit } from "./passed.ts";

export const prompt: NodeRule<PromptNode> = {
  begin(turn, node, visit) {
    const said = resolve(node.text, scopeOf(turn, visit.reads));
    tellUnknown(turn, said.unknown, visit.id);
    if (said.lists !== null) turn.state = { ...turn.state, lists: said.lists };
    const read = node.text.from === "file" && said.text === null ? node.text.path : null;
    const text = said.text ?? "";
    const role = node.role ?? said.role ?? "user";
    if (role !== "user") {
      const agent = role === "system" ? (node.agent ?? agentNamedBy(node)) : (node.agent ?? turn.state.agent);
      const thread = role === "system" ? nextThread(turn, agent) : threadOf(turn, node, agent);
      return { do: "work", work: { kind: "note", thread, role, text, read }, said: { thread, text, role, agent } };
    }
    const agent = node.agent ?? turn.state.agent;
    const thread = threadOf(turn, node, agent);
    const work = promptWork(turn, { thread, text, read, agent, settings: node.settings ?? {} });
    const opening = openingOf(turn, node, visit);
    return {
      do: "work",
      work: {
        ...work,
        ...(opening.length === 0 ? {} : { opening }),
        schema: node.schema ?? null,
        tools: node.tools ?? [],
        rounds: node.rounds ?? ((node.tools?.length ?? 0) > 0 ? usualRounds : 1),
        ...(node.toolUse === undefined ? {} : { toolUse: node.toolUse }),
      },
      said: { thread, text: null, role, agent },
    };
  },

  finish(turn, node, active, outcome) {
    const { said } = active;
    if (said === null) return unfit;
    const asks = said.role === "user";
    if (asks !== (outcome.kind === "replied")) return unfit;
    const reply = outcome.kind === "replied" ? outcome.text : null;
    const text = outcome.kind === "replied" ? (outcome.said ?? null) : noted(node, said.text, filesOf(outcome));
    const before = asks ? openingOf(turn, node, { ...active, id: active.ref.node }) : [];
    const silent = before.length > 0 && resolve(node.text, scopeOf(turn, active.reads)).text === "";
    const spoken: readonly Message[] = silent ? before : [...before, { role: said.role, text }];
    return {
      go: "on",
      on: "ok",
      writes: [
        ...(node.fresh
          ? []
          : [{ to: "agent", agent: said.agent, thread: said.thread, current: said.role === "system" } as const]),
        { to: "thread", said, messages: reply === null ? spoken : [...spoken, { role: "assistant", text: reply }] },
        { to: "variable", name: "RESULT", text: reply ?? (said.role === "assistant" ? (text ?? "") : "") },
      ],
    };
  },
};

/** Gives the same messages when the node begins and when it ends, because it uses only the author's text and the node's own reads. */
function openingOf(
  turn: Turn,
  node: PromptNode,
  visit: Pick<Visit, "id" | "reads">,
): readonly { readonly role: Role; readonly text: string }[] {
  if (node.opening === undefined || node.fresh !== true) return [];
  return node.opening.map(({ role, text }) => ({ role, text: resolve(text, scopeOf(turn, visit.reads)).text ?? "" }));
}

function noted(node: PromptNode, text: string | null, files: Readonly<Record<string, string>>): string | null {
  return node.text.from === "file" ? (own(files, node.text.path) ?? text) : text;
}

export interface Question {
  readonly thread: string;
  readonly text: string;
  readonly read: string | null;
  readonly agent: string;
  readonly settings: ModelSettings;
}

/** Builds work that calls the model. All node kinds that prompt a model use it. */
export function promptWork(turn: Turn, question: Question): Extract<Work, { kind: "prompt" }> {
  return {
    kind: "prompt",
    thread: question.thread,
    text: question.text,
    read: question.read,
    settings: settingsFor(turn, question.agent, question.settings),
    ...aside(turn),
    schema: null,
    tools: [],
    rounds: 1,
  };
}

export function aside(turn: Turn): { aside?: Aside } {
  const set = asideOf(turn.program, turn.state);
  return set.nanodollars === 0 && set.tokens === 0 && set.characters === undefined ? {} : { aside: set };
}

/** Begins an activity that prompts the model in the agent's conversation, or in a conversation of its own. */
export function beginPrompting(
  turn: Turn,
  node: { readonly text: PromptNode["text"]; readonly agent?: string; readonly settings?: ModelSettings },
  visit: Visit,
  preface = "",
): Begin {
  const said = resolve(node.text, scopeOf(turn, visit.reads));
  tellUnknown(turn, said.unknown, visit.id);
  const agent = node.agent ?? visit.id;
  const thread = own(turn.state.threads, agent) ?? nextThread(turn, agent);
  allow(preface.length + (said.text?.length ?? 0), turn.state.bounds, "The prompt");
  const text = `${preface}${said.text ?? ""}`;
  const work = promptWork(turn, { thread, text, read: null, agent, settings: node.settings ?? {} });
  return { do: "work", work, said: { thread, text: null, role: "user", agent } };
}

function threadOf(turn: Turn, node: PromptNode, agent: string): string {
  const known = node.fresh ? undefined : own(turn.state.threads, agent);
  return known ?? nextThread(turn, agent);
}

/** `System Reviewer` opens the agent Reviewer; plain `System` opens the unnamed agent. */
function agentNamedBy(node: PromptNode): string {
  return node.text.from === "name" ? node.text.name.replace(/^system/i, "").trim() : "";
}
