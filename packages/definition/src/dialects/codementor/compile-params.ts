import { type Param, settingProblem } from "@markmill/engine";
import type { Place } from "../../finding.ts";
import type { SourceMap } from "../../source-map.ts";
import type { FrontMatter } from "./front-matter.ts";
import { invisibleIn } from "./invisible-characters.ts";
import type { Vertex } from "./mermaid/flowchart.ts";
import { isParamName, parseParams } from "./parse-params.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

export interface CompiledParams {
  readonly params: readonly Param[];
  readonly places: SourceMap["params"];
}

/** Parameters of the front matter and all PARAMS nodes, in order; a later default stands in place of an earlier. */
export function compileParams(
  vertices: readonly Vertex[],
  declared: FrontMatter["params"],
  report: WorkflowReport,
): CompiledParams {
  const list = new ParamList(report);
  for (const { name, default: value, at } of declared) list.add(name, value, at);
  for (const vertex of vertices) {
    const text = (vertex.caption ?? "").replace(/^\s*params\s*:/i, (prefix) => " ".repeat(prefix.length));
    const items = parseParams(text);
    const start = vertex.captionAt ?? vertex.at;
    if (items.length === 0) {
      report.warn(
        "PARAMS_EMPTY",
        start,
        `${vertex.id} declares no parameter.`,
        `List them in its caption: ${vertex.id}["NAME, OTHER=default"].`,
      );
    }
    for (const item of items)
      list.add(item.name, item.default, { file: start.file, line: start.line, column: start.column + item.offset });
  }
  return list;
}

/** Names that a run writes, so that a given value would be lost, or taken for what the run found out. */
const reserved: ReadonlySet<string> = new Set(["RESULT", "CONTENT", "STATUS", "EXIT_CODE"]);

/**
 * `places` is also what tells whether a name is known: with 71,000 parameters in 1 MB each further table of names costs about
 * 20 ms and grows faster than the text. Only a list with duplicates pays for an index. It has no prototype, so that `__proto__`
 * is a name like any other.
 */
class ParamList implements CompiledParams {
  readonly params: Param[] = [];
  readonly places: Record<string, Place> = Object.create(null);
  readonly #report: WorkflowReport;
  #index: Map<string, number> | null = null;

  constructor(report: WorkflowReport) {
    this.#report = report;
  }

  add(name: string, value: string | null, at: Place): void {
    if (!isParamName(name)) {
      this.#report.error(
        "PARAM_NAME",
        at,
        name === ""
          ? "A parameter has no name."
          : `"${name.slice(0, 40)}" is not a name for a parameter${invisibleIn(name)}.`,
        "Write NAME or NAME=default, separated by commas; put a default that contains a comma in quotes.",
      );
      return;
    }
    if (reserved.has(name)) {
      this.#report.error(
        "PARAM_RESERVED",
        at,
        `${name} cannot be a parameter, because every run writes it itself.`,
        `Give the parameter another name, such as ${name === "CONTENT" || name === "RESULT" ? "TEXT" : `MY_${name}`}.`,
      );
      return;
    }
    const problem = value === null ? null : settingProblem(name, value);
    if (problem !== null)
      this.#report.error(
        "PARAM_NUMBER",
        at,
        `${name} cannot be "${(value ?? "").slice(0, 40)}": ${problem.expected}.`,
        `Write ${name}=${problem.example}, or remove it.`,
      );
    const param: Param = { name, default: value };
    if (name in this.places) {
      this.#report.warn(
        "PARAM_DUPLICATE",
        at,
        `The parameter ${name} is declared twice. The later default counts.`,
        "Remove one of the two.",
      );
      this.#index ??= new Map(this.params.map((known, position) => [known.name, position]));
      this.params[this.#index.get(name) ?? this.params.length] = param;
    } else {
      this.#index?.set(name, this.params.length);
      this.params.push(param);
    }
    this.places[name] = at;
  }
}
