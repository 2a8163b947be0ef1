/** Collects the names that a workflow uses and the names that it gives a value, so that a misspelt name is found before a run. */
import type { Condition, Node, Operand, Param } from "@markmill/engine";
import type { Place } from "../../finding.ts";
import { placesIn } from "../../template-places.ts";

export interface NameUse {
  /** place: `{{NAME}}`. check: the left side. assign, prompt: the whole caption. */
  readonly as: "place" | "check" | "assign" | "prompt";
  readonly name: string;
  readonly where: string;
  readonly at: Place;
}

/** The texts of a node whose placeholders are filled when it runs. */
export function textsOfNode(node: Node): string[] {
  const operand =
    node.kind === "prompt"
      ? node.text
      : node.kind === "grade"
        ? node.task
        : node.kind === "assign" || node.kind === "set"
          ? node.value
          : null;
  if (operand?.from === "template") return [operand.text];
  if (operand?.from === "name") return [operand.name];
  return node.kind === "execute" && node.command !== null ? [node.command] : [];
}

/** For a prompt in the front matter, whose line numbers are unknown: all its names get the same place. */
export function usesOfText({
  id,
  text,
  at,
}: {
  readonly id: string;
  readonly text: string;
  readonly at: Place;
}): NameUse[] {
  return placesIn(text).map(({ name }) => ({ as: "place", name, where: `the prompt "${id}"`, at }));
}

export function usesOfNode(id: string, node: Node, at: Place): NameUse[] {
  const inText = (text: string): NameUse[] => placesIn(text).map(({ name }) => ({ as: "place", name, where: id, at }));
  const inOperand = (operand: Operand, as: "assign" | "prompt" | null): NameUse[] => {
    if (operand.from === "template") return inText(operand.text);
    if (operand.from !== "name") return [];
    const places = inText(operand.name);
    return places.length > 0 || as === null ? places : [{ as, name: operand.name, where: id, at }];
  };
  switch (node.kind) {
    case "prompt":
      return inOperand(node.text, "prompt");
    case "grade":
      return inOperand(node.task, null);
    case "assign":
      return inOperand(node.value, "assign");
    case "set":
      return inOperand(node.value, null);
    case "execute":
      return node.command === null ? [] : inText(node.command);
    case "check":
      return leftNames(node.condition).map((name) => ({ as: "check", name, where: id, at }));
    default:
      return [];
  }
}

function leftNames(condition: Condition): string[] {
  if (condition.op === "and" || condition.op === "or") return condition.of.flatMap(leftNames);
  if (condition.op === "not") return leftNames(condition.of);
  if (!("left" in condition)) return [];
  return condition.left.from === "name" ? [condition.left.name] : [];
}

/** May contain a name twice. The callers that join the lists of several files build a set. */
export function definedNames(params: readonly Param[], nodes: Iterable<Node>): string[] {
  const names = params.map(({ name }) => name);
  for (const node of nodes) if (node.kind === "set" && node.target.to === "variable") names.push(node.target.name);
  return names;
}
