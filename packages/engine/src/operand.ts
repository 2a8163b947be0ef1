/** Where a value comes from. Resolved in one place, `resolve.ts`. */
export type Operand =
  /** RESULT, CONTENT, STATUS, a variable, a prompt, an allowed environment variable, by this order; else the name itself, rendered. */
  | { readonly from: "name"; readonly name: string }
  /** Text whose {{NAME}} places are filled, in one pass. */
  | { readonly from: "template"; readonly text: string }
  /** Text as it stands. */
  | { readonly from: "literal"; readonly text: string }
  /** A file below the workflow's or the submission's root. */
  | { readonly from: "file"; readonly path: string }
  /** A named read of the node, or in a map's body `item` and `index`. */
  | { readonly from: "read"; readonly name: string }
  /** A variable's value, or nothing: never a prompt, the environment or the name itself. */
  | { readonly from: "variable"; readonly name: string }
  /** One after the other; what has no value adds nothing. */
  | { readonly from: "joined"; readonly of: readonly Operand[] }
  /** The first that is not empty. */
  | { readonly from: "either"; readonly of: readonly Operand[] }
  /**
   * One element of the list that another operand names, each as likely as the others, or nothing. Drawn from the run's id, the node and its
   * generation (draw.ts): the same in every replay.
   */
  | { readonly from: "sample"; readonly list: Operand }
  /** Newest element, removed. */
  | { readonly from: "pop"; readonly list: string }
  /** Element by position, 0 the oldest, -1 the newest. */
  | { readonly from: "peek"; readonly list: string; readonly index: number }
  /** All elements, oldest first, each followed by `after` (absent: a line break). */
  | { readonly from: "all"; readonly list: string; readonly after?: string }
  /** The oldest elements, at most so many (all when absent), removed. */
  | { readonly from: "drain"; readonly list: string; readonly count?: number }
  | { readonly from: "size"; readonly list: string };
