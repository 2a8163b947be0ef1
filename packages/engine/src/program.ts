/**
 * The program form: what every dialect compiles to. Plain JSON data, no code, readonly throughout, so that it can be hashed,
 * stored, shown and replayed. Nothing in it tells where in a source file it came from: positions live beside it, in the
 * definition's source map, which keeps `parse ∘ format` the identity on programs.
 *
 * P1  Every edge joins nodes that exist. P2  `entry` and the handlers name nodes. P3  A node is run only by a token on one of
 * its edges, as an entry, or as a handler.
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
  /** Of the dialect, where there are several; for people. */
  readonly revision?: string;
  readonly name: string;
  readonly description: string;
  readonly params: readonly Param[];
  readonly prompts: Readonly<Record<string, Prompt>>;
  readonly nodes: Readonly<Record<NodeId, Node>>;
  readonly edges: readonly Edge[];
  readonly entry: readonly NodeId[];
  readonly handlers: { readonly success: NodeId | null; readonly failed: NodeId | null };
  /** Settings of named agents; the unnamed agent is the empty string. */
  readonly agents: Readonly<Record<string, ModelSettings>>;
  readonly settings: ModelSettings;
  readonly sandbox: SandboxNeeds;
  /** Absent: a judge session has no files of the teacher and the usual limits. */
  readonly judge?: JudgeNeeds;
  /** What GRADE judges by, read and checked by the dialect; the engine hands it on. Absent: nothing is graded. */
  readonly rubric?: Json;
  /** Absent: the usual (`usualGrading`). */
  readonly grading?: Grading;
  readonly limits: Limits;
  /** Whether a run needs a submission; absent: the author does not say. none: its commands need none. */
  readonly submission?: "required" | "optional" | "none";
  /** Trouble of a model's endpoint. wait (absent): the run waits, and takes no edge. edge: after some attempts it fails the activity. */
  readonly trouble?: "wait" | "edge";
  /** How long trouble is waited for; absent: as the request says, or the usual half hour. */
  readonly patienceMs?: number;
  readonly scheduling: Scheduling;
  /** Lists (stacks, inboxes) a run starts with. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly result: ResultRule;
  /** What models may ask for, by the name they see. Absent: nothing. */
  readonly tools?: Readonly<Record<string, Tool>>;
  /** Servers of tools, by the name `McpTool.server` uses. */
  readonly mcp?: Readonly<Record<string, McpServer>>;
  /** Passages that are found by meaning. Absent: the run's own, by the embedder that needs no model. */
  readonly memory?: MemoryNeeds;
  /** Contents of the files that operands name, by path, as they were when the definition was loaded. */
  readonly files: Readonly<Record<string, string>>;
}

/** eager: each outcome takes effect when it arrives. superstep: outcomes of nodes that ran together take effect together, in the order in which the nodes became ready. */
export type Scheduling = "eager" | "superstep";

export interface Param {
  readonly name: string;
  /** null: required. The empty string: optional, empty. */
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
  /** A reply that ended at the limit of output tokens: used, with a note (keep), or a failure of its activity. */
  readonly cutReplies?: "keep" | "fail";
}

/** What a workflow asks of its sandbox session; the server's ceiling is applied where the session is made. */
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
  /** The longest file that is read or written as a value. */
  readonly fileBytes?: number;
  /** Block languages, besides the shell, that EXECUTE may run. */
  readonly languages?: readonly string[];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly checkpoint?: boolean;
}

/** A server that speaks the Model Context Protocol. */
export type McpServer = HttpServer | StdioServer;

/** Reached by its address (streamable HTTP). */
export interface HttpServer {
  readonly transport: "http";
  readonly url: string;
  readonly headers?: Readonly<Record<string, ToolHeader>>;
}

/** A program that is started in the run's sandbox session and spoken to over its stdin and stdout. */
export interface StdioServer {
  readonly transport: "stdio";
  /** The program, sought in PATH unless it holds a slash, and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface MemoryNeeds {
  /** Shared by all runs of the tenant that name it. Absent: the root run's own, which goes with it. */
  readonly scope?: string;
  readonly embedder: Embedder;
}

/** hash: words, hashed; no model is asked and nothing is paid. model: any that makes embeddings. */
export type Embedder =
  | { readonly kind: "hash"; readonly dimensions?: number }
  | {
      readonly kind: "model";
      readonly model: string;
      readonly dimensions?: number;
      /** Put before what is searched for, not before what is stored: some models want it. */
      readonly queryPrefix?: string;
    };

