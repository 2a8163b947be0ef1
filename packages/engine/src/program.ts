/**
 * The program form: every dialect compiles to it. It is plain readonly JSON data without code, so that it can be hashed, stored, shown and
 * replayed. It contains no source positions. They are stored separately in the definition's source map, so that formatting and parsing a
 * program gives the same program.
 *
 * P1  Every edge joins nodes that exist.
 * P2  `entry` and the handlers name nodes.
 * P3  A node runs only because of a token on one of its edges, as an entry, or as a handler.
 */
import type { Condition } from "./condition.ts";
import type { Operand } from "./operand.ts";
import type { Tool, ToolHeader, ToolUse } from "./tool.ts";

export type NodeId = string;
export type Dialect = "codementor" | "operators" | "tasks" | "agents" | "chat";
export type Role = "system" | "user" | "assistant";

export interface Program {
  readonly form: 1;
  readonly dialect: Dialect;
  /** The revision of the dialect, if there are several; for people. */
  readonly revision?: string;
  readonly name: string;
  readonly description: string;
  readonly params: readonly Param[];
  readonly prompts: Readonly<Record<string, Prompt>>;
  readonly nodes: Readonly<Record<NodeId, Node>>;
  readonly edges: readonly Edge[];
  readonly entry: readonly NodeId[];
  readonly handlers: { readonly success: NodeId | null; readonly failed: NodeId | null };
  /** Settings of named agents. The unnamed agent has the empty string as its name. */
  readonly agents: Readonly<Record<string, ModelSettings>>;
  readonly settings: ModelSettings;
  readonly sandbox: SandboxNeeds;
  /** Default: a judge session has no files of the teacher and the usual limits. */
  readonly judge?: JudgeNeeds;
  /** The rubric for GRADE. The dialect reads and checks it, and the engine passes it on. If absent, nothing is graded. */
  readonly rubric?: Json;
  /** Default: `usualGrading`. */
  readonly grading?: Grading;
  readonly limits: Limits;
  /** Whether a run needs a submission. If absent, the author did not decide. none: the commands of the workflow need no submission. */
  readonly submission?: "required" | "optional" | "none";
  /**
   * The reaction to trouble of a model's endpoint. wait (default): the run waits and takes no edge. edge: the activity fails after several
   * attempts.
   */
  readonly trouble?: "wait" | "edge";
  /** How long a run waits for trouble to end. Default: the request's value, or half an hour. */
  readonly patienceMs?: number;
  readonly scheduling: Scheduling;
  /** Lists (stacks, inboxes) with which a run starts. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly result: ResultRule;
  /** Tools for models, by the name that the models see. Default: none. */
  readonly tools?: Readonly<Record<string, Tool>>;
  /** Servers of tools, by the name in `McpTool.server`. */
  readonly mcp?: Readonly<Record<string, McpServer>>;
  /** Passages that are found by meaning. Default: the run's own passages, with the embedder that needs no model. */
  readonly memory?: MemoryNeeds;
  /** Contents of the files that operands name, by path, as they were when the definition was loaded. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * eager: each outcome takes effect when it arrives.
 * superstep: outcomes of nodes that ran together take effect together, in the order in which the nodes became ready.
 */
export type Scheduling = "eager" | "superstep";

export interface Param {
  readonly name: string;
  /** null means that the parameter is required. The empty string means that it is optional and empty. */
  readonly default: string | null;
}

export interface Prompt {
  readonly role: Role;
  readonly text: string;
}

export interface ModelSettings {
  readonly model?: string;
  readonly temperature?: number;
  readonly topP?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly maxOutputTokens?: number;
  readonly maxPromptCharacters?: number;
  readonly stop?: readonly string[];
  /** What to do with a reply that ended at the limit of output tokens. keep: use it and add a note. fail: its activity fails. */
  readonly cutReplies?: "keep" | "fail";
}

/** The requirements of a workflow for its sandbox session. The server's maximum is applied when the session is created. */
export interface SandboxNeeds {
  readonly image?: string;
  readonly network?: "none";
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly pids?: number;
  readonly diskBytes?: number;
  readonly wallMs?: number;
  readonly cpuMs?: number;
  readonly silenceMs?: number;
  readonly outputBytes?: number;
  /** The size of the longest file that may be read or written as a value. */
  readonly fileBytes?: number;
  /** Languages of code blocks, besides the shell, that EXECUTE may run. */
  readonly languages?: readonly string[];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly checkpoint?: boolean;
}

/** A server that speaks the Model Context Protocol. */
export type McpServer = HttpServer | StdioServer;

/** A server that is reached by its address (streamable HTTP). */
export interface HttpServer {
  readonly transport: "http";
  readonly url: string;
  readonly headers?: Readonly<Record<string, ToolHeader>>;
}

/** A program in the run's sandbox session that communicates over its stdin and stdout. */
export interface StdioServer {
  readonly transport: "stdio";
  /** The program and its arguments. PATH is searched for the program unless its name contains a slash. */
  readonly command: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface MemoryNeeds {
  /** All runs of the tenant that name this scope share it. Default: the root run's own scope, which is deleted with the run. */
  readonly scope?: string;
  readonly embedder: Embedder;
}

/** hash: hashes of words; it calls no model and costs nothing. model: any model that creates embeddings. */
export type Embedder =
  | { readonly kind: "hash"; readonly dimensions?: number }
  | {
      readonly kind: "model";
      readonly model: string;
      readonly dimensions?: number;
      /** Text before a search query, but not before a stored passage. Some models require it. */
      readonly queryPrefix?: string;
    };

/** How a GRADE checks a model's verdict. */
export interface Grading {
  /**
   * When to run a second pass over the submission, without comments and quoted texts. flagged: if words in the submission speak to the
   * grader.
   */
  readonly twice: "always" | "flagged" | "never";
  /** Models that grade in addition to the first. If they disagree, a person decides. */
  readonly panel: readonly string[];
  /** The conditions under which a person must decide about a submission. */
  readonly review: {
    /** The lowest confidence of the model, 0 to 1, that needs no person. */
    readonly confidence: number;
    /** A share of the points, for example the pass mark; null: none. */
    readonly pass: number | null;
    /** How near a grade must be to that share to count as borderline, as a share of the points. */
    readonly borderline: number;
    /** The share of a criterion that words in the submission may gain before it is flagged. Default: the usual share. */
    readonly gain?: number;
    /** Kinds of flags. */
    readonly flags: readonly string[];
  };
}

/** The requirements for a judge session. The server's maximum is applied when the session is created. */
export interface JudgeNeeds
  extends Pick<
    SandboxNeeds,
    "image" | "memoryBytes" | "cpus" | "pids" | "diskBytes" | "wallMs" | "cpuMs" | "silenceMs" | "outputBytes"
  > {
  /** Folders and files below the workflow root that contain the teacher's files. */
  readonly from: readonly string[];
  /** Those files in base64, by path below /judge. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * An autograder for Gradescope among the files: `autograder.zip`, or all files below `autograder/`. Its output is read as the results of
   * the tests. `setup`: whether its setup.sh runs each time.
   */
  readonly autograder?: { readonly from: string; readonly setup: "run" | "skip" };
  /** The judged files: the original submission, or the current files in the student's session. */
  readonly of: "submission" | "workspace";
}

/** null means no such limit. Money is integer nanodollars. */
export interface Limits {
  /** The highest number of executions of one node. */
  readonly hits: number;
  /** The highest number of activities of the run, without its handlers. */
  readonly steps: number;
  /** The highest number of nested runs below a root run. */
  readonly depth: number;
  readonly nanodollars: number | null;
  readonly tokens: number | null;
  readonly characters: number | null;
  readonly timeMs: number | null;
}

export type ResultRule =
  | { readonly take: "RESULT" }
  | {
      readonly take: "operands";
      readonly of: readonly Operand[];
      /** Always as a list, even for one value. */
      readonly each?: true;
      /** A list or several values become JSON. A single value stays unchanged. */
      readonly json: boolean;
      readonly post: readonly PostRule[];
      /** Apply `post` also after JSON. */
      readonly postJson?: true;
    };

export type PostRule =
  | { readonly do: "replace"; readonly what: string; readonly by: string }
  | { readonly do: "append" | "prepend"; readonly text: string }
  | { readonly do: "trim" | "trimStart" | "trimEnd" | "toLower" | "toUpper" };

export interface Edge {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The outcome that selects this edge: ok, fail, or a label that a node returns (an evaluator's status, a selector's choice). */
  readonly on: "ok" | "fail" | (string & {});
  readonly when?: Condition;
  /** The activation group of the target that this edge feeds. Default: the group named "". */
  readonly group?: string;
  /** The run takes the edge at most this number of times. After that, the edge counts as absent. */
  readonly max?: number;
  /** Written when the edge is taken, before the target begins. */
  readonly effects?: readonly Effect[];
  /** rerun: the target runs again and feeds only `from`, the node that requested it. Its other successors keep their earlier results. */
  readonly rerun?: true;
}

export type Effect =
  | { readonly do: "set"; readonly name: string; readonly value: Operand }
  | { readonly do: "push"; readonly list: string; readonly value: Operand }
  | { readonly do: "clear"; readonly list: string };

/** When tokens on the edges of one activation group start the node. Groups of one node are alternatives. */
export type Join =
  | { readonly mode: "any" }
  | { readonly mode: "all" }
  | { readonly mode: "quorum"; readonly of: number };

interface NodeBase {
  /** The text that a person sees on the node. */
  readonly label?: string;
  /** Default: one group "" with mode any. */
  readonly groups?: Readonly<Record<string, Join>>;
  /** first (default): take the first matching edge. all: take every matching edge. */
  readonly select?: "first" | "all";
  /** Named inputs, resolved in order when the node begins. If a required input is missing, the node fails and its pops are undone. */
  readonly reads?: readonly Read[];
  /** Written, in order, when the node ends with ok. */
  readonly writes?: readonly Effect[];
  /**
   * Named values for the conditions of the node's edges. They are resolved in order after the node has ended with ok and its writes are
   * done. If a condition cannot be decided, the node fails. Its writes stay; elements that these values and its reads removed from lists
   * are put back.
   */
  readonly after?: readonly Read[];
  /** The node is part of another node's work. It counts as no step and may begin even when the limit of steps is reached. */
  readonly uncounted?: true;
  /** The node continues the work of the node before it. If it fails, the elements that the reads of that node removed are put back, too. */
  readonly continues?: true;
  readonly retry?: RetryPolicy;
}

export interface Read {
  readonly name: string;
  readonly value: Operand;
  readonly required: boolean;
}

/** Attempts include the first. Waits grow by `factor` from `baseMs` to `maxMs`, with jitter of up to a fifth. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

export interface StartNode extends NodeBase {
  readonly kind: "start";
}
export interface PromptNode extends NodeBase {
  readonly kind: "prompt";
  readonly text: Operand;
  /** Default: the role of the named prompt, else user. */
  readonly role?: Role;
  /** Default: the current agent. */
  readonly agent?: string;
  /** Use a new conversation for this activity alone. */
  readonly fresh?: true;
  /** Messages that precede the text in a fresh conversation. If there are any, an empty text is not sent. */
  readonly opening?: readonly { readonly role: Role; readonly text: Operand }[];
  readonly settings?: ModelSettings;
  /** The JSON Schema that the reply must satisfy. */
  readonly schema?: Json;
  /** Names of `Program.tools`. */
  readonly tools?: readonly string[];
  /** How often the results of tools are returned to the model before it must answer. Default: `usualRounds`. */
  readonly rounds?: number;
  /** Default: feed. */
  readonly toolUse?: ToolUse;
}
export interface ExecuteNode extends NodeBase {
  readonly kind: "execute";
  /** null: the commands are in RESULT's code blocks. */
  readonly command: string | null;
  readonly nonZero: "ok" | "fail";
  /** judge: a new session of its own, in which student programs are guests. Default: the run's session. */
  readonly session?: "judge";
  /** Whether the commands may be repeated if it is unknown whether they ran. */
  readonly repeat: "safe" | "never";
  /** Run the command without the processes and settings of earlier commands. Their files remain. */
  readonly clean?: true;
}
/** A grade for the submission by the program's rubric, from tests that ran and from models. */
export interface GradeNode extends NodeBase {
  readonly kind: "grade";
  /** The task in the author's words. A name refers to a prompt or is the text itself; it never refers to a variable. */
  readonly task: Operand;
  /** The agent whose settings are used. The conversation is always a new one. */
  readonly agent?: string;
  readonly settings?: ModelSettings;
}
export interface CheckNode extends NodeBase {
  readonly kind: "check";
  readonly condition: Condition;
}
export interface SetNode extends NodeBase {
  readonly kind: "set";
  readonly target: { readonly to: "variable"; readonly name: string } | { readonly to: "file"; readonly path: string };
  readonly value: Operand;
}
export interface AssignNode extends NodeBase {
  readonly kind: "assign";
  readonly value: Operand;
}
export interface AskNode extends NodeBase {
  readonly kind: "ask";
  /** Shown to the person together with RESULT. */
  readonly question: string;
  readonly timeoutMs?: number;
  readonly otherwise?: string;
}
export interface CallNode extends NodeBase {
  readonly kind: "call";
  /** Key of the callee in the definition's programs. */
  readonly program: string;
}
export interface ToolNode extends NodeBase {
  readonly kind: "tool";
  readonly tool: string;
  readonly arguments: Operand;
}
export interface MemoryNode extends NodeBase {
  readonly kind: "memory";
  /** similar: checks whether a passage is nearer than the threshold. The edge's label is true or false. */
  readonly op: "search" | "insert" | "similar";
  readonly text: Operand;
  /** For a search; default: 3. */
  readonly top?: number;
  /** For a search: the variable that receives the result, while RESULT stays unchanged. Default: RESULT. */
  readonly into?: string;
  /** For `similar`: a cosine. Default: 0.95. */
  readonly threshold?: number;
  /**
   * For a search: the tool of `Program.tools` that searches the web if the text is a JSON object with a query. Default: none.
   */
  readonly web?: string;
  /** web: always search the web. If absent, the text decides. */
  readonly where?: "web";
}
/** A prompt whose reply is a verdict: {status, evaluation, lesson}. The status is the edge label. */
export interface EvaluateNode extends NodeBase {
  readonly kind: "evaluate";
  readonly text: Operand;
  readonly agent?: string;
  readonly settings?: ModelSettings;
  /** Statuses by priority. If the reply names several, the first of these counts. */
  readonly statuses: readonly string[];
  /** How often the prompt is repeated, with an explanation, if the reply is not a verdict. */
  readonly repairs: number;
  /** The list that receives `evaluation\nlesson` of every verdict except those with the last status. */
  readonly lessons: string;
}
/** Runs one body per item of a list, at the same time, and continues when all are done. */
export interface MapNode extends NodeBase {
  readonly kind: "map";
  /** Text that is a JSON list, or contains one item per line. */
  readonly over: Operand;
  readonly each: MapBody;
  readonly concurrency: number;
  readonly itemError: "fail" | "collect";
  /** The share of items, 0 to 1, that must succeed. */
  readonly minSuccess: number;
}
type MapBody =
  | { readonly kind: "prompt"; readonly text: Operand; readonly settings?: ModelSettings }
  | { readonly kind: "call"; readonly program: string }
  | { readonly kind: "tool"; readonly tool: string };
export interface JoinNode extends NodeBase {
  readonly kind: "join";
}
/** A prompt whose reply names one of the candidates. That name is the edge label. */
export interface SelectNode extends NodeBase {
  readonly kind: "select";
  readonly text: Operand;
  readonly candidates: readonly string[];
  readonly settings?: ModelSettings;
  readonly repairs: number;
}
/** A node whose work produces a subgraph that replaces it (a plan, a decomposition). */
export interface SpliceNode extends NodeBase {
  readonly kind: "splice";
  readonly text: Operand;
  readonly agent?: string;
  readonly settings?: ModelSettings;
  /** The node that the plan replaces. Default: the splice node itself. */
  readonly replaces?: NodeId;
  /** The highest number of splits along one line of descent, this one included. */
  readonly lifeCycle: number;
}
/** A fragment of a program. Its heads inherit the edges into the replaced node, its tails the edges out of it. */
export interface Fragment {
  readonly nodes: Readonly<Record<NodeId, Node>>;
  readonly edges: readonly Edge[];
}
export interface EndNode extends NodeBase {
  readonly kind: "end";
  readonly outcome: "success" | "failed";
  /** A status that the caller receives with the outcome (an expert's status). */
  readonly status?: Operand;
}

export type Node =
  | StartNode
  | PromptNode
  | ExecuteNode
  | GradeNode
  | CheckNode
  | SetNode
  | AssignNode
  | AskNode
  | CallNode
  | ToolNode
  | MemoryNode
  | EvaluateNode
  | MapNode
  | JoinNode
  | SelectNode
  | SpliceNode
  | EndNode;
export type NodeKind = Node["kind"];

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
