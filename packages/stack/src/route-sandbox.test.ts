import type { Sandbox, SandboxChoice, SessionSpec } from "@markmill/sandbox";
import { describe, expect, it } from "vitest";
import { routeSandbox } from "./route-sandbox.ts";

/** Records which kind was asked; no session is made. */
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
  it("a run gets the kind it was started with, whoever works for it", async () => {
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

  it("a kind that cannot be had is refused, not replaced, and tried again", async () => {
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

  it("says of the worker's own sandbox whether it has passed its self-test, where the worker stays", async () => {
    const sandbox = { ...recorder("docker", []), proven: async () => ({ safe: true, failures: [], thin: [] }) };
    const routes = {
      own: { choice: "docker" as const, sandbox },
      choiceOf: async () => null,
      open: async () => sandbox,
    };
    const stays = routeSandbox({ ...routes, watched: true });
    expect("proven" in stays && (await stays.proven())).toMatchObject({ safe: true });
    // A worker of one run tests its sandbox when a command needs it.
    expect(routeSandbox({ ...routes, watched: false })).not.toHaveProperty("proven");
    const plain = { choice: "none" as const, sandbox: recorder("none", []) };
    expect(routeSandbox({ ...routes, own: plain, watched: true })).not.toHaveProperty("proven");
  });
});
