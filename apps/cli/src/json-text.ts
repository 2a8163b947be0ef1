import { visibleJson } from "@markmill/engine";

/** JSON for programs that is safe on a screen: the values are exact, and control and invisible characters are escaped. */
export function jsonText(value: unknown, indent = 2): string {
  return visibleJson(JSON.stringify(value, null, indent));
}
