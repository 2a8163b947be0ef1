// Reads and writes tar archives. A name is a string of bytes (latin1), so a file name that is not valid UTF-8 is restored exactly.
// Invariants:
// 1. `writeTar` writes everything that `readTar` reads: type, mode, time to the nanosecond, link, content.
// 2. Content is never interpreted. A truncated or malformed archive throws, and no entry of it is used.

import { SandboxError } from "../sandbox-error.ts";

type TarType = "file" | "directory" | "symlink" | "hardlink" | "fifo";

export interface TarEntry {
  /** Relative, without a leading `./` and without a trailing `/`. */
  readonly path: string;
  readonly type: TarType;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
  /** Seconds since 1970 with up to nine decimals, as text: a number would lose the last decimals. */
  readonly mtime: string;
  /** The target of a symlink or hardlink. Empty for other types. */
  readonly target: string;
  readonly bytes: Uint8Array;
}

const BLOCK = 512;
const none = new Uint8Array();
const flags: Readonly<Record<TarType, string>> = {
  file: "0",
  hardlink: "1",
  symlink: "2",
  directory: "5",
  fifo: "6",
};
const types = new Map<string, TarType>([
  ...Object.entries(flags).map(([type, flag]) => [flag, type as TarType] as const),
  ["\0", "file"],
  ["7", "file"],
]);

/** The maximum size of an entry in an archive. */
export function tarSize(nameBytes: number, contentBytes: number): number {
  const long = nameBytes > 100 ? BLOCK + padded(nameBytes + 1) : 0;
  return 3 * BLOCK + long + padded(contentBytes);
}

export function writeTar(entries: Iterable<TarEntry>): Buffer {
  const chunks: Uint8Array[] = [];
  for (const entry of entries) putEntry(chunks, entry);
  chunks.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(chunks);
}

/** Like `writeTar`, but calls `pace` between two entries. */
export async function writeTarPaced(entries: Iterable<TarEntry>, pace: () => Promise<void>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (const entry of entries) {
    putEntry(chunks, entry);
    await pace();
  }
  chunks.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(chunks);
}

function putEntry(chunks: Uint8Array[], entry: TarEntry): void {
  const put = (bytes: Uint8Array) => {
    chunks.push(bytes);
    const rest = padded(bytes.length) - bytes.length;
    if (rest > 0) chunks.push(new Uint8Array(rest));
  };
  const text = (value: string) => Buffer.from(value, "latin1");
  const name = entry.type === "directory" ? `${entry.path}/` : entry.path;
  if (name.length > 100) {
    put(header("././@LongLink", "L", 0, name.length + 1, 0, ""));
    put(text(`${name}\0`));
  }
  if (entry.target.length > 100) {
    put(header("././@LongLink", "K", 0, entry.target.length + 1, 0, ""));
    put(text(`${entry.target}\0`));
  }
  if (entry.mtime.includes(".")) {
    const record = text(paxRecord("mtime", entry.mtime));
    put(header("pax", "x", 0o644, record.length, 0, ""));
    put(record);
  }
  const seconds = Math.max(0, Math.floor(Number(entry.mtime)));
  const content = entry.type === "file" ? entry.bytes : none;
  put(header(name.slice(0, 100), flags[entry.type], entry.mode, content.length, seconds, entry.target.slice(0, 100)));
  put(content);
}

