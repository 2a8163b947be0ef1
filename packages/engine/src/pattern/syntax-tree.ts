import type { CharacterSet } from "./character-set.ts";
import type { Assertion } from "./pattern.ts";

export type Syntax =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly items: readonly Syntax[] }
  | { readonly kind: "choice"; readonly options: readonly Syntax[] }
  | { readonly kind: "group"; readonly index: number; readonly item: Syntax }
  | {
      readonly kind: "repeat";
      readonly item: Syntax;
      readonly min: number;
      /** Infinity means no upper bound. */
      readonly max: number;
      readonly lazy: boolean;
      /** The position of the quantifier in the source. */
      readonly offset: number;
    };

export interface SyntaxTree {
  readonly root: Syntax;
  readonly groupNames: readonly (string | null)[];
}
