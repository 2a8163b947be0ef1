/** Checks the depth and the number of values of a JSON text before it is parsed. */
import { jsonExcess } from "@markmill/base/json";

export const mostDepth = 500;

export function isTooDeep(text: string): boolean {
  return jsonExcess(text, { depth: mostDepth }) !== null;
}

/** Why a server's text must not be parsed; null: it may be. */
export function parsingRefused(text: string, mostValues: number): string | null {
  switch (jsonExcess(text, { depth: mostDepth, values: mostValues })) {
    case "depth":
      return `It is nested more than ${mostDepth} deep.`;
    case "values":
      return `It has more than ${mostValues} values.`;
    case null:
      return null;
  }
}