export function* readTar(archive: Uint8Array): Generator<TarEntry> {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  let extra: { path?: string; target?: string; mtime?: string; size?: number } = {};
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const head = bytes.subarray(at, at + BLOCK);
    at += BLOCK;
    if (head.every((byte) => byte === 0)) return;
    if (checksum(head) !== octal(head, 148, 8)) throw broken("a header has a wrong sum");
    const flag = head.toString("latin1", 156, 157);
    const special = "LKxg".includes(flag);
    const size = special ? octal(head, 124, 12) : (extra.size ?? octal(head, 124, 12));
    const holds = flag === "0" || flag === "\0" || flag === "7" || special;
    const content = bytes.subarray(at, at + (holds ? size : 0));
    if (holds && content.length < size) throw broken("it ends in the middle of a file");
    at += holds ? padded(size) : 0;
    if (flag === "L") extra.path = upToNul(content);
    else if (flag === "K") extra.target = upToNul(content);
    else if (flag === "x") extra = { ...extra, ...readPax(content) };
    else if (flag !== "g") {
      const type = types.get(flag);
      if (type === undefined) throw broken(`it holds an entry of type ${JSON.stringify(flag)}`);
      const ustar = head.toString("latin1", 257, 263) === "ustar\0";
      const prefix = ustar ? upToNul(head.subarray(345, 500)) : "";
      const short = upToNul(head.subarray(0, 100));
      const path = cleanPath(extra.path ?? (prefix === "" ? short : `${prefix}/${short}`));
      const target = extra.target ?? upToNul(head.subarray(157, 257));
      const directory = type === "directory" || (type === "file" && /\/$/.test(extra.path ?? short));
      if (path !== "") {
        yield {
          path,
          type: directory ? "directory" : type,
          mode: octal(head, 100, 8) & 0o7777,
          mtime: extra.mtime ?? String(octal(head, 136, 12)),
          target: type === "hardlink" ? cleanPath(target) : type === "symlink" ? target : "",
          bytes: type === "file" ? content : none,
        };
      }
      extra = {};
    }
  }
}

/** Removes `.` parts and doubled slashes. */
function cleanPath(path: string): string {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}

function header(name: string, flag: string, mode: number, size: number, seconds: number, target: string): Buffer {
  const head = Buffer.alloc(BLOCK);
  head.write(name, 0, 100, "latin1");
  head.write(`${(mode & 0o7777).toString(8).padStart(7, "0")}\0`, 100, "latin1");
  head.write("0000000\0", 108, "latin1");
  head.write("0000000\0", 116, "latin1");
  head.write(`${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  head.write(`${Math.min(seconds, 0o77777777777).toString(8).padStart(11, "0")}\0`, 136, "latin1");
  head.write(flag, 156, "latin1");
  head.write(target, 157, 100, "latin1");
  // The GNU format stores long names as plain bytes. A reader would convert a pax path by its locale.
  head.write("ustar  \0", 257, "latin1");
  head.write(`${checksum(head).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return head;
}

function checksum(head: Buffer): number {
  let sum = 8 * 32;
  for (let at = 0; at < BLOCK; at += 1) if (at < 148 || at >= 156) sum += head[at] ?? 0;
  return sum;
}

function octal(head: Buffer, from: number, length: number): number {
  // Numbers too large for octal have their first bit set and are big-endian.
  if (((head[from] ?? 0) & 0x80) !== 0) {
    let value = (head[from] ?? 0) & 0x7f;
    for (let at = from + 1; at < from + length; at += 1) value = value * 256 + (head[at] ?? 0);
    return value;
  }
  return Number.parseInt(upToNul(head.subarray(from, from + length)).trim() || "0", 8);
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

function readPax(content: Buffer): { path?: string; target?: string; mtime?: string; size?: number } {
  const found: { path?: string; target?: string; mtime?: string; size?: number } = {};
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(" ", at, "latin1");
    const length = Number(content.toString("latin1", at, space));
    if (space < 0 || !(length > 0)) throw broken("an extended header makes no sense");
    const record = content.toString("latin1", space + 1, at + length - 1);
    const [key, value] = [record.slice(0, record.indexOf("=")), record.slice(record.indexOf("=") + 1)];
    if (key === "path") found.path = value;
    if (key === "linkpath") found.target = value;
    if (key === "mtime" && /^\d+(\.\d{1,9})?$/.test(value)) found.mtime = value;
    if (key === "size") found.size = Number(value);
    at += length;
  }
  return found;
}

function upToNul(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("latin1", 0, end < 0 ? bytes.length : end);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function broken(what: string): SandboxError {
  return new SandboxError("SANDBOX_FILES_FAILED", `An archive cannot be read: ${what}.`, "Pack it again.");
}
