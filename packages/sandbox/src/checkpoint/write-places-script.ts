// The bash text that puts files back, run inside the session and as its user. Needs findutils, coreutils and tar, found by a PATH of
// its own. Folders that forbid writing are opened first; the archive holds every folder and gives them their mode again.

/**
 * Arguments: the folder the paths are relative to, the bytes of the list of paths to remove (each ended by NUL) or `all`, the bytes of
 * the archive, then the places. Standard input: the list, then the archive.
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

/** What the script is told of the removals, and what it reads of them. */
export function removals(paths: readonly string[] | "all"): { readonly word: string; readonly list: Buffer } {
  if (paths === "all") return { word: "all", list: Buffer.alloc(0) };
  const list = pathList(paths);
  return { word: String(list.length), list };
}

export function pathList(paths: Iterable<string>): Buffer {
  return Buffer.from([...paths].map((path) => `${path}\0`).join(""), "latin1");
}
