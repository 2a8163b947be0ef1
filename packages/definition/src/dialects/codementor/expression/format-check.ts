import type { Condition } from "@markmill/engine";
import { type Unusual, writeCondition } from "../../../write-condition.ts";
import { noWords } from "../no-words.ts";

const refused: Unusual = {
  comparison(op) {
    throw noWords(`the comparison ${op}`);
  },
  operand({ from }) {
    throw noWords(`an operand from ${from} in a check`);
  },
  hits() {
    throw noWords("a condition on hits");
  },
};

/** Writes a condition as text that parseCheck reads back as the same condition. Throws NotExpressible if there is no such text. */
export function formatCheck(condition: Condition): string {
  return writeCondition(condition, refused);
}
