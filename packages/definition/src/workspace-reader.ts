import { decodeSource } from "./decode-source.ts";
import type { FindingReport } from "./finding-codes.ts";
import type { Workspace } from "./workspace.ts";

/** Reads files of the workspace, each once, and records the read paths. */
export class WorkspaceReader {
  readonly #workspace: Workspace;
  readonly #self: string;
  readonly #report: FindingReport;
  readonly #bytes = new Map<string, Uint8Array | undefined>();
  readonly #texts = new Map<string, string | null | undefined>();
  readonly #noted = new Set<string>();
  #candidates: readonly string[] | null = null;

  constructor(workspace: Workspace, self: string, report: FindingReport) {
    this.#workspace = workspace;
    this.#self = self;
    this.#report = report;
  }

  #read(path: string): Uint8Array | undefined {
    if (!this.#bytes.has(path)) this.#bytes.set(path, this.#workspace.read(path));
    return this.#bytes.get(path);
  }

  refuses = (path: string): boolean => this.#workspace.refuses?.(path) === true;

  exists = (path: string): boolean => path === this.#self || this.#read(path) !== undefined;

  /** Returns the decoded text. null: there is no such file. undefined: the file is not valid text, which has been reported. */
  text = (path: string): string | null | undefined => {
    if (this.#texts.has(path)) return this.#texts.get(path);
    const bytes = this.#read(path);
    const text = bytes === undefined ? null : (decodeSource(bytes, path, this.#report) ?? undefined);
    this.#texts.set(path, text);
    return text;
  };

  candidates = (): Iterable<string> => {
    this.#candidates ??= [...(this.#workspace.list?.() ?? [])];
    return this.#candidates;
  };

  /** The files as bytes, without decoding. */
  get workspace(): Workspace {
    return this.#workspace;
  }

  /** Records files that were read from the workspace directly. */
  note(paths: readonly string[]): void {
    for (const path of paths) this.#noted.add(path);
  }

  /** Paths of all files that are part of the definition. */
  get read(): string[] {
    const texts = [...this.#texts].filter(([, text]) => typeof text === "string").map(([path]) => path);
    return [...new Set([...texts, ...this.#noted])];
  }
}
