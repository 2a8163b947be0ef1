/**
 * Fetches a student's submission from a git repository: the files of the last commit before the deadline, and that commit's hash and date.
 * If no commit is before the deadline, the newest commit is the submission, and its date shows how late it is. Fetching is a separate step
 * on this machine, with network access; no part of it runs in a grading sandbox.
 *
 * G1  Nothing in the repository is executed or changes the fetch: there is no working tree, so there are no hooks, filters, attributes,
 *     submodules or LFS. Files are read as objects. Git settings of the machine and its users are ignored, and no password prompt appears.
 * G2  Only https, ssh, and files below the folder of the class (repository-address.ts) are allowed. Redirects are not followed. A token is
 *     sent only to its host, through the environment: it appears in no argument, no address and no message.
 * G5  The source of the address decides which credentials are used. An address that class.yaml builds, or that lies in a place it allows,
 *     gets the credentials of this machine. Any other address came from a roster: only https to public addresses is allowed, without
 *     credentials. The addresses are looked up once, and git connects to exactly these.
 * G3  Size and time are limited before and during the fetch. The files that are read must also pass the limits of every submission.
 * G4  A failure that reveals nothing about the submission (no git, no network, a timeout, no permission) is thrown as FetchTrouble and
 *     never refuses the submission. Only an empty repository, objects that git refuses to store, links and size are the student's
 *     responsibility.
 * G6  A SHA-256 repository is fetched as one. A shallow clone is read as far as it goes. If its history ends before the deadline is
 *     reached, that is FetchTrouble: the commit that counts may be missing.
 *
 * On kill -9 only a folder below the system's temporary folder stays behind. The next fetch starts from the beginning.
 */
import { spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ReadWork,
  readArchive,
  SubmissionError,
  type SubmissionLimits,
  showName,
} from "@markmill/grading/submission";
import { type AddressRules, addressRules } from "@markmill/tools/address-rules";
import { type AllowedPlace, isInPlace } from "./allowed-place.ts";
import { type CommitFacts, commitFacts, LOG_FORMAT, type LoggedCommit, readLog, tellCommit } from "./commit-facts.ts";
import { FetchTrouble, saysContent } from "./fetch-trouble.ts";
import type { RemoteAddress, RepositoryAddress } from "./repository-address.ts";

export interface FetchOptions {
  readonly limits: SubmissionLimits;
  /** Milliseconds since 1970. Absent: the newest commit counts. */
  readonly deadline?: number;
  /** Where credentials may be sent and files may be read. `any`: class.yaml built the address. */
  readonly allow: "any" | readonly AllowedPlace[];
  readonly access?: GitAccess;
  readonly timeoutMs?: number;
  /** Rules for all other addresses. Default: public addresses only. */
  readonly rules?: AddressRules;
  /** Time of the fetch in milliseconds since 1970. Default: the clock's time. */
  readonly now?: number;
}

/** The credentials of this machine. */
export interface GitAccess {
  /** The token for one https host. */
  readonly token?: { readonly host: string; readonly value: string };
  /** Paths of files for ssh. Default: those of the current user. */
  readonly sshKey?: string;
  readonly knownHosts?: string;
  /** Certificate authorities for https hosts. Default: the system's. */
  readonly caFile?: string;
}

export interface FetchedWork extends ReadWork {
  readonly commit: CommitFacts;
}

const mostObjectBytes = 256 * 1024 * 1024;
const lookMs = 250;
const tooLong = "takes too long";
const withoutAttributes = "* -export-ignore -export-subst -filter -text -eol -crlf -ident -working-tree-encoding\n";

