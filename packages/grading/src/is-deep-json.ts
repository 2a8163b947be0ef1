import { jsonExcess } from "@markmill/base/json";

/** No valid answer, notebook or results file is nested this deeply. */
const mostDepth = 200;

/** Reports whether a JSON text is nested so deeply that parsing it would block the process. */
export function isDeepJson(text: string): boolean {
  return jsonExcess(text, { depth: mostDepth }) !== null;
}
