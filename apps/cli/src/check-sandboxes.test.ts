import { type EngineStanding, SandboxError } from "@markmill/sandbox";
import { expect, it } from "vitest";
import { weighSandboxes } from "./check-sandboxes.ts";
import type { Finding } from "./finding.ts";

const thin = { name: "old-engine", message: "It is old.", fix: "Upgrade it." } as const;

function engine(host: string, more: Partial<EngineStanding> = {}): EngineStanding {
  return {
    host: `unix:///${host}`,
    wellFormed: true,
    problem: null,
    facts: {
      cgroupVersion: "2",
      cpus: 2,
      remapped: false,
      engineVersion: "29.5.1",
      runcVersion: "1.3.0",
      runtimes: [],
      warnings: [],
    },
    thinWalls: [],
    images: [{ name: "i", present: true }],
    storage: { place: "/data", driver: "overlayfs", freeBytes: 50 * 1024 ** 3 },
    selfTest: { safe: true, probes: 40, failures: [] },
    ...more,
  };
}
const away = (code: "SANDBOX_ENGINE_UNREACHABLE" | "SANDBOX_LIMIT_UNSUPPORTED", wellFormed = true) =>
  engine("a", { wellFormed, problem: new SandboxError(code, "It serves nothing.", "Mend it."), facts: null });
const jailed: Finding[] = [{ check: "jail", state: "ok", message: "" }];
const noJail: Finding[] = [{ check: "jail", state: "fail", message: "SANDBOX_TOOL_MISSING" }];

const states = (engines: readonly EngineStanding[], jail: readonly Finding[] = [], accept: "old-engine"[] = []) =>
  weighSandboxes(engines, jail, accept).flatMap(({ check, state }) => (state === "ok" ? [] : `${check} ${state}`));

it("doctor --sandbox: an engine that can run no sessions is not a failure while commands run elsewhere", () => {
  for (const code of ["SANDBOX_ENGINE_UNREACHABLE", "SANDBOX_LIMIT_UNSUPPORTED"] as const) {
    expect(states([away(code), engine("b")])).toEqual(["engine warn"]);
    expect(states([away(code)], jailed)).toEqual(["engine warn"]);
    expect(states([away(code)])).toEqual(["engine fail"]);
    expect(states([away(code)], noJail)).toEqual(["engine fail", "jail fail"]);
  }
});

it("doctor --sandbox: an engine that gets sessions but cannot run them safely is a failure, even beside a good engine and a good jail", () => {
  const lacks: readonly (readonly [string, Partial<EngineStanding>])[] = [
    ["self-test", { selfTest: { safe: false, probes: 40, failures: ["It reached the network."] } }],
    ["image", { images: [{ name: "i", present: false }] }],
    ["sandbox wall", { thinWalls: [thin] }],
    ["disk", { storage: { place: "/data", driver: "overlayfs", freeBytes: 1024 } }],
  ];
  for (const [check, lack] of lacks) {
    expect(states([engine("a"), engine("b", lack)])).toEqual([`${check} fail`]);
    expect(states([engine("b", lack)], jailed)).toEqual([`${check} fail`]);
  }
});

it("doctor --sandbox: a jail that is not used because Docker can run sessions is not a failure", () => {
  expect(states([engine("a")], noJail)).toEqual(["jail warn"]);
  expect(states([], noJail)).toEqual(["jail fail"]);
});

it("doctor --sandbox: a malformed address is a failure, because no engine works beside it", () => {
  expect(states([away("SANDBOX_ENGINE_UNREACHABLE", false), engine("b")])).toEqual(["engine fail"]);
});

it("doctor --sandbox shows each image and the free disk space, and warns about an accepted weak protection", () => {
  const images = [
    { name: "i", present: true },
    { name: "j", present: false },
  ];
  const found = weighSandboxes([engine("a", { images, thinWalls: [thin] })], [], ["old-engine"]);
  expect(found.map(({ check, state, message }) => `${state} ${check}: ${message}`)).toEqual([
    "ok engine: unix:///a: Docker 29.5.1, runc 1.3.0, cgroup v2",
    "ok image: unix:///a: i is available",
    "fail image: unix:///a: SANDBOX_IMAGE_REFUSED: j is missing, and Markmill never pulls images",
    "ok disk: unix:///a: 50.0 GiB free at /data (overlayfs)",
    "warn sandbox wall: unix:///a: WEAK PROTECTION (old-engine): It is old. It is accepted.",
    "ok self-test: unix:///a: all 40 probes were refused",
  ]);
});
