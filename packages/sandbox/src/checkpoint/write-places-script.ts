// The bash text that puts files back, run inside the session and as its user. Needs findutils, coreutils and tar, found by a PATH of
// its own. Folders that forbid writing are opened first; the archive holds every folder and gives them their mode again.

/**
 * Arguments: the folder the paths are relative to, the bytes of the list of paths to remove (each ended by NUL), the bytes of the
 * archive, then the places. Standard input: the list, then the archive.
 */
export const WRITE_PLACES = `
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
umask 022
cd -- "$1" || exit 1
list=$2 archive=$3
shift 3
find "$@" -type d ! -perm -700 -exec chmod u+rwx {} \\; 2>/dev/null
head -c "$list" | xargs -0 -r rm -rf -- || exit 1
head -c "$archive" | tar -x -p --no-same-owner -f -
exit "\${PIPESTATUS[1]}"
`;

export function removalList(paths: readonly string[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(""), "latin1");
}
