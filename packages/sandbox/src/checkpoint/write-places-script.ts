// The bash script that restores files, inside the session and as its user. It needs findutils, coreutils and tar, and sets its own PATH. It
// makes read-only folders writable first. The archive holds every folder and restores its mode.

/**
 * Arguments: the folder the paths are relative to; the size in bytes of the list of paths to remove (each ended by NUL), or `all`; the size
 * in bytes of the archive; the writable folders. Standard input: the list, then the archive.
 */
export const WRITE_PLACES = `
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
umask 022
cd -- "$1" || exit 1
list=$2 archive=$3
shift 3
# Thousands side by side in one call; those that only an opened one shows, one by one.
find "$@" -type d ! -perm -700 -exec chmod u+rwx {} + 2>/dev/null
find "$@" -type d ! -perm -700 -exec chmod u+rwx {} \\; 2>/dev/null
if [[ $list == all ]]; then
  find "$@" -mindepth 1 -maxdepth 1 -uid $UID -exec rm -rf -- {} + || exit 1
else
  head -c "$list" | xargs -0 -r rm -rf -- || exit 1
fi
head -c "$archive" | tar -x -p --no-same-owner -f -
exit "\${PIPESTATUS[1]}"
`;

/** The argument for the removals, and the list that the script reads from standard input. */
export function removals(paths: readonly string[] | "all"): { readonly word: string; readonly list: Buffer } {
  if (paths === "all") return { word: "all", list: Buffer.alloc(0) };
  const list = pathList(paths);
  return { word: String(list.length), list };
}

export function pathList(paths: Iterable<string>): Buffer {
  return Buffer.from([...paths].map((path) => `${path}\0`).join(""), "latin1");
}
