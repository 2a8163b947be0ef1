import { jsonExcess } from "@markmill/base/json";

/** Deeper than any answer, notebook or file of results. */
const mostDepth = 200;

/** Whether a JSON text is nested so deep that parsing it would hold the process. */
export function isDeepJson(text: string): boolean {
  return jsonExcess(text, { depth: mostDepth }) !== null;
}
