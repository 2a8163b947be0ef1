/** Compiles the source of a value to an operand. */
import type { Operand } from "@markmill/engine";
import { inputName } from "../../names.ts";
import { variableOf } from "./memory-names.ts";
import type { Source } from "./task-file.ts";

/** The text after each element of a stack that is read as one text. */
const afterElement = " \n";

export function operandOf(source: Exclude<Source, { type: "search" }>): Operand {
  switch (source.type) {
    case "input":
      return { from: "variable", name: inputName };
    case "read":
      return { from: "variable", name: variableOf(source.key) };
    case "string":
      return { from: "literal", text: source.key };
    case "pop":
      return { from: "pop", list: source.key };
    case "peek":
      return { from: "peek", list: source.key, index: source.index };
    case "get_all":
      return { from: "all", list: source.key, after: afterElement };
    case "size":
      return { from: "size", list: source.key };
  }
}
