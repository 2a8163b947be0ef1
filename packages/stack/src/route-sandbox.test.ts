import { proveSandbox, type Sandbox, type SandboxChoice, type SessionSpec } from "@markmill/sandbox";
import { describe, expect, it } from "vitest";
import { lateSandbox } from "./late-sandbox.ts";
import { routeSandbox } from "./route-sandbox.ts";

/** Records the requested kind and creates no session. */
function recorder(kind: "docker" | "jail" | "none", asked: string[]): Sandbox {
  return {
    kind,
    open: async ({ id }) => {
      asked.push(`${kind} ${id}`);
      throw new Error("recorded");
    },
    list: async () => [],
    remove: async (id) => void asked.push(`remove ${kind} ${id}`),
    close: async () => void asked.push(`close ${kind}`),
  };
}

const spec = (id: string) => ({ id, labels: { run: id } }) as unknown as SessionSpec;

describe("routeSandbox", () => {
  it("gives a run the sandbox that it was started with, in any worker", async () => {
    const asked: string[] = [];
    const choices: Record<string, SandboxChoice> = { trusted: "none", foreign: "jail" };
    const sandbox = routeSandbox({
      own: { choice: "none", sandbox: recorder("none", asked) },
      choiceOf: async (rootId) => choices[rootId] ?? null,
      open: async (choice) => recorder(choice === "none" ? "none" : "jail", asked),
      watched: false,
    });
    for (const id of ["trusted", "foreign", "foreign", "silent"])
      await expect(sandbox.open(spec(id))).rejects.toThrow("recorded");
    expect(asked).toEqual(["none trusted", "jail foreign", "jail foreign", "none silent"]);
    await sandbox.remove("x");
    await sandbox.close();
    expect(asked.slice(4)).toEqual(["remove none x", "remove jail x", "close none", "close jail"]);
  });

  it("refuses an unavailable sandbox instead of replacing it, and retries later", async () => {
    let tries = 0;
    const sandbox = routeSandbox({
      own: { choice: "none", sandbox: recorder("none", []) },
      choiceOf: async () => "docker",
      open: async () => {
        tries += 1;
        throw new Error("no engine");
      },
      watched: false,
    });
    await expect(sandbox.open(spec("a"))).rejects.toThrow("no engine");
    await expect(sandbox.open(spec("a"))).rejects.toThrow("no engine");
    expect(tries).toBe(2);
    await expect(sandbox.list()).resolves.toEqual([]);
  });

  it("reports the self-test of the worker's own sandbox if the worker is long-running", async () => {
    const sandbox = { ...recorder("docker", []), proven: async () => ({ safe: true, failures: [], thin: [] }) };
    const routes = {
      own: { choice: "docker" as const, sandbox },
      choiceOf: async () => null,
      open: async () => sandbox,
    };
    const stays = routeSandbox({ ...routes, watched: true });
    expect("proven" in stays && (await stays.proven())).toMatchObject({ safe: true });
    // A worker for a single run tests its sandbox when a command needs it.
    expect(routeSandbox({ ...routes, watched: false })).not.toHaveProperty("proven");
    const plain = { choice: "none" as const, sandbox: recorder("none", []) };
    expect(routeSandbox({ ...routes, own: plain, watched: true })).not.toHaveProperty("proven");
  });

  it("asks every opened sandbox whether memory ended a session, and ignores those that cannot answer", async () => {
    const asked: string[] = [];
    const answering = (name: string, answer: () => Promise<boolean>) => ({
      ...recorder("jail", []),
      endedByMemory: async (instance: string) => {
        asked.push(`${name} ${instance}`);
        return await answer();
      },
    });
    const broken = answering("own", async () => {
      throw new Error("no engine");
    });
    const sandbox = routeSandbox({
      own: { choice: "docker", sandbox: broken },
      choiceOf: async (rootId) => (rootId === "plain" ? "none" : "jail"),
      open: async (choice) => (choice === "none" ? recorder("none", []) : answering("other", async () => true)),
      watched: false,
    });
    expect(await sandbox.endedByMemory?.("a")).toBe(false);
    await expect(sandbox.open(spec("plain"))).rejects.toThrow("recorded");
    await expect(sandbox.open(spec("foreign"))).rejects.toThrow("recorded");
    expect(await sandbox.endedByMemory?.("b")).toBe(true);
    expect(asked).toEqual(["own a", "own b", "other b"]);
  });
});

type Optional = { [Name in keyof Sandbox]-?: undefined extends Sandbox[Name] ? Name : never }[keyof Sandbox];

describe("a sandbox wrapper", () => {
  /** Every new optional method of a sandbox must be listed here. `proveSandbox` uses the methods that it does not pass on. */
  const optional: Record<Optional, "passed on" | "used by the self-test"> = {
    answers: "passed on",
    endedByMemory: "passed on",
    thinWalls: "used by the self-test",
    identity: "used by the self-test",
  };
  const told: string[] = [];
  const whole: Required<Sandbox> = {
    ...recorder("docker", []),
    thinWalls: async () => [],
    identity: async () => "",
    answers: async () => void told.push("answers"),
    endedByMemory: async () => {
      told.push("endedByMemory");
      return true;
    },
  };
  const proven = proveSandbox(whole);
  const late = lateSandbox("docker", async () => proven);
  const own = { choice: "docker" as const, sandbox: late };
  const routed = routeSandbox({ own, choiceOf: async () => null, open: async () => whole, watched: true });

  it.each([
    ["proveSandbox", proven],
    ["lateSandbox", late],
    ["routeSandbox", routed],
  ])("%s passes on every optional method", async (_, sandbox) => {
    told.length = 0;
    const passed = Object.entries(optional).flatMap(([name, how]) => (how === "passed on" ? [name] : []));
    for (const name of passed) expect(sandbox).toHaveProperty(name);
    await sandbox.answers?.();
    expect(await sandbox.endedByMemory?.("a")).toBe(true);
    expect(told).toEqual(passed);
  });
});
