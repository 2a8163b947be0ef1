// npm runs scripts with the pinned Node from node_modules/.bin. With install scripts switched off that binary is missing and
// the system's Node is used without a word: say so before anything fails in a less obvious way.
const major = Number(process.versions.node.split(".")[0]);
if (major < 24) {
  console.error(
    `Markmill needs Node 24; this is Node ${process.versions.node}.\n` +
      "The pinned runtime comes with the npm package `node`, whose install script did not run.\n" +
      "Fix: npm ci --ignore-scripts=false   (or put Node 24 first in PATH)",
  );
  process.exit(1);
}
