import type { Param } from "@markmill/engine";
import type { Place } from "./finding.ts";
import type { FrontMatter } from "./front-matter.ts";
import type { Vertex } from "./mermaid/flowchart.ts";
import { isLimitSetting, plainNumber } from "./names.ts";
import { isParamName, parseParams } from "./parse-params.ts";
import type { Report } from "./report.ts";

/** Parameters of all PARAMS nodes and the front matter, in order; a later default stands in place of an earlier. */
export function compileParams(
  vertices: readonly Vertex[],
  declared: FrontMatter["params"],
  report: Report,
): Map<string, Param & { readonly at: Place }> {
  const params = new Map<string, Param & { readonly at: Place }>();
  const add = (name: string, value: string | null, at: Place) => {
    if (!isParamName(name)) {
      report.error(
        "PARAM_NAME",
        at,
        name === "" ? "A parameter has no name." : `"${name.slice(0, 40)}" is not a name for a parameter.`,
        "Write NAME or NAME=default, separated by commas; put a default that holds a comma in quotes.",
      );
      return;
    }
    if (params.has(name)) {
      report.warn(
        "PARAM_DUPLICATE",
        at,
        `The parameter ${name} is declared twice; the later default counts.`,
        "Remove one of the two.",
      );
    }
    if (value !== null && isLimitSetting(name) && !plainNumber.test(value)) {
      report.error(
        "PARAM_NUMBER",
        at,
        `${name} must be a number, but its default is "${value.slice(0, 40)}".`,
        `Write a plain number, such as ${name}=10.`,
      );
    }
    params.set(name, { name, default: value, at });
  };
  for (const { name, default: value, at } of declared) add(name, value, at);
  for (const vertex of vertices) {
    const text = (vertex.caption ?? "").replace(/^\s*params\s*:/i, (prefix) => " ".repeat(prefix.length));
    const items = parseParams(text);
    if (items.length === 0) {
      report.warn(
        "PARAMS_EMPTY",
        vertex.captionAt ?? vertex.at,
        `${vertex.id} declares no parameter.`,
        `List them in its caption: ${vertex.id}["NAME, OTHER=default"].`,
      );
    }
    const start = vertex.captionAt ?? vertex.at;
    for (const item of items)
      add(item.name, item.default, { file: start.file, line: start.line, column: start.column + item.offset });
  }
  return params;
}
