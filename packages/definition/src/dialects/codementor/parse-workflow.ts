/**
 * Compiles one workflow file to one program.
 *
 * Total: for every text, the result is a program or findings that explain why there is none. It never throws. All findings are reported at
 * once: a part that cannot be read is left out, and the rest is still checked.
 */
import {
  initialState,
  type Json,
  type JudgeNeeds,
  type Node,
  type Program,
  type Prompt,
  type Tool,
} from "@markmill/engine";
import { type Rubric, readRubric } from "@markmill/grading";
import { checkFlow } from "../../check-flow.ts";
import { normaliseText } from "../../decode-source.ts";
import type { Place } from "../../finding.ts";
import { readAutograder, readJudgeFiles } from "../../judge-files.ts";
import type { LoadedFile } from "../../loaded-file.ts";
import { protectedFix, protectedReason } from "../../protected-path.ts";
import { readRubricFile } from "../../read-rubric-file.ts";
import { Report } from "../../report.ts";
import type { SourceMap } from "../../source-map.ts";
import { filePlacesIn } from "../../template-places.ts";
import { emptyWorkspace, locate, normalise, type Workspace } from "../../workspace.ts";
import { WorkspaceReader } from "../../workspace-reader.ts";
import { activityKind, activityKinds, handledEvent } from "./activity-kind.ts";
import { checkNames } from "./check-names.ts";
import { definedNames, type NameUse, textsOfNode, usesOfNode, usesOfText } from "./collect-names.ts";
import { compileEdges } from "./compile-edges.ts";
import { compileNode, type NodeContext, reportInvisible } from "./compile-node.ts";
import { compileParams } from "./compile-params.ts";
import { type FrontMatter, frontMatterLines, noFrontMatter, readFrontMatter } from "./front-matter.ts";
import { invisibleCharacter } from "./invisible-characters.ts";
import { mergeCharts } from "./merge-charts.ts";
import type { Flowchart, Link, Vertex } from "./mermaid/flowchart.ts";
import { parseFlowchart } from "./mermaid/parse-flowchart.ts";
import { type Document, DocumentReader, reportFilePlace, roleOf } from "./read-document.ts";
import { readSchema } from "./read-schema.ts";
import { readSource } from "./read-source.ts";
import type { WorkflowReport } from "./workflow-codes.ts";

const breaksFlow = /^(?:MERMAID_|KIND_|EDGE_|START_|HANDLER_)/;

/** `file` is the path of the text below the workflow root. The workspace contains the files that the text includes, calls and reads. */
export function parseWorkflow(text: string, file: string, workspace: Workspace = emptyWorkspace): LoadedFile {
  const report: WorkflowReport = new Report();
  const access = new WorkspaceReader(workspace, file, report);
  const normal = normaliseText(text, file, report);
  return normal === null ? nothing(report) : new WorkflowCompiler(file, normal, access, report).compile();
}

function nothing(report: WorkflowReport): LoadedFile {
  const sources = { nodes: {}, edges: [], prompts: {}, params: {} };
  return { program: null, sources, findings: report.findings, read: [], calls: [], defines: [], checkNames() {} };
}

class WorkflowCompiler {
  readonly #file: string;
  readonly #lines: readonly string[];
  readonly #access: WorkspaceReader;
  readonly #report: WorkflowReport;
  readonly #files = new Map<string, string>();
  readonly #calls: { node: string; program: string; found: boolean; at: Place }[] = [];

  constructor(file: string, text: string, access: WorkspaceReader, report: WorkflowReport) {
    this.#file = file;
    this.#lines = text.split("\n");
    this.#access = access;
    this.#report = report;
  }

