/** Draws a flowchart for people: one node per task, with its helper nodes beside it, and conditions and fallbacks on the arrows. */
import type { Edge, Node, Operand, Program } from "@markmill/engine";
import { describeCondition } from "../../write-condition.ts";
import type { Drawing } from "../dialect.ts";
import { operatorOf } from "./operator-of.ts";

/** Words with another meaning in a flowchart. */
const taken: ReadonlySet<string> = new Set(
  "end graph flowchart subgraph style class classDef click default linkStyle".split(" "),
);
const plainId = /^[A-Za-z][A-Za-z0-9_]*$/;
const longestCaption = 80;

export function drawTasks(program: Program): Drawing {
  const ids = Object.keys(program.nodes);
  const plain = new Set(ids.filter((id) => plainId.test(id) && !taken.has(id.toLowerCase())));
  const names = new Map<string, string>();
  let next = 1;
  for (const id of ids) {
    let name = id;
    if (!plain.has(id)) {
      do name = `n${next++}`;
      while (plain.has(name));
    }
    names.set(id, name);
  }
  const captions = new Map(ids.map((id) => [id, captionOf(id, program.nodes[id])] as const));
  const lines = ["flowchart TD"];
  for (const id of ids) {
    const text = encode(captions.get(id) ?? id);
    const ends = program.nodes[id]?.kind === "end";
    lines.push(`    ${names.get(id)}${ends ? `(["${text}"])` : `["${text}"]`}`);
  }
  for (const edge of program.edges) {
    const words = arrowWords(edge, program);
    const label = words === "" ? "" : `|"${encode(words)}"| `;
    lines.push(`    ${names.get(edge.from)} ${edge.on === "fail" ? "-.->" : "-->"} ${label}${names.get(edge.to)}`);
  }
  return { lines, captions, names };
}

function captionOf(id: string, node: Node | undefined): string {
  if (node === undefined || node.kind === "end") return id;
  return `${id}: ${node.label ?? operatorOf(node)}`;
}

function arrowWords({ from, on, when }: Edge, { nodes, edges }: Program): string {
  if (on === "fail") return "fallback";
  if (on === "true") return "similar";
  if (on === "false") return "not similar";
  if (when !== undefined) {
    const read = nodes[from]?.after?.[0];
    const left = read === undefined ? "" : operandWords(read.value);
    return describeCondition(when).replace(/^(not \()?condition/, (_, not = "") => `${not}${left}`);
  }
  return edges.some((edge) => edge.from === from && edge.when !== undefined) ? "else" : "";
}

function operandWords(operand: Operand): string {
  switch (operand.from) {
    case "variable":
      return operand.name;
    case "literal":
      return JSON.stringify(operand.text);
    case "size":
    case "pop":
    case "all":
      return `${operand.from} of ${operand.list}`;
    case "peek":
      return `${operand.list}[${operand.index}]`;
    default:
      return operand.from;
  }
}

/** Characters with a meaning in a caption become entities. */
function encode(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const short = line.length > longestCaption ? `${line.slice(0, longestCaption - 1)}…` : line;
  return short.toWellFormed().replace(/["#&<>`\\|\p{Cc}]/gu, (character) => `#${character.codePointAt(0)};`);
}
