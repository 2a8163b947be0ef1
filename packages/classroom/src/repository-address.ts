/**
 * Parses the address of a repository and rebuilds it from unambiguous parts. It can come from a roster that students filled in. Therefore
 * any text that can be read as a flag, a command, a password or another place is refused, and git gets only the rebuilt address.
 *
 * A1  One place has one spelling: case and form of the host, the usual port, percent-encoding and slashes at the end do not count. So the
 *     address compared with an allowed place (allowed-place.ts) is the address that git gets.
 * A2  No message repeats a possible password.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { SubmissionError, showName } from "@markmill/grading/submission";

export type RepositoryAddress = RemoteAddress | FileAddress;

export interface RemoteAddress {
  readonly scheme: "https" | "ssh";
  readonly user: string | null;
  /** In lower case. An IPv6 address is in brackets. */
  readonly host: string;
  /** null: the default port. */
  readonly port: number | null;
  /** The decoded segments of the path. */
  readonly segments: readonly string[];
  /** The address that git gets. */
  readonly url: string;
}

interface FileAddress {
  readonly scheme: "file";
  /** The path after all links were resolved. */
  readonly path: string;
  readonly url: string;
}

export interface AddressPlaces {
  /** Repositories below this folder are read as files. Absent: no files are read. */
  readonly folder?: string;
}

const hostName = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])$/i;
const userName = /^[a-z0-9_][a-z0-9_.-]{0,63}$/i;
const longest = 2_000;
const usualPorts = { https: 443, ssh: 22 } as const;

/** Throws SUBMISSION_REFUSED with a description of the error. */
export async function readAddress(written: string, { folder }: AddressPlaces = {}): Promise<RepositoryAddress> {
  const parts = takeApart(written);
  const no = refusing(written);
  if (parts.scheme === "file") return await fileAddress(parts.rest, folder, no);
  if (parts.segments.length === 0) throw no("names no host, or more than a host and a path");
  return parts;
}

/** The path of a remote address may be empty here. */
export function takeApart(written: string): RemoteAddress | { readonly scheme: "file"; readonly rest: string } {
  const text = written.trim();
  const no = refusing(written);
  if (text === "" || text.length > longest || !text.isWellFormed() || /[\s\p{Cc}\p{Cf}\\]/u.test(text))
    throw no("is not the address of a repository");
  const short = /^([^/:@\s]+)@([^/:@\s]+):(?!\/\/)\/?(.*)$/.exec(text);
  const [, written_ = "", rest = ""] =
    short === null
      ? (/^([a-z][a-z0-9+.-]*):\/\/(.+)$/i.exec(text) ?? [])
      : ["", "ssh", `${short[1]}@${short[2]}/${short[3]}`];
  const scheme = written_.toLowerCase();
  switch (scheme) {
    case "https":
    case "ssh":
      return remoteAddress(scheme, rest, no);
    case "file":
      return { scheme, rest };
    case "http":
    case "git":
      throw no("is not encrypted and is not fetched");
    default:
      throw no("is not an address that Markmill can fetch");
  }
}

function remoteAddress(scheme: "https" | "ssh", rest: string, no: Refusing): RemoteAddress {
  const [, authority = "", path = ""] = /^([^/?#]*)(\/[^?#]*)?$/.exec(rest) ?? [];
  const [, login, name = "", digits] = /^(?:([^@]*)@)?(\[[^\]]*\]|[^:@[\]]*)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (login !== undefined && scheme === "https") {
    throw no("contains a user or a password", "Remove it, and set GIT_TOKEN and GIT_TOKEN_HOST instead.");
  }
  const given = digits === undefined ? usualPorts[scheme] : Number(digits);
  if (!hostName.test(name) || !URL.canParse(`https://${name}/`) || given < 1 || given > 65_535) {
    throw no("names no host, or more than a host and a path");
  }
  if (login !== undefined && !userName.test(login))
    throw no("contains a password or an invalid user name", "Write ssh://USER@HOST/PATH.");
  // Other spellings of an IPv4 address become that address.
  const host = new URL(`https://${name}/`).hostname;
  const segments = path
    .replace(/(?<!\/)\/+$/, "")
    .split("/")
    .slice(1)
    .map((part) => decoded(part));
  if (segments.some((part) => part === null || !isPlain(part))) throw no("has a path that leaves its folder");
  const [user, port] = [login ?? null, given === usualPorts[scheme] ? null : given];
  const before = `${scheme}://${user === null ? "" : `${user}@`}${host}${port === null ? "" : `:${port}`}`;
  const plain = segments.filter((part) => part !== null);
  return { scheme, user, host, port, segments: plain, url: `${before}/${plain.map(encodeURI).join("/")}` };
}

/** A segment that every host reads as one name: not empty, not `..`, not a flag, and not decoded again. */
function isPlain(segment: string): boolean {
  return !/^$|^\.{1,2}$|^-|[/\\%;?#\p{Cc}\p{Cf}]/u.test(segment);
}

/** A path that leaves the folder, also through a link, is treated as missing. */
async function fileAddress(rest: string, folder: string | undefined, no: Refusing): Promise<FileAddress> {
  const outside = no("is outside the folder of the class", "Put the repositories below the folder of class.yaml.");
  // Decodes segment by segment, so that a segment from a roster stays one segment.
  const pieces = rest.split("/").map(decoded);
  if (
    folder === undefined ||
    !rest.startsWith("/") ||
    pieces.some((piece) => piece === null || /^\.\.$|[/\0]/.test(piece))
  )
    throw outside;
  const path = pieces.join("/");
  const [real, base] = await Promise.all([realpath(path).catch(() => null), realpath(folder).catch(() => null)]);
  if (real === null || base === null || !real.startsWith(base.endsWith(sep) ? base : base + sep)) throw outside;
  // git decodes the path once more.
  return { scheme: "file", path: real, url: `file://${encodeURI(real)}` };
}

/** Hosts that serve the same repositories over ssh where its port is closed. */
const otherNames: Readonly<Record<string, string>> = {
  "ssh.github.com": "github.com",
  "altssh.gitlab.com": "gitlab.com",
  "altssh.bitbucket.org": "bitbucket.org",
};

/**
 * The same text for all spellings of one repository. Scheme, user, port, case and `.git` do not count, because most hosts ignore them. Two
 * addresses that differ only in these are treated as one repository. Otherwise a student could hand in another student's repository as a
 * second one.
 */
export function repositoryIdentity(address: RepositoryAddress): string {
  const [host, path] =
    address.scheme === "file"
      ? ["", address.path]
      : [otherNames[address.host] ?? address.host, `/${address.segments.join("/")}`];
  const bare = path
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\/\.git$/, "");
  return `${host}${bare.replace(/(?<!\.git)(?:\.git)+$/, "")}`;
}

function decoded(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

type Refusing = (why: string, fix?: string) => SubmissionError;

function refusing(written: string): Refusing {
  return (why, fix = "Write https://HOST/PATH or ssh://USER@HOST/PATH.") =>
    new SubmissionError("SUBMISSION_REFUSED", `${showName(withoutSecret(written.trim()))} ${why}.`, fix);
}

/** A2: a message does not contain the text before the last @, except the ssh user, nor the text after a question mark. */
function withoutSecret(written: string): string {
  const text = written.replace(/([?#])[\s\S]+$/, "$1…");
  const [, scheme = "", before = "", after = ""] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*)@(.*)$/is.exec(text) ?? [];
  if (after === "" && before === "") return text;
  const isUser = userName.test(before) && (scheme === "" || /^ssh:/i.test(scheme));
  return isUser ? text : `${scheme}…@${after}`;
}
