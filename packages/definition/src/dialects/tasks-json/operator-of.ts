import type { Node } from "@markmill/engine";

/** What the dialect calls a node. */
export function operatorOf(node: Node): string {
  switch (node.kind) {
    case "prompt":
      if (node.toolUse === "outputs") return "function_calling";
      return node.toolUse === "raw" ? "function_calling_raw" : "generation";
    case "memory":
      return node.op;
    case "assign":
      return "sample";
    default:
      return node.kind;
  }
}
