/** The source of a value. Only `resolve.ts` turns it into the value. */
export type Operand =
  /**
   * RESULT, CONTENT, STATUS, a variable, a prompt or an allowed environment variable, in this order. Otherwise the rendered name itself.
   */
  | { readonly from: "name"; readonly name: string }
  /** Text whose {{NAME}} placeholders are filled in one pass. */
  | { readonly from: "template"; readonly text: string }
  /** Unchanged text. */
  | { readonly from: "literal"; readonly text: string }
  /** A file below the root folder of the workflow or of the submission. */
  | { readonly from: "file"; readonly path: string }
  /** A named read of the node; in a map's body also `item` and `index`. */
  | { readonly from: "read"; readonly name: string }
  /** A variable's value or nothing. It is never a prompt, the environment or the name itself. */
  | { readonly from: "variable"; readonly name: string }
  /** The texts one after the other. An operand without a value adds nothing. */
  | { readonly from: "joined"; readonly of: readonly Operand[] }
  /** The first text that is not empty. */
  | { readonly from: "either"; readonly of: readonly Operand[] }
  /**
   * A random element of the list that another operand names, with equal probability, or nothing. The choice depends on the run's id, the
   * node and its generation (draw.ts), so every replay chooses the same.
   */
  | { readonly from: "sample"; readonly list: Operand }
  /** The newest element, which is removed. */
  | { readonly from: "pop"; readonly list: string }
  /** The element at a position: 0 is the oldest, -1 the newest. */
  | { readonly from: "peek"; readonly list: string; readonly index: number }
  /** All elements, oldest first, each followed by `after` (default: a line break). */
  | { readonly from: "all"; readonly list: string; readonly after?: string }
  /** The oldest elements, which are removed: at most `count`, or all by default. */
  | { readonly from: "drain"; readonly list: string; readonly count?: number }
  | { readonly from: "size"; readonly list: string };
