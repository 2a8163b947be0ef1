/**
 * JSON.parse for texts of models and students inside a step. A text that is nested too deep is refused before it is parsed. Two million
 * brackets would occupy a worker for a second, and JSON.stringify of such a value throws.
 */
import { jsonExcess } from "@markmill/base/json";

const mostDepth = 500;

/** Throws a SyntaxError, as JSON.parse does. */
export function parseShallow(text: string): unknown {
  if (jsonExcess(text, { depth: mostDepth }) !== null)
    throw new SyntaxError(`It is nested more than ${mostDepth} deep.`);
  return JSON.parse(text);
}