  compile(): LoadedFile {
    const report = this.#report;
    const top: Place = { file: this.#file, line: 1, column: 1 };
    if (this.#lines.every((line) => line.trim() === "")) {
      report.error(
        "FILE_EMPTY",
        top,
        "The file is empty.",
        "Write a title, a section # Workflow with a flowchart, and # Prompts.",
      );
      return nothing(report);
    }
    const matter = this.#frontMatter(top);
    const reader = new DocumentReader(report);
    readSource(this.#lines, matter.length, this.#file, this.#access, report, (line) => reader.add(line));
    const document = reader.finish();
    const chart = this.#flowchart(document, top);
    const { vertices } = chart;
    const links = this.#linksOfNodes(chart);
    const prompts = this.#prompts(document, matter.read);
    for (const { text, at } of matter.read.prompts)
      for (const { path } of filePlacesIn(text)) reportFilePlace(report, path, at);

    const activities = this.#activities(
      vertices.filter(({ id, caption }) => caption !== null || !chart.subgraphs.has(id)),
      links,
    );
    const { params, places: paramPlaces } = compileParams(
      vertices.filter((vertex) => activityKind(vertex.id) === "PARAMS"),
      matter.read.params,
      report,
    );
    const nodes = this.#nodes(activities, matter.read, document);
    this.#checkAgents(prompts, nodes, matter.read);
    const judge = this.#judge(matter.read, nodes);
    const rubric = this.#rubric(document, matter.read, nodes);
    const { edges, places } = compileEdges(links, report);
    const { entry, handlers } = this.#entries(activities, top);
    const sources: SourceMap = {
      nodes: Object.fromEntries(activities.map((vertex) => [vertex.id, vertex.at])),
      edges: places,
      prompts: Object.fromEntries(Array.from(prompts, ([id, prompt]) => [id, prompt.at])),
      params: paramPlaces,
      ...(rubric === null ? {} : { rubric: rubric.at }),
    };
    const program: Program = {
      form: 1,
      dialect: "codementor",
      name: matter.read.name ?? document.title ?? nameOf(this.#file),
      description: matter.read.description ?? document.description,
      params,
      prompts: Object.fromEntries(Array.from(prompts, ([id, { role, text }]) => [id, { role, text }])),
      nodes: Object.fromEntries(nodes),
      edges,
      entry,
      handlers,
      agents: matter.read.agents,
      settings: matter.read.settings,
      sandbox: matter.read.sandbox,
      ...judge,
      ...(rubric === null ? {} : { rubric: rubric.rubric as unknown as Json }),
      ...(matter.read.grading === undefined ? {} : { grading: matter.read.grading }),
      limits: { ...initialState.limits, ...matter.read.limits },
      ...(matter.read.trouble === undefined ? {} : { trouble: matter.read.trouble }),
      ...(matter.read.patienceMs === undefined ? {} : { patienceMs: matter.read.patienceMs }),
      ...this.#tools(matter.read),
      ...(matter.read.mcp === undefined ? {} : { mcp: matter.read.mcp }),
      ...(matter.read.submission === undefined ? {} : { submission: matter.read.submission }),
      scheduling: "eager",
      lists: {},
      result: { take: "RESULT" },
      files: Object.fromEntries(this.#files),
    };
    // If another mistake removed edges, all nodes behind them would be reported as unreachable.
    if (
      entry.length > 0 &&
      !report.findings.some(({ severity, code }) => severity === "error" && breaksFlow.test(code))
    )
      checkFlow(program, sources, report);
    const uses = this.#uses(vertices, nodes, [...document.uses, ...matter.read.prompts.flatMap(usesOfText)]);
    return {
      program: report.hasErrors ? null : program,
      sources,
      findings: report.findings,
      read: this.#access.read,
      calls: this.#calls,
      defines: definedNames(params, nodes.values()),
      checkNames: (known, later) => checkNames(uses, Object.keys(sources.prompts), known, later),
    };
  }

  #frontMatter(top: Place): { read: FrontMatter; length: number } {
    const length = frontMatterLines(this.#lines);
    if (length === 0) return { read: noFrontMatter, length };
    if (length > 0) return { read: readFrontMatter(this.#lines, length, this.#file, this.#report), length };
    this.#report.error(
      "FRONT_MATTER_OPEN",
      top,
      "The front matter that begins here is never closed.",
      "Close it with a line ---, or remove the first line.",
    );
    return { read: noFrontMatter, length: 1 };
  }

  #flowchart(document: Document, top: Place): ReturnType<typeof mergeCharts> {
    const charts: Flowchart[] = [];
    for (const { text, at } of document.charts) {
      const { chart, findings } = parseFlowchart(text, at);
      this.#report.add(findings);
      if (chart !== null) charts.push(chart);
    }
    if (charts.length === 0 && !this.#report.hasErrors) {
      this.#report.error(
        "NO_FLOWCHART",
        top,
        document.hasWorkflowSection
          ? "The section # Workflow contains no mermaid flowchart."
          : "There is no section # Workflow.",
        "Add a line # Workflow and below it a block that starts with ```mermaid and a line flowchart TD.",
      );
    }
    return mergeCharts(charts);
  }

  #prompts(document: Document, matter: FrontMatter): Map<string, Prompt & { readonly at: Place }> {
    const prompts = new Map<string, Prompt & { readonly at: Place }>();
    for (const { id, text, at } of [...matter.prompts, ...document.prompts]) {
      const earlier = prompts.get(id);
      if (earlier !== undefined) {
        this.#report.warn(
          "PROMPT_DUPLICATE",
          at,
          `The prompt "${id}" appears twice (first in line ${earlier.at.line}). The later one counts.`,
          "Give one of them another name.",
        );
      }
      prompts.set(id, { role: roleOf(id) ?? "user", text, at });
      const code = invisibleCharacter(id);
      if (code !== null) reportInvisible(this.#report, `The name of the prompt "${id.slice(0, 40)}"`, code, at);
    }
    return prompts;
  }

  /** Mermaid draws an edge to a subgraph, but a run cannot follow it. */
  #linksOfNodes({ vertices, links, subgraphs }: ReturnType<typeof mergeCharts>): readonly Link[] {
    if (subgraphs.size === 0) return links;
    const captioned = new Set(vertices.filter(({ caption }) => caption !== null).map(({ id }) => id));
    return links.filter(({ from, to, at, flow }) => {
      const group = [from, to].find((id) => subgraphs.has(id) && !captioned.has(id));
      if (group !== undefined && flow) {
        this.#report.error(
          "EDGE_SUBGRAPH",
          at,
          `${group} is a subgraph, which is not a step: no edge can ${group === from ? "start" : "end"} there.`,
          group === from
            ? `Start the edge at the last node inside ${group}.`
            : `Draw the edge to the first node inside ${group}.`,
        );
      }
      return group === undefined;
    });
  }

  /** The vertices that are steps of the flow. A vertex with only note links is a note. */
  #activities(vertices: readonly Vertex[], links: readonly { from: string; to: string; flow: boolean }[]): Vertex[] {
    const inFlow = new Set<string>();
    const noted = new Set<string>();
    for (const { from, to, flow } of links) for (const id of [from, to]) (flow ? inFlow : noted).add(id);
    return vertices.filter((vertex) => {
      const kind = activityKind(vertex.id);
      if (kind === "PARAMS") return false;
      if (kind !== null) return true;
      if (noted.has(vertex.id) && !inFlow.has(vertex.id)) return false;
      const word = vertex.id.split("_", 1)[0] ?? "";
      this.#report.error(
        "KIND_UNKNOWN",
        vertex.at,
        `The id ${vertex.id} does not start with a kind of activity.`,
        `${this.#report.didYouMean(word, activityKinds)}Start it with ${activityKinds.filter((known) => known !== "ON").join("_, ")}_ or ON_.`,
      );
      return false;
    });
  }

  #nodes(vertices: readonly Vertex[], matter: FrontMatter, document: Document): Map<string, Node> {
    let defined: string[] | null = null;
    const context: NodeContext = {
      report: this.#report,
      lenient: matter.lenient,
      tools: Object.keys(matter.tools ?? {}),
      defined: () => {
        defined ??= vertices.filter((vertex) => vertex.caption !== null).map((vertex) => vertex.id);
        return defined;
      },
      callee: (node, written, at) => this.#callee(node, written, at),
      file: (written, at) => this.#fileOperand(written, at),
      schema: (written, at) => this.#schema(written, at, document),
      target: (written, at) => this.#confined(normalise(written), written, at),
    };
    const nodes = new Map<string, Node>();
    const declared = Object.keys(matter.agents);
    for (const vertex of vertices) {
      const kind = activityKind(vertex.id);
      if (kind === null || kind === "PARAMS") continue;
      const node = compileNode(vertex, kind, context);
      if (node === null) continue;
      if (
        (node.kind === "prompt" || node.kind === "grade") &&
        node.agent !== undefined &&
        declared.length > 0 &&
        !declared.includes(node.agent)
      ) {
        this.#report.warn(
          "AGENT_UNKNOWN",
          vertex.at,
          `The agent ${node.agent} of ${vertex.id} is not declared in the front matter.`,
          `${this.#report.didYouMean(node.agent, declared)}Declare it under agents, or name one of ${declared.join(", ")}.`,
        );
      }
      nodes.set(vertex.id, node);
      // A task in a file of the submission would be the student's text.
      if (node.kind === "grade" && node.task.from === "file" && !this.#files.has(node.task.path)) {
        this.#report.error(
          "GRADE_TASK_FILE",
          vertex.captionAt ?? vertex.at,
          `The task of ${vertex.id} is in ${node.task.path}, which is not in the workflow folder.`,
          "Add the file to the workflow folder. A task cannot come from the submission.",
        );
      }
    }
    return nodes;
  }

  /** Warns that `## System Reviwer` opens a conversation of its own, without the settings of the agent Reviewer. */
  #checkAgents(
    prompts: ReadonlyMap<string, Prompt & { readonly at: Place }>,
    nodes: ReadonlyMap<string, Node>,
    { agents }: FrontMatter,
  ): void {
    const declared = Object.keys(agents);
    if (declared.length === 0) return;
    const named = new Set([...nodes.values()].flatMap((node) => ("agent" in node ? (node.agent ?? []) : [])));
    for (const [id, { role, at }] of prompts) {
      const agent = role === "system" ? id.slice("system".length).trim() : "";
      if (agent === "" || declared.includes(agent) || named.has(agent)) continue;
      this.#report.warn(
        "AGENT_UNKNOWN",
        at,
        `The heading "${id.slice(0, 60)}" opens the conversation of an agent ${agent.slice(0, 40)}, which is not declared in the front matter.`,
        `${this.#report.didYouMean(agent, declared)}Declare it under agents, or name one of ${declared.join(", ")}.`,
      );
    }
  }

  /** Also resolves the paths of tools that are workflows. */
  #tools({ tools, toolPlaces = {} }: FrontMatter): Pick<Program, "tools"> {
    if (tools === undefined) return {};
    const located = Object.entries(tools).map(([name, tool]): [string, Tool] => {
      const at = toolPlaces[name];
      if (tool.kind !== "workflow" || at === undefined) return [name, tool];
      return [name, { ...tool, program: this.#callee(name, tool.program, at) }];
    });
    return { tools: Object.fromEntries(located) };
  }

  #judge({ judge }: FrontMatter, nodes: ReadonlyMap<string, Node>): { judge?: JudgeNeeds } {
    if (judge === undefined) return {};
    const { written, at, ...needs } = judge;
    if (![...nodes.values()].some((node) => node.kind === "execute" && node.session === "judge")) {
      this.#report.warn(
        "JUDGE_UNUSED",
        at,
        "No command of this workflow runs in the judge session.",
        "Write session: judge on the EXECUTE that decides, such as EXECUTE_TESTS@{ session: judge }.",
      );
    }
    const { workspace } = this.#access;
    const { from, files, read } = readJudgeFiles(workspace, this.#file, written, at, this.#report);
    this.#access.note(read);
    if (needs.autograder === undefined) return { judge: { ...needs, from, files } };
    const grader = readAutograder(workspace, this.#file, needs.autograder.from, at, this.#report);
    this.#access.note(grader.read);
    const autograder = { ...needs.autograder, from: grader.from };
    return { judge: { ...needs, autograder, from, files: { ...files, ...grader.files } } };
  }

  /**
   * Reads the rubric from the section, or from the file that the front matter names. A section without a table is prose, unless a node
   * grades.
   */
  #rubric(
    { rubric: section }: Document,
    { rubric: named }: FrontMatter,
    nodes: ReadonlyMap<string, Node>,
  ): { readonly rubric: Rubric; readonly at: Place } | null {
    const grades = [...nodes.values()].some(({ kind }) => kind === "grade");
    const isTable = section?.lines.some(({ text }) => text.trim().startsWith("|")) === true;
    if (named !== undefined) {
      if (isTable) {
        this.#report.error(
          "RUBRIC_TWICE",
          named.at,
          "The front matter names a rubric, but the workflow also has a section Rubric.",
          "Remove one of them.",
        );
      }
      return this.#rubricFile(named);
    }
    if (section === null || (!isTable && !grades)) return null;
    const rubric = readRubric(section.lines, section.at, this.#report);
    return rubric === null ? null : { rubric, at: section.at };
  }

  #schema(written: string, at: Place, { schemas }: Document): Json | null {
    if (written.startsWith("file:")) {
      const path = written.slice("file:".length).trim();
      const file = this.#besideText(path, at, "Correct the path of the schema, or add the file.");
      return file === null ? null : readSchema(file.text, path, { file: file.path, line: 1, column: 1 }, this.#report);
    }
    const found = schemas.findLast(({ name }) => name === written);
    if (found !== undefined) return readSchema(found.text, written, found.at, this.#report);
    const names = schemas.map(({ name }) => name);
    this.#report.error(
      "PROMPT_SCHEMA",
      at,
      `There is no schema "${written.slice(0, 64)}".`,
      `${this.#report.didYouMean(written, names)}Write a section # Schemas with ## ${written.slice(0, 64) || "NAME"} and a json block, or name file:PATH.`,
    );
    return null;
  }

  #rubricFile({ written, at }: NonNullable<FrontMatter["rubric"]>): { rubric: Rubric; at: Place } | null {
    const file = this.#besideText(written, at, "Correct the path of the rubric, or add the file.");
    if (file === null) return null;
    const { rubric, findings } = readRubricFile(file.text, file.path);
    this.#report.add(findings);
    return rubric === null ? null : { rubric, at };
  }

  /** Reads the text of a file beside the workflow; null, with a finding, if it cannot be read. */
  #besideText(written: string, at: Place, fix: string): { readonly path: string; readonly text: string } | null {
    const target = locate(this.#access.exists, at.file, written, this.#access.refuses);
    if ("refused" in target) {
      this.#report.error("FILE_PROTECTED", at, `${written} is not read: ${protectedReason}.`, protectedFix);
      return null;
    }
    const text = "found" in target ? this.#access.text(target.found) : null;
    if (!("found" in target) || text === null) {
      const near = this.#report.didYouMean(written, this.#access.candidates);
      const message =
        "outside" in target ? `${written} is outside the workflow folder.` : `There is no file ${written}.`;
      this.#report.error("FILE_MISSING", at, message, `${near}${fix}`);
      return null;
    }
    return text === undefined ? null : { path: target.found, text };
  }

  #uses(vertices: readonly Vertex[], nodes: ReadonlyMap<string, Node>, inPrompts: readonly NameUse[]): NameUse[] {
    const uses = [...inPrompts];
    for (const vertex of vertices) {
      const node = nodes.get(vertex.id);
      if (node === undefined) continue;
      for (const use of usesOfNode(vertex.id, node, vertex.captionAt ?? vertex.at)) uses.push(use);
      for (const text of textsOfNode(node))
        for (const { path } of filePlacesIn(text)) reportFilePlace(this.#report, path, vertex.captionAt ?? vertex.at);
    }
    return uses;
  }

  #entries(vertices: readonly Vertex[], top: Place): Pick<Program, "entry" | "handlers"> {
    const entry: string[] = [];
    const handlers: { success: string | null; failed: string | null } = { success: null, failed: null };
    for (const { id, at } of vertices) {
      const kind = activityKind(id);
      if (kind === "START") {
        if (entry.length > 0)
          this.#report.error("START_TWICE", at, `There are two starts: ${entry[0]} and ${id}.`, "Remove one of them.");
        entry.push(id);
      } else if (kind === "ON") {
        const event = handledEvent(id);
        if (event === null) {
          this.#report.error(
            "HANDLER_UNKNOWN",
            at,
            `${id} names no event.`,
            `${this.#report.didYouMean(id, ["ON_SUCCESS", "ON_FAILED"])}Handlers are ON_SUCCESS and ON_FAILED.`,
          );
          continue;
        }
        if (event === "misspelt success")
          this.#report.warn("HANDLER_SPELLING", at, `${id} is read as ON_SUCCESS.`, "Write ON_SUCCESS.");
        const slot = event === "failed" ? "failed" : "success";
        const earlier = handlers[slot];
        if (earlier !== null)
          this.#report.error(
            "HANDLER_TWICE",
            at,
            `There are two handlers of one event: ${earlier} and ${id}.`,
            "Remove one of them.",
          );
        handlers[slot] = id;
      }
    }
    if (entry.length === 0 && (vertices.length > 0 || !this.#report.hasErrors)) {
      this.#report.error(
        "NO_START",
        vertices[0]?.at ?? top,
        "The flowchart has no START.",
        "Add START --> and the first activity.",
      );
    }
    return { entry: entry.slice(0, 1), handlers };
  }

  /** Looks beside the file that names it (an include may have brought that file), then beside the workflow, then below the root. */
  #locate(written: string, at: Place): ReturnType<typeof locate> {
    const beside = (file: string) => locate(this.#access.exists, file, written, this.#access.refuses);
    const target = beside(at.file);
    if (at.file === this.#file || "found" in target || "refused" in target) return target;
    const otherwise = beside(this.#file);
    return "found" in otherwise || "outside" in target ? otherwise : target;
  }

  #callee(node: string, written: string, at: Place): string {
    const target = this.#locate(written, at);
    if ("outside" in target) {
      this.#report.error(
        "CALL_OUTSIDE",
        at,
        `${written} is outside the workflow folder.`,
        "Copy the file into the folder of the workflow, and call the copy.",
      );
      return written;
    }
    if ("refused" in target) {
      this.#report.error("CALL_PROTECTED", at, `${written} is not read: ${protectedReason}.`, protectedFix);
      return written;
    }
    const program = "found" in target ? target.found : target.missing;
    this.#calls.push({ node, program, found: "found" in target, at });
    return program;
  }

  #confined(path: string | null, written: string, at: Place): string | null {
    if (path === null) {
      this.#report.error(
        "FILE_OUTSIDE",
        at,
        written === "" ? "file: names no file." : `${written} is outside the workflow folder.`,
        "Name a file below the folder of the workflow or of the submission.",
      );
    }
    return path;
  }

  /** Copies a file of the workspace into the program. Any other file may come with the submission, under the written name. */
  #fileOperand(written: string, at: Place): string | null {
    const target = this.#locate(written, at);
    if ("found" in target) {
      const text = target.found === this.#file ? this.#lines.join("\n") : this.#access.text(target.found);
      if (typeof text === "string") this.#files.set(target.found, text);
      return target.found;
    }
    if ("refused" in target) {
      this.#report.error("FILE_PROTECTED", at, `${written} is not read: ${protectedReason}.`, protectedFix);
      return null;
    }
    const path = this.#confined(normalise(written), written, at);
    if (path !== null) {
      this.#report.warn(
        "FILE_NOT_IN_WORKSPACE",
        at,
        `The workflow folder has no file ${path}, so the submission must contain it.`,
        `${this.#report.didYouMean(path, this.#access.candidates)}Add the file, or make sure that each submission contains it.`,
        path,
      );
    }
    return path;
  }
}

/** `grading/essay.wf.md` gets the name `grading/essay`. */
function nameOf(file: string): string {
  return file.replace(/\.md$/i, "").replace(/\.wf$/i, "") || file;
}
