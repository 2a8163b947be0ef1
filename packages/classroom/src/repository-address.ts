/**
 * The address of a repository, taken apart and put together again from pieces that mean one thing only. It may come from a roster that students
 * filled in: whatever could be read as a flag, a command, a password or another place is refused, and what is left is what git gets.
 */
import { realpath } from "node:fs/promises";
import { sep } from "node:path";
import { SubmissionError, showName } from "@markmill/submission";

export interface AddressPlaces {
  /** Below this folder repositories are read as files; absent: nowhere. */
  readonly folder?: string;
}

const host = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])$/i;
const user = /^[a-z0-9_][a-z0-9_.-]{0,63}$/i;
const longest = 2_000;

/** As git gets it. Throws SUBMISSION_REFUSED with what is wrong. */
export async function repositoryAddress(written: string, { folder }: AddressPlaces = {}): Promise<string> {
  const text = written.trim();
  const no = (why: string, fix = "Write https://HOST/PATH or ssh://USER@HOST/PATH.") =>
    new SubmissionError("SUBMISSION_REFUSED", `${showName(withoutSecret(text))} ${why}.`, fix);
  if (text === "" || text.length > longest || /[\s\p{Cc}\p{Cf}\\]/u.test(text))
    throw no("is no address of a repository");
  const short = /^([^/:@\s]+)@([^/:@\s]+):(?!\/\/)(.+)$/.exec(text);
  const [, scheme = "", rest = ""] =
    short === null
      ? (/^([a-z][a-z0-9+.-]*):\/\/(.+)$/i.exec(text) ?? [])
      : ["", "ssh", `${short[1]}@${short[2]}/${short[3]}`];
  switch (scheme.toLowerCase()) {
    case "https":
    case "ssh":
      break;
    case "file":
      return await fileAddress(rest, folder, no);
    case "http":
    case "git":
      throw no("is not encrypted and is not fetched");
    default:
      throw no("is no address of a repository that is fetched here");
  }
  const [, authority = "", path = ""] = /^([^/?#]*)(\/[^?#]+)$/.exec(rest) ?? [];
  const [, login, name = "", port] = /^(?:([^@]*)@)?(\[[^\]]*\]|[^:@[\]]*)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (!host.test(name) || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) {
    throw no("names no host, or more than a host and a path");
  }
  if (login !== undefined && scheme.toLowerCase() === "https") {
    throw no("holds a user or a password", "Take it out; set GIT_TOKEN and GIT_TOKEN_HOST instead.");
  }
  if (login !== undefined && !user.test(login))
    throw no("holds a password, or a user that is none", "Write ssh://USER@HOST/PATH.");
  if (
    decoded(path)
      .split("/")
      .some((part) => part === ".." || part.startsWith("-"))
  )
    throw no("has a path that leads elsewhere");
  return `${scheme.toLowerCase()}://${login === undefined ? "" : `${login}@`}${name}${port === undefined ? "" : `:${port}`}${path}`;
}

/** What leads out of the folder, by a link too, is as if it were not there. */
async function fileAddress(
  rest: string,
  folder: string | undefined,
  no: (why: string, fix?: string) => SubmissionError,
): Promise<string> {
  const outside = no("lies outside the folder of the class", "Put the repositories below the folder of class.yaml.");
  const path = decoded(rest);
  if (folder === undefined || !path.startsWith("/") || path.includes("\0")) throw outside;
  const [real, base] = await Promise.all([realpath(path).catch(() => null), realpath(folder).catch(() => null)]);
  if (real === null || base === null || !real.startsWith(base.endsWith(sep) ? base : base + sep)) throw outside;
  return `file://${real}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "..";
  }
}

/** Whatever stands before an @ is not repeated. */
function withoutSecret(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^@/\s:]*:[^@/\s]*@/i, "$1…@");
}