/** How a GRADE makes sure of what a model says. */
export interface Grading {
  /** The work is looked at once more without comments and texts in quotes: always, where something in it speaks to the grader, never. */
  readonly twice: "always" | "flagged" | "never";
  /** Models that are asked beside the first; their disagreement wants a person. */
  readonly panel: readonly string[];
  /** What sends a work to a person. */
  readonly review: {
    /** A model less sure than this, 0 to 1. */
    readonly confidence: number;
    /** A share of the points, such as the pass mark; null: none. */
    readonly pass: number | null;
    /** How near to it is borderline, as a share. */
    readonly borderline: number;
    /** The share of a criterion that words in the work may gain before it is flagged. Absent: the usual. */
    readonly gain?: number;
    /** Kinds of flags. */
    readonly flags: readonly string[];
  };
}

/** What a judge session is made of; the server's ceiling is applied where it is made. */
export interface JudgeNeeds
  extends Pick<
    SandboxNeeds,
    "image" | "memoryBytes" | "cpus" | "pids" | "diskBytes" | "wallMs" | "cpuMs" | "silenceMs" | "outputBytes"
  > {
  /** Folders and files below the workflow root that hold the teacher's files. */
  readonly from: readonly string[];
  /** Those files, base64, by path below /judge. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * An autograder made for Gradescope among the files: `autograder.zip`, or all below `autograder/`. What it leaves are the results of the
   * tests. setup: whether its setup.sh runs each time.
   */
  readonly autograder?: { readonly from: string; readonly setup: "run" | "skip" };
  /** What is judged: the submission as it was handed in, or the files as they now are in the student's session. */
  readonly of: "submission" | "workspace";
}

/** null: no such limit. Money is integer nanodollars. */
export interface Limits {
  /** Executions of one node, at most. */
  readonly hits: number;
  /** Activities of the run, its handlers apart. */
  readonly steps: number;
  /** Runs below a root run. */
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
      /** As a list even where there is one. */
      readonly each?: true;
      /** A list, or several values, as JSON; a single value stays as it is. */
      readonly json: boolean;
      readonly post: readonly PostRule[];
      /** `post` also after JSON. */
      readonly postJson?: true;
    };

export type PostRule =
  | { readonly do: "replace"; readonly what: string; readonly by: string }
  | { readonly do: "append" | "prepend"; readonly text: string }
  | { readonly do: "trim" | "trimStart" | "trimEnd" | "toLower" | "toUpper" };

export interface Edge {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The outcome that takes this edge: ok, fail, or a label a node gives (an evaluator's status, a selector's choice). */
  readonly on: "ok" | "fail" | (string & {});
  readonly when?: Condition;
  /** The activation group of the target this edge feeds; absent: the group named "". */
  readonly group?: string;
  /** Taken at most so often per run; then the edge is as good as absent. */
  readonly max?: number;
  /** What taking the edge writes, before the target begins. */
  readonly effects?: readonly Effect[];
  /** rerun: the target runs again and feeds only `from`, the node that asked; its other successors keep what they have. */
  readonly rerun?: true;
}

export type Effect =
  | { readonly do: "set"; readonly name: string; readonly value: Operand }
  | { readonly do: "push"; readonly list: string; readonly value: Operand }
  | { readonly do: "clear"; readonly list: string };

/** When tokens on the edges of one activation group make the node run. Groups of one node are alternatives. */
export type Join =
  | { readonly mode: "any" }
  | { readonly mode: "all" }
  | { readonly mode: "quorum"; readonly of: number };

interface NodeBase {
  /** Words a person sees on the node. */
  readonly label?: string;
  /** Absent: one group "" with mode any. */
  readonly groups?: Readonly<Record<string, Join>>;
  /** first (default): the first edge that fits is taken. all: every edge that fits. */
  readonly select?: "first" | "all";
  /** Named inputs, resolved in order when the node begins; a missing required one fails the node and undoes its pops. */
  readonly reads?: readonly Read[];
  /** Written, in order, when the node ends with ok. */
  readonly writes?: readonly Effect[];
  /**
   * Named values for the conditions of its edges, resolved in order when it has ended with ok and its writes are done. Where a condition
   * cannot be decided, the node fails; what it wrote stays, what these and its reads took is given back.
   */
  readonly after?: readonly Read[];
  /** It belongs to another node's work: it counts no step, and a limit of steps does not keep it from beginning. */
  readonly uncounted?: true;
  /** It continues the work of the node before it. If it fails, the reads of that node give back what they took, too. */
  readonly continues?: true;
  readonly retry?: RetryPolicy;
}

export interface Read {
  readonly name: string;
  readonly value: Operand;
  readonly required: boolean;
}

