// Loaded into a process before its own code (--import): at SIGUSR2 it collects all garbage and appends what is left to MEMORY_PROBE.
import { appendFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const file = process.env.MEMORY_PROBE ?? "";

process.on("SIGUSR2", () => {
  // Twice, with a turn of the event loop between: finalisers of the first free what the second finds.
  collect();
  setTimeout(() => {
    collect();
    const { rss, heapUsed, external } = process.memoryUsage();
    appendFileSync(file, `${JSON.stringify({ pid: process.pid, rss, heapUsed, external })}\n`);
  }, 50).unref();
});
