// Writes the probe list of docs/security.md from the self-test. `node packages/sandbox/src/write-probe-list.ts docs/security.md` refreshes
// it.
import { readFileSync, writeFileSync } from "node:fs";
import { fileProbes } from "./probes/file-probes.ts";
import { judgeProbeNames } from "./probes/judge-probes.ts";
import { neighbourProbes } from "./probes/neighbour-probes.ts";
import { networkProbes } from "./probes/network-probes.ts";
import { resourceProbes } from "./probes/resource-probes.ts";
import { syscallProbeNames } from "./probes/syscall-probes.ts";
import { verdictProbes } from "./probes/verdict-probes.ts";

const names = (probes: readonly { readonly name: string }[]) => probes.map(({ name }) => name);

/** In the order of the self-test. */
export const probeAreas: readonly { readonly area: string; readonly names: readonly string[] }[] = [
  { area: "Files, devices and secrets of the host", names: names(fileProbes) },
  { area: "Network", names: names(networkProbes) },
  { area: "System calls", names: syscallProbeNames },
  { area: "Verdicts and what watches a command", names: names(verdictProbes) },
  { area: "Resources", names: names(resourceProbes) },
  { area: "Other sessions", names: names(neighbourProbes) },
  { area: "The judge and its guests", names: judgeProbeNames },
];

const probeListBegin = "<!-- probes: written by packages/sandbox/src/write-probe-list.ts -->\n";
const probeListEnd = "<!-- end of probes -->\n";

function writeProbeList(): string {
  const count = probeAreas.reduce((sum, area) => sum + area.names.length, 0);
  const areas = probeAreas.map((one) => `**${one.area}** (${one.names.length}): ${one.names.join(" · ")}.\n`);
  return [`${count} probes, each of which must be refused:\n`, ...areas].join("\n");
}

/** Replaces the list between the marks of `document` by the current list. */
export function refreshProbeList(document: string): string {
  const [before, rest] = document.split(probeListBegin);
  const after = rest?.split(probeListEnd)[1];
  if (before === undefined || after === undefined) throw new Error("the marks of the probe list are missing");
  return `${before}${probeListBegin}\n${writeProbeList()}\n${probeListEnd}${after}`;
}

if (import.meta.main) {
  const path = process.argv[2] ?? "docs/security.md";
  writeFileSync(path, refreshProbeList(readFileSync(path, "utf8")));
}
