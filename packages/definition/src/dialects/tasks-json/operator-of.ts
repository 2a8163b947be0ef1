import type { Node } from "@markmill/engine";

/** Returns the dialect's name for a node. */
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
