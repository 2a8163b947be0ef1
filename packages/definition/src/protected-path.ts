/**
 * Paths that no workflow may read from the host, regardless of its author: dot-files and dot-folders (`.env`, `.git`, `.markmill`, `.ssh`)
 * and files with keys.
 *
 * G1  A path is checked by the names that a file system may read it as, not by its bytes. Case, compatibility forms (`．env`), characters
 *     that some file systems ignore, trailing dots and spaces, and streams (`x.pem::$DATA`) make no difference.
 * G2  Every segment counts: a path below a dot-folder is as protected as the folder.
 */
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/gu;

const keyFiles = [
  /\.(?:pem|key|p8|p12|pfx|pkcs12|jks|keystore|ppk|kdbx?|gpg|pgp|kubeconfig|env)$/,
  /\.env\.[^.]+$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?!.*\.pub$)/,
  /^_?netrc$/,
  /^(?:npmrc|pypirc|pgpass|htpasswd|git-credentials)$/,
  /^credentials$|^(?:credentials|secrets)\.(?:json|ya?ml|toml|ini)$/,
  /^service[-_]account.*\.json$/,
];

/** `path` is relative to the folder that may be read. `.` and `..` in it make no difference. */
export function isProtectedPath(path: string): boolean {
  const segments = path.split(/[/\\]/).map(plainName);
  return segments.some((name, index) => {
    if (name === "" || name === "." || name === "..") return false;
    return name.startsWith(".") || (index === segments.length - 1 && keyFiles.some((pattern) => pattern.test(name)));
  });
}

function plainName(segment: string): string {
  if (segment === "." || segment === "..") return segment;
  const name = segment.normalize("NFKC").replace(ignorable, "").trim().toLowerCase();
  const stream = name.indexOf(":");
  return (stream > 0 ? name.slice(0, stream) : name).replace(/(?<=[^. ])[. ]+$/, "");
}

/** The texts of findings about such paths. */
export const protectedReason = "workflows cannot read hidden files, key files and Markmill's own folder";
export const protectedFix =
  "Copy the needed text into a file with an ordinary name, such as notes.md, without secrets.";