export async function fetchRepository(address: RepositoryAddress, options: FetchOptions): Promise<FetchedWork> {
  const { timeoutMs = 120_000, deadline, limits } = options;
  const { url, scheme } = address;
  const deadlineAt = performance.now() + timeoutMs;
  const passage = await passageOf(address, options);
  const from = await sourceOf(address);
  const folder = await mkdtemp(join(tmpdir(), "markmill-git-"));
  const git = (args: readonly string[], most = 1024 * 1024) =>
    runGit({ cwd: folder, scheme, ...passage }, args, most, Math.max(1, deadlineAt - performance.now()));
  try {
    if (passage.settings.length > 0) await requirePinning(git);
    await fetchHead(git, folder, "sha1", from).catch(async (error: unknown) => {
      if (!(error instanceof FetchTrouble) || !/mismatched algorithms|object[- ]format/i.test(error.message))
        throw error;
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
      await fetchHead(git, folder, "sha256", from);
    });
    const { chosen, later } = await chooseCommit(git, url, deadline);
    const [commit, parent = null] = chosen;
    const facts = commitFacts(commit, parent, options.now ?? Date.now());
    const skipped = later === 0 ? [] : [`ignored ${later} ${later === 1 ? "commit" : "commits"} after the deadline`];
    const notes = await unread(git, commit.hash);
    const most = limits.bytes + 2 * limits.files * 4096;
    const tar = await git(["archive", "--format=tar", `${commit.hash}^{tree}`], most);
    const { entries } = await readArchive("repository.tar", tar, limits);
    const doubts = facts.doubts.map((doubt) => `the date of the commit is doubtful: ${doubt}`);
    return { entries, notes: [tellCommit(facts), ...doubts, ...skipped, ...notes], commit: facts };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fetchHead(git: Git, folder: string, hash: "sha1" | "sha256", from: readonly string[]): Promise<void> {
  await git(["init", "--quiet", "--bare", ...(hash === "sha1" ? [] : [`--object-format=${hash}`]), "."]);
  // This file takes precedence over attributes in the tree, which could hide files or change their content.
  await mkdir(join(folder, "info"), { recursive: true });
  await writeFile(join(folder, "info/attributes"), withoutAttributes);
  const options = ["--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", "--update-shallow"];
  await git(["fetch", ...options, ...from, "HEAD"]);
}

interface Choice {
  /** The commit, and its predecessor if there is one. */
  readonly chosen: readonly [LoggedCommit, LoggedCommit?];
  /** The number of later commits, which do not count. */
  readonly later: number;
}

async function chooseCommit(git: Git, url: string, deadline: number | undefined): Promise<Choice> {
  const log = async (...args: readonly string[]) =>
    readLog((await git(["log", "--first-parent", ...args, LOG_FORMAT])).toString("utf8"));
  const until = deadline === undefined ? [] : [`--before=${new Date(deadline).toISOString()}`];
  const [inTime] = await log("-1", ...until, "FETCH_HEAD");
  if (
    inTime === undefined &&
    (await git(["rev-parse", "--is-shallow-repository"])).toString("utf8").trim() === "true"
  ) {
    throw trouble(
      `${showName(url)} is a shallow clone whose history does not reach back to the deadline.`,
      "Use a full clone: `git fetch --unshallow`.",
    );
  }
  const [found] = inTime === undefined ? await log("-1", "FETCH_HEAD") : [inTime];
  if (found === undefined) throw trouble(`${showName(url)} has no commit.`, "Check the repository.");
  const [, parent] = await log("-2", found.hash);
  const range = `${found.hash}..FETCH_HEAD`;
  const later = Number((await git(["rev-list", "--count", "--first-parent", range])).toString("utf8").trim());
  return { chosen: parent === undefined ? [found] : [found, parent], later };
}

/** For a local repository, git gets exactly the folder that was checked, and does not search for another one. */
async function sourceOf(address: RepositoryAddress): Promise<readonly string[]> {
  if (address.scheme !== "file") return ["--", address.url];
  const own = await ownFolder(address.path);
  if (own === null) {
    throw new FetchTrouble(
      `${showName(address.url)} is not a complete repository.`,
      "Use a plain clone: no links, alternates, worktrees or partial clones.",
      "INTAKE_REPOSITORY_NOT_ALLOWED",
    );
  }
  return ["--upload-pack=git-upload-pack --strict", "--", `file://${encodeURI(own)}`];
}

/** The settings and credentials for one request. */
interface Passage {
  readonly access: GitAccess;
  readonly settings: readonly string[];
}

/** See G5 in the file header. */
async function passageOf(address: RepositoryAddress, options: FetchOptions): Promise<Passage> {
  const { allow, access = {}, rules = addressRules([]) } = options;
  if (allow === "any") return { access: ownAccess(address, access), settings: [] };
  for (const place of allow) {
    if (await isInPlace(address, place)) return { access: ownAccess(address, access), settings: [] };
  }
  const { caFile } = access;
  if (address.scheme === "https") {
    return { access: caFile === undefined ? {} : { caFile }, settings: await pinned(address, rules) };
  }
  throw notAllowed(address, address.scheme === "ssh" ? "is reached with a key" : "is a file");
}

/** The search stops after this number of entries. */
const mostEntries = 100_000;

/**
 * Returns the folder of a repository that contains all its own data, so that git can open it by name: `.git` is not a file, and there are
 * no links, no alternate object folders and no settings from other places. null: the data could belong to another student.
 */
async function ownFolder(path: string): Promise<string | null> {
  const inside = join(path, ".git");
  const folder = (await lstat(inside).catch(() => null)) === null ? path : inside;
  for (const part of ["", "objects", "refs"]) {
    if ((await lstat(join(folder, part)).catch(() => null))?.isDirectory() !== true) return null;
  }
  if ((await lstat(join(folder, "HEAD")).catch(() => null))?.isFile() !== true) return null;
  const left = [""];
  let seen = 0;
  for (let place = left.pop(); place !== undefined; place = left.pop()) {
    for (const entry of await readdir(join(folder, place), { withFileTypes: true })) {
      const name = join(place, entry.name);
      seen += 1;
      if (seen > mostEntries || (!entry.isFile() && !entry.isDirectory()) || leading.has(name)) return null;
      if (entry.isDirectory()) left.push(name);
    }
  }
  const settings = await readFile(join(folder, "config"), "utf8").catch(() => "");
  return /\[\s*include|partialclone|promisor|worktreeconfig/i.test(settings) ? null : folder;
}

/** Files that make git read other places. */
const leading: ReadonlySet<string> = new Set([
  ...["commondir", "gitdir", "config.worktree", "objects/info/alternates", "objects/info/http-alternates"],
]);

/** A token is sent only to its host, whatever the address's origin. */
function ownAccess(address: RepositoryAddress, { token, ...access }: GitAccess): GitAccess {
  if (token === undefined || address.scheme !== "https") return access;
  const host = `${address.host}${address.port === null ? "" : `:${address.port}`}`;
  return token.host.toLowerCase().replace(/:443$/, "") === host ? { ...access, token: { ...token, host } } : access;
}

/**
 * Looks up the host's name here. All its addresses must be public, and git connects to exactly these. So a second lookup cannot return
 * another address.
 */
async function pinned(address: RemoteAddress, rules: AddressRules): Promise<readonly string[]> {
  const port = address.port ?? 443;
  const name = address.host.replace(/^\[|\]$/g, "");
  const found = await lookup(name, { all: true }).catch(() => {
    throw new FetchTrouble(`Host ${showName(name)} not found.`, "Check the address.");
  });
  if (found.length === 0 || !found.every((one) => rules.mayReach(one.address, port)))
    throw notAllowed(address, "is not public");
  const list = found.map((one) => (one.family === 6 ? `[${one.address}]` : one.address)).join(",");
  return [`http.curloptResolve=${address.host}:${port}:${list}`];
}

/** An older git would look up the name again. */
async function requirePinning(git: Git): Promise<void> {
  const said = (await git(["version"])).toString("utf8");
  const [, major = "0", minor = "0"] = /(?<!\d)(\d{1,9})\.(\d{1,9})/.exec(said) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 37)) return;
  throw new FetchTrouble(
    "git is older than 2.37, so Markmill does not fetch addresses from a roster.",
    "Install a newer git.",
  );
}

function notAllowed({ url }: RepositoryAddress, why: string): FetchTrouble {
  return new FetchTrouble(
    `${showName(url)} ${why}, and class.yaml does not allow it.`,
    "Check that the repository belongs to the student. Then add its place to class.yaml: `repositories: { from: roster, allow: [PLACE] }`.",
    "INTAKE_REPOSITORY_NOT_ALLOWED",
  );
}

type Git = (args: readonly string[], most?: number) => Promise<Buffer>;

/** Lists entries of the tree that are not in the submission. Links and submodules refuse it; large files stored elsewhere are reported. */
async function unread(git: Git, commit: string): Promise<string[]> {
  const listed = (await git(["ls-tree", "-r", "-z", commit], 16 * 1024 * 1024)).toString("utf8").split("\0");
  const notes: string[] = [];
  for (const line of listed) {
    const [, mode = "", path = ""] = /^(\d{6}) \S+ \S+\t([\s\S]+)$/.exec(line) ?? [];
    if (mode === "120000") throw refused(`${showName(path)} is a link.`, "Commit plain files.");
    if (mode === "160000") notes.push(`${showName(path)} is another repository and was not fetched`);
  }
  return notes;
}

interface Surroundings {
  readonly cwd: string;
  /** The only URL scheme that git may use. */
  readonly scheme: string;
  readonly access: GitAccess;
  readonly settings: readonly string[];
}

function runGit(
  { cwd, scheme, access, settings: more }: Surroundings,
  args: readonly string[],
  most: number,
  ms: number,
): Promise<Buffer> {
  const settings = [
    "protocol.allow=never",
    `protocol.${scheme}.allow=always`,
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "core.askPass=",
    "submodule.recurse=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "core.attributesFile=/dev/null",
    "http.followRedirects=false",
    // Do not use a Kerberos ticket of the current user.
    "http.emptyAuth=false",
    "http.proactiveAuth=none",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=30",
    // All data arrives as one pack, except from hosts that only serve files. The size of both is watched.
    "fetch.unpackLimit=1",
    "transfer.bundleURI=false",
    ...more,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn("git", [...settings.flatMap((one) => ["-c", one]), ...args], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      env: gitEnvironment(cwd, scheme, access),
      // A separate process group, so that its child processes end with it.
      detached: true,
    });
    const chunks: Buffer[] = [];
    let [bytes, words, why] = [0, "", ""];
    const stop = (reason: string) => {
      why ||= reason;
      endGroup(child.pid);
    };
    const timer = setTimeout(() => stop(tooLong), ms);
    const watch = setInterval(
      () => void sizeOf(cwd).then((size) => size > mostObjectBytes && stop("is too large")),
      lookMs,
    );
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > most) stop("is too large");
      else chunks.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (words.length < 4_000) words += chunk.toString("utf8");
    });
    const done = () => {
      clearTimeout(timer);
      clearInterval(watch);
      endGroup(child.pid);
    };
    child.on("error", (error: NodeJS.ErrnoException) => {
      done();
      reject(
        error.code === "ENOENT" ? new FetchTrouble("git is not installed on this machine.", "Install git.") : error,
      );
    });
    child.on("close", (code) => {
      done();
      if (why === tooLong) reject(new FetchTrouble(`The repository ${why}.`, "Try again later."));
      else if (why !== "")
        reject(refused(`The repository ${why}.`, "Remove files that are not part of the submission."));
      else if (code === 0) resolve(Buffer.concat(chunks));
      else
        reject(
          (args[0] === "fetch" && !saysContent(words) ? trouble : refused)(
            `git says: ${showName(told(withoutToken(words, access.token?.value)))}`,
            /redirect|returned error: 30[12378]/i.test(words)
              ? "Write the redirected address. Often, .git at the end is missing."
              : "Check the address and the access of this machine.",
          ),
        );
    });
  });
}

