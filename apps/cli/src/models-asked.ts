/**
 * Finds the models that a workflow calls, as far as its text shows. Pure.
 *
 * M1  The later source wins, as in the engine's settings.ts: the caller's settings and parameters, the program's own, --model, the agent's,
 *     the node's own.
 * M2  A name that is known only at run time (a SET of AI_MODEL_NAME, a template) is left out and never guessed.
 */
import type { Program } from "@markmill/engine";
import type { Rubric } from "@markmill/grading";
import type { Definition } from "@markmill/store";

export interface ModelsAsked {
  /** Each name once, in the order of the workflow. */
  readonly named: readonly string[];
  /** A step calls a model that no source names, so it calls the default model. */
  readonly usesDefault: boolean;
}

type Given = Readonly<Record<string, string>>;

export function modelsAsked(
  { programs, root }: Definition,
  rubric: Rubric | null,
  { variables, environment = {} }: { readonly variables: Given; readonly environment?: Given },
): ModelsAsked {
  const named = new Set<string>();
  let usesDefault = false;
  const all = Object.values(programs) as readonly Program[];
  const changes = all.some(({ nodes }) => Object.values(nodes).some(setsModel));
  const ofRoot = programs[root] as Program | undefined;
  const byPerson = variables.AI_MODEL_NAME?.trim() ?? "";
  const ofCaller = paramOf(ofRoot);
  const around = ofCaller === undefined ? environment.AI_MODEL_NAME : undefined;
  for (const program of all) {
    const own = paramOf(program) || around || program.settings?.model;
    const general = byPerson || own || ofCaller || ofRoot?.settings?.model;
    for (const node of Object.values(program.nodes)) {
      if (!asks(node, rubric)) continue;
      if (node.kind === "grade") for (const one of program.grading?.panel ?? []) named.add(one);
      const here = settingsOf(node)?.model;
      const agents = here === undefined ? agentModels(program, ofRoot, node) : [];
      for (const one of here === undefined ? agents : [here]) if (!isTemplate(one)) named.add(one);
      if (here !== undefined || agents.length > 0 || changes) continue;
      if (general === undefined || general === "") usesDefault = true;
      else if (!isTemplate(general)) named.add(general);
    }
  }
  return { named: [...named], usesDefault };
}

type AnyNode = Program["nodes"][string];

function asks(node: AnyNode, rubric: Rubric | null): boolean {
  if (node.kind === "prompt" || node.kind === "evaluate") return true;
  if (node.kind === "map") return node.each.kind === "prompt";
  return node.kind === "grade" && (rubric?.criteria.some(({ source }) => source.is === "llm") ?? true);
}

function settingsOf(node: AnyNode): { readonly model?: string } | undefined {
  if (node.kind === "map") return node.each.kind === "prompt" ? node.each.settings : undefined;
  return "settings" in node ? node.settings : undefined;
}

/** The models of the agent that the step names. A step without an agent may use any of them. */
function agentModels(program: Program, root: Program | undefined, node: AnyNode): readonly string[] {
  const agents = { ...root?.agents, ...program.agents };
  const named = "agent" in node ? node.agent : undefined;
  const models = Object.entries(agents).flatMap(([name, { model }]) =>
    model !== undefined && (named === undefined || named === name) ? model : [],
  );
  return models;
}

function setsModel(node: AnyNode): boolean {
  return node.kind === "set" && node.target.to === "variable" && node.target.name === "AI_MODEL_NAME";
}

function paramOf(program: Program | undefined): string | undefined {
  return program?.params?.find(({ name }) => name === "AI_MODEL_NAME")?.default ?? undefined;
}

const isTemplate = (name: string) => name.includes("{{");
