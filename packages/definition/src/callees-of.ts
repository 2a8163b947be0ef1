import type { Node, Program } from "@markmill/engine";

/** The workflows that a node calls directly, or that its model may call. */
export function calleesOf(program: Pick<Program, "tools"> | undefined, node: Node | undefined): readonly string[] {
  if (node?.kind === "call") return [node.program];
  if (node?.kind !== "prompt") return [];
  return (node.tools ?? []).flatMap((name) => {
    const tool = program?.tools?.[name];
    return tool?.kind === "workflow" ? [tool.program] : [];
  });
}
