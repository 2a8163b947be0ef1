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

/** An empty folder for profiles. */
export function freshProfiles(): string {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** `names`: processes by their pids. `from`: what was before it, in microseconds of the machine's clock, is left out. */
export function summariseProfiles(names: ReadonlyMap<number, string>, from: number): string {
  const tables = readdirSync(directory).map((file) => {
    // CPU.<date>.<time>.<pid>.<thread>.<sequence>.cpuprofile
    const part = names.get(Number(file.split(".")[3])) ?? file;
    return `${part}: ${relative(root, join(directory, file))}\n${summarise(join(directory, file), from)}`;
  });
  return tables.join("\n\n");
}

export async function profile(services: Services, queue: "redis" | "postgres", runs: number): Promise<string> {
  freshProfiles();
  const name = queue === "redis" ? "markmill" : "markmill-postgres";
  const workload = { kind: "chain", steps: 10 } as const;
  let from = 0;
  const names = await withSystem(
    services,
    name,
    workload,
    async (system) => {
      await system.measure(Math.ceil(runs / 2), 32);
      from = Number(process.hrtime.bigint() / 1000n);
      await system.measure(runs, 32);
      return new Map(Object.entries(system.pids).map(([part, pid]) => [pid, part]));
    },
    { profiles: directory },
  );
  return summariseProfiles(names, from);
}

interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  /** Microseconds of the machine's monotonic clock. */
  readonly startTime: number;
  readonly timeDeltas: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** Time on top of the stack since `from`, by package and by function; what waits in (idle) is left out. */
function summarise(file: string, from: number): string {
  const { nodes, samples, startTime, timeDeltas }: CpuProfile = JSON.parse(readFileSync(file, "utf8"));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byPackage = new Map<string, number>();
  const byFunction = new Map<string, number>();
  let at = startTime;
  samples.forEach((id, index) => {
    const delta = timeDeltas[index] ?? 0;
    at += delta;
    const frame = frames.get(id);
    if (at < from || frame === undefined || frame.functionName === "(idle)") return;
    add(byPackage, packageOf(frame), delta);
    add(byFunction, `${frame.functionName || "(anonymous)"} ${placeOf(frame)}`, delta);
  });
  return `${rank("package", byPackage, 12)}\n\n${rank("function", byFunction, shown)}`;
}

function add(times: Map<string, number>, key: string, delta: number): void {
  times.set(key, (times.get(key) ?? 0) + delta);
}

function rank(heading: string, times: ReadonlyMap<string, number>, most: number): string {
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const rows = [...times].sort(([, a], [, b]) => b - a).slice(0, most);
  const cells = rows.map(([key, time]) => [key, formatNumber(time / 1000, 1), formatNumber((time / total) * 100, 1)]);
  return renderTable([[heading, "self ms", "%"], ...cells]);
}

function packageOf({ functionName, url }: CallFrame): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "native";
  const [, npm] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (npm !== undefined) return npm;
  if (!url.startsWith("file:")) return url.split(":", 1)[0] ?? url;
  return relative(root, fileURLToPath(url)).split("/").slice(0, 2).join("/");
}

function placeOf({ url, lineNumber }: CallFrame): string {
  if (url === "") return "";
  const path = url.startsWith("file:") ? relative(root, fileURLToPath(url)) : url;
  return `${path.replace(/^.*node_modules\//, "")}:${lineNumber + 1}`;
}