/** Attempts include the first. Waits grow by factor from baseMs to maxMs, with up to a fifth of jitter. */
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
  /** Absent: the role the named prompt declares, else user. */
  readonly role?: Role;
  /** Absent: the current agent. */
  readonly agent?: string;
  /** A conversation of its own for this activity alone. */
  readonly fresh?: true;
  /** Messages that stand before the text in a fresh conversation. After them an empty text is not sent. */
  readonly opening?: readonly { readonly role: Role; readonly text: Operand }[];
  readonly settings?: ModelSettings;
  /** JSON schema the reply must satisfy. */
  readonly schema?: Json;
  /** Names of `Program.tools`. */
  readonly tools?: readonly string[];
  /** How often results of tools are given back; then it has to answer. Absent: `usualRounds`. */
  readonly rounds?: number;
  /** Absent: feed. */
  readonly toolUse?: ToolUse;
}
export interface ExecuteNode extends NodeBase {
  readonly kind: "execute";
  /** null: the commands are those in RESULT's code blocks. */
  readonly command: string | null;
  readonly nonZero: "ok" | "fail";
  /** judge: a fresh session of its own, in which student programs are guests. Absent: the run's session. */
  readonly session?: "judge";
  /** May the commands be repeated when it is unknown whether they ran? */
  readonly repeat: "safe" | "never";
  /** Nothing earlier commands left running or set reaches it; their files do. */
  readonly clean?: true;
}
/** A verdict on the submission by the program's rubric, from tests that ran and from models. */
export interface GradeNode extends NodeBase {
  readonly kind: "grade";
  /** What the work was about, in the author's words. A name is a prompt's, or the words themselves; never a variable's. */
  readonly task: Operand;
  /** Whose settings are used; the conversation is always one of its own. */
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
  /** Asked beside RESULT. */
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
  /** similar: is there a passage nearer than the threshold? The edge's label is true or false. */
  readonly op: "search" | "insert" | "similar";
  readonly text: Operand;
  /** Of a search; absent: 3. */
  readonly top?: number;
  /** Of a search: the variable that gets what was found, and RESULT stays. Absent: RESULT. */
  readonly into?: string;
  /** Of similar, a cosine; absent: 0.95. */
  readonly threshold?: number;
  /**
   * Of a search: the tool of `Program.tools` that searches the web instead where the text is a JSON object with a query. Absent: none.
   */
  readonly web?: string;
  /** web: it searches the web whatever the text is. Absent: the text says. */
  readonly where?: "web";
}
/** A prompt whose reply is a verdict: {status, evaluation, lesson}. The status is the edge label. */
export interface EvaluateNode extends NodeBase {
  readonly kind: "evaluate";
  readonly text: Operand;
  readonly agent?: string;
  readonly settings?: ModelSettings;
  /** By priority: when the reply names several, the first of these wins. */
  readonly statuses: readonly string[];
  /** Asked again so often, with what was wrong, when the reply is no verdict. */
  readonly repairs: number;
  /** List that receives `evaluation\nlesson` of every verdict but the last status. */
  readonly lessons: string;
}
/** One body per item of a list, together, joined when all are done. */
export interface MapNode extends NodeBase {
  readonly kind: "map";
  /** Text that is a JSON list, or one item per line. */
  readonly over: Operand;
  readonly each: MapBody;
  readonly concurrency: number;
  readonly itemError: "fail" | "collect";
  /** Share of items, 0 to 1, that must succeed. */
  readonly minSuccess: number;
}
type MapBody =
  | { readonly kind: "prompt"; readonly text: Operand; readonly settings?: ModelSettings }
  | { readonly kind: "call"; readonly program: string }
  | { readonly kind: "tool"; readonly tool: string };
export interface JoinNode extends NodeBase {
  readonly kind: "join";
}
/** A prompt whose reply names one of the candidates; that name is the edge label. */
export interface SelectNode extends NodeBase {
  readonly kind: "select";
  readonly text: Operand;
  readonly candidates: readonly string[];
  readonly settings?: ModelSettings;
  readonly repairs: number;
}
/** A node whose work yields a subgraph that takes its place (a plan, a decomposition). */
export interface SpliceNode extends NodeBase {
  readonly kind: "splice";
  readonly text: Operand;
  readonly agent?: string;
  readonly settings?: ModelSettings;
  /** The node whose place the plan takes; absent: the splice node itself. */
  readonly replaces?: NodeId;
  /** Splits along one line of descent, this one included. */
  readonly lifeCycle: number;
}
/** A piece of program. Heads inherit the edges into the replaced node, tails those out of it. */
export interface Fragment {
  readonly nodes: Readonly<Record<NodeId, Node>>;
  readonly edges: readonly Edge[];
}
export interface EndNode extends NodeBase {
  readonly kind: "end";
  readonly outcome: "success" | "failed";
  /** Told to the caller beside the outcome (an expert's status). */
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
