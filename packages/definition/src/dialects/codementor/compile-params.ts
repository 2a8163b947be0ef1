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

/** Compiles the parameters of the front matter and of all PARAMS nodes, in order. A later default replaces an earlier one. */
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

/** Names that a run writes itself. A given value would be lost, or mistaken for a result of the run. */
const reserved: ReadonlySet<string> = new Set(["RESULT", "CONTENT", "STATUS", "EXIT_CODE"]);

/**
 * `places` also shows whether a name is known. With 71,000 parameters in 1 MB, each further table of names costs about 20 ms and grows
 * faster than the text. Only a list with duplicates needs an index. `places` has no prototype, so that `__proto__` is an ordinary name.
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