/** Removes the token from git's message: a host can repeat the request in its reply, and git prints the reply. */
function withoutToken(words: string, token: string | undefined): string {
  if (token === undefined) return words;
  return [token, basicOf(token), encodeURIComponent(token)].reduce((text, one) => text.replaceAll(one, "***"), words);
}

const basicOf = (token: string) => Buffer.from(`x-access-token:${token}`).toString("base64");

/** Finds the line that describes the error in the output of git and ssh. */
function told(words: string): string {
  const lines = words
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const cause = lines.find((line) => /permission denied|host key/i.test(line));
  return cause ?? lines.find((line) => /^(?:fatal|error|ssh):/i.test(line)) ?? lines.at(-1) ?? "nothing";
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/** Uses no settings, agent or helper of the current user. Over ssh, the user's key is used if no other key is named. */
function gitEnvironment(
  cwd: string,
  scheme: string,
  { token, sshKey, knownHosts, caFile }: GitAccess,
): Record<string, string> {
  const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;
  const ssh = [
    "ssh -F /dev/null -oBatchMode=yes -oStrictHostKeyChecking=yes -oConnectTimeout=20 -oClearAllForwardings=yes",
    "-oIdentityAgent=none -oProxyCommand=none",
    ...(sshKey === undefined ? [] : [`-oIdentitiesOnly=yes -i ${quoted(sshKey)}`]),
    ...(knownHosts === undefined
      ? []
      : [`-oUserKnownHostsFile=${quoted(knownHosts)} -oGlobalKnownHostsFile=/dev/null`]),
  ].join(" ");
  return {
    ...(caFile === undefined ? {} : { GIT_SSL_CAINFO: caFile }),
    ...(token === undefined
      ? {}
      : {
          GIT_CONFIG_COUNT: "1",
          GIT_CONFIG_KEY_0: `http.https://${token.host}/.extraHeader`,
          GIT_CONFIG_VALUE_0: `Authorization: Basic ${basicOf(token.value)}`,
        }),
    PATH: "/usr/local/bin:/usr/bin:/bin",
    HOME: cwd,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_SSH_COMMAND: ssh,
    GIT_SSH_VARIANT: "ssh",
    GIT_ALLOW_PROTOCOL: scheme,
    GIT_PROTOCOL_FROM_USER: "0",
  };
}

async function sizeOf(folder: string): Promise<number> {
  let sum = 0;
  for (const name of await readdir(join(folder, "objects"), { recursive: true }).catch(() => [])) {
    sum += (await stat(join(folder, "objects", name)).catch(() => null))?.size ?? 0;
  }
  return sum;
}

function trouble(message: string, fix: string): FetchTrouble {
  return new FetchTrouble(message, fix);
}

function refused(message: string, fix: string): SubmissionError {
  return new SubmissionError("SUBMISSION_REFUSED", message, fix);
}
