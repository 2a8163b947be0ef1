import { visibleJson } from "@markmill/engine";

/** JSON for programs, and safe on a screen: the values are exact, what a terminal would obey or an eye would miss is escaped. */
export function jsonText(value: unknown, indent = 2): string {
  return visibleJson(JSON.stringify(value, null, indent));
}
