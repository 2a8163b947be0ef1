// Copies a part of the host's /etc into a jail, once per process: the configuration that installed programs need to start (maven, java,
// alternatives, certificates, locale). Invariants:
// 1. The copy contains only names on the list. Of these it contains only regular files that every user of the host may read, in directories
//    that every user may enter. Links are copied as links: they lead only to places inside the jail.
// 2. The copy contains nothing that looks like a secret, by its name or by its content.
// 3. The copy is bounded in number and bytes; files beyond the bounds are left out.

import { constants } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { pack } from "tar-stream";

const MAX_ENTRIES = 3000;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_DEPTH = 6;

const words = (text: string): string[] => text.trim().split(/\s+/);

/** Paths below /etc; `*` stands for the rest of a name. */
const shown = words(`
  alternatives ant* ca-certificates ca-certificates.conf crypto-policies debian_version dictionaries-common dotnet ethertypes fonts
  gai.conf gdb ghc* ghostscript gnuplot* gradle* groff groovy* guile* host.conf ImageMagick* inputrc java* jvm* kotlin* ld.so.cache
  ld.so.conf ld.so.conf.d locale.alias locale.conf localtime lsb-release lua* magic magic.mime mailcap manpath.config maven*
  mime.types mono nanorc networks octave* os-release papersize perl php* pki/ca-trust/extracted pki/java pki/tls/certs
  pki/tls/cert.pem protocols python* R redhat-release rpc ruby* scala* services sgml shells ssl/certs ssl/openssl.cnf system-release
  terminfo texmf timezone vim xml`);

const secretName =
  /(^|[._-])(private|secrets?|credentials?|passw(or)?ds?|shadow|htpasswd|netrc|token)([._-]|$)|\.(key|p12|pfx|kdb)$/i;
const privateKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** A value that is assigned, not only mentioned in a comment. */
const secretValue = /(passw(or)?d|passphrase|secret|api[_-]?key|auth[_-]?token)["']?\s*[=:>]\s*["']?[^\s"'<$%*.#]/i;

/** A tar to unpack in the jail's own /etc. */
export async function packEtc(root = "/etc"): Promise<Buffer> {
  const archive = pack();
  const chunks: Buffer[] = [];
  const collected = (async () => {
    for await (const chunk of archive) chunks.push(chunk as Buffer);
  })();
  const left = { entries: MAX_ENTRIES, bytes: MAX_BYTES };
  for (const name of await expand(root)) await add(name, 0);
  archive.finalize();
  await collected;
  return Buffer.concat(chunks);

  async function add(name: string, depth: number): Promise<void> {
    const path = join(root, name);
    const stat = await lstat(path).catch(() => undefined);
    if (stat === undefined || depth > MAX_DEPTH || secretName.test(name.slice(name.lastIndexOf("/") + 1))) return;
    left.entries -= 1;
    if (left.entries < 0) return;
    if (stat.isSymbolicLink()) {
      const linkname = await readlink(path).catch(() => "");
      if (linkname !== "" && Buffer.byteLength(linkname) < 1000) archive.entry({ name, type: "symlink", linkname });
    } else if (stat.isDirectory()) {
      if ((stat.mode & 0o005) !== 0o005) return;
      archive.entry({ name, type: "directory", mode: 0o755 });
      for (const child of (await readdir(path).catch(() => [])).toSorted()) await add(`${name}/${child}`, depth + 1);
    } else if (stat.isFile()) {
      const bytes = await readPublic(path);
      if (bytes === undefined || bytes.length > left.bytes || holdsSecret(name, bytes)) return;
      left.bytes -= bytes.length;
      archive.entry({ name, mode: stat.mode & 0o100 ? 0o755 : 0o644 }, bytes);
    }
  }
}

/** The existing names on the list, with the directories above them. */
async function expand(root: string): Promise<string[]> {
  const names = await readdir(root).catch(() => [] as string[]);
  return shown.flatMap((pattern) =>
    pattern.endsWith("*") ? names.filter((name) => name.startsWith(pattern.slice(0, -1))).toSorted() : [pattern],
  );
}

/** Checks and reads the file through one descriptor, so that no process can replace it in between. */
async function readPublic(path: string): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || (stat.mode & 0o004) === 0 || stat.size > MAX_FILE_BYTES) return undefined;
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function holdsSecret(name: string, bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  if (privateKey.test(text)) return true;
  // These settings of runtimes mention key stores often. Keys themselves are detected above.
  if (/^(java|jvm|alternatives|ssl|pki|ca-certificates|fonts|vim|terminfo|perl)/.test(name)) return false;
  return secretValue.test(text.replace(/<!--[\s\S]*?-->/g, "").replace(/^[^\S\n]*[#;!].*$/gm, ""));
}
