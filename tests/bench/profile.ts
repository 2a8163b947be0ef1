/** Markmill alone under V8's CPU profiler: the profiles for a viewer, and where each process spent its time. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withSystem } from "./measure-load.ts";
import type { Services } from "./start-services.ts";
import { formatNumber, renderTable } from "./table.ts";

const directory = fileURLToPath(new URL("results/profiles", import.meta.url));
const root = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const shown = 25;

export async function profile(services: Services, queue: "redis" | "postgres", runs: number): Promise<string> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const name = queue === "redis" ? "markmill" : "markmill-postgres";
  const workload = { kind: "chain", steps: 10 } as const;
  const names = await withSystem(
    services,
    name,
    workload,
    async (system) => {
      await system.measure(runs, 32);
      return new Map(Object.entries(system.pids).map(([part, pid]) => [pid, part]));
    },
    directory,
  );
  const tables = readdirSync(directory).map((file) => {
    // CPU.<date>.<time>.<pid>.<thread>.<sequence>.cpuprofile
    const part = names.get(Number(file.split(".")[3])) ?? file;
    return `${part}: ${relative(root, join(directory, file))}\n${summarise(join(directory, file))}`;
  });
  return tables.join("\n\n");
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Time on top of the stack, by function; what waits in (idle) is left out. */
function summarise(file: string): string {
  const { nodes, samples, timeDeltas }: CpuProfile = JSON.parse(readFileSync(file, "utf8"));
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  const self = new Map<string, number>();
  samples.forEach((id, index) => {
    const place = places.get(id) ?? "?";
    if (place !== "(idle)") self.set(place, (self.get(place) ?? 0) + (timeDeltas[index] ?? 0));
  });
  const total = [...self.values()].reduce((sum, time) => sum + time, 0);
  const rows = [...self].sort(([, a], [, b]) => b - a).slice(0, shown);
  const cells = rows.map(([place, time]) => [
    place,
    formatNumber(time / 1000, 1),
    formatNumber((time / total) * 100, 1),
  ]);
  return renderTable([["function", "self ms", "%"], ...cells]);
}

function placeOf({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]): string {
  const name = functionName || "(anonymous)";
  if (url === "") return name;
  const path = url.startsWith("file:") ? relative(root, fileURLToPath(url)) : url;
  return `${name} ${path.replace(/^.*node_modules\//, "")}:${lineNumber + 1}`;
}
