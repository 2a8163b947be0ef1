/** Compiles an upload into plain data, which can be passed between threads. */
import { type Loaded, type Definition as LoadedDefinition, loadDefinition, type Workspace } from "@markmill/definition";

export interface Upload {
  readonly root: string;
  /** Files by path. The paths were checked before. */
  readonly files: Readonly<Record<string, string | { readonly base64: string }>>;
}

export interface LoadOrder {
  readonly id: number;
  readonly upload: Upload;
  readonly environment: readonly string[];
}

export interface LoadedUpload {
  readonly definition: Pick<LoadedDefinition, "hash" | "dialect" | "root" | "programs"> | null;
  readonly findings: Loaded["findings"];
  /** The source texts by path. */
  readonly sources: Readonly<Record<string, string>>;
}

export function loadUpload({ root, files }: Upload, environment: readonly string[]): LoadedUpload {
  const workspace = workspaceOf(files);
  const { definition, findings } = loadDefinition(workspace, root, { environment });
  if (definition === null) return { definition: null, findings, sources: {} };
  const { hash, dialect, programs } = definition;
  const sources = definition.files.map(({ path }) => [path, new TextDecoder().decode(workspace.read(path))] as const);
  return {
    definition: { hash, dialect, root: definition.root, programs },
    findings,
    sources: Object.fromEntries(sources),
  };
}

/** Files in memory, so that no path can read the server's own files. */
function workspaceOf(files: Upload["files"]): Workspace {
  const bytes = new Map<string, Uint8Array>();
  for (const [path, content] of Object.entries(files)) {
    bytes.set(
      path,
      typeof content === "string" ? new TextEncoder().encode(content) : Buffer.from(content.base64, "base64"),
    );
  }
  return {
    read: (path) => bytes.get(path),
    list: () => bytes.keys(),
    tree: (folder) => {
      const below = [...bytes.keys()].filter((path) => path.startsWith(`${folder}/`));
      return below.length === 0 ? undefined : { files: below, leftOut: [] };
    },
  };
}
