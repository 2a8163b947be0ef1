/** Checks the parts of a container that a program in it can read: none of them names the run, the session or this installation. */
import { resolve } from "node:path";
import type Docker from "dockerode";
import { expect, it } from "vitest";
import { defaultLimits } from "../limits.ts";
import { containerTemplate, labelsOf } from "./container-template.ts";
import { Launcher } from "./launcher.ts";
import { runTool } from "./run-tool.ts";

const secrets = ["run-0f1e2d3c4b5a", "judge-9f8e7d6c", "worker-77", resolve(import.meta.dirname, "../../../..")];

/** The complete create request, except the parts that the engine keeps to itself. */
function seenInside(asked: object): string {
  const { name: _, Labels: __, ...inside } = asked as { name?: string; Labels?: object };
  return JSON.stringify(inside);
}

it("a guest's container shows no run id, session id or install path in anything the guest can read", () => {
  const labels = labelsOf({ app: "a", run: "run-0f1e2d3c4b5a", worker: "worker-77", created: "c", deadline: "d" });
  const asked = containerTemplate(
    {
      name: "markmill-session-judge-9f8e7d6c-1",
      image: "sandbox@sha256:0",
      limits: defaultLimits,
      uid: 50_007,
      labels,
      lifetimeSeconds: 60,
      readOnly: ["/submission", "/judge"],
    },
    { cgroupVersion: "2", cpus: 2, remapped: false },
  );
  expect(JSON.stringify(asked)).toContain("run-0f1e2d3c4b5a");
  for (const secret of secrets) expect(seenInside(asked), secret).not.toContain(secret);
  // Without these settings the engine would show the container's own name, or the cgroups of the host.
  expect(asked.Hostname).toBe("sandbox");
  expect(asked.HostConfig.CgroupnsMode).toBe("private");
});

it("programs in a guest's container start without the environment of this process and without the session id", async () => {
  const asked: object[] = [];
  const container = {
    id: "judge-9f8e7d6c",
    exec: async (options: object) => {
      asked.push(options);
      throw new Error("no engine");
    },
  } as unknown as Docker.Container;
  await expect(Launcher.create(container, 50_007, true)).rejects.toThrow("no engine");
  await expect(Launcher.create(container, 50_007)).rejects.toThrow("no engine");
  await expect(runTool(container, 50_007, ["tar"], undefined, 10)).rejects.toThrow("no engine");
  expect(asked).toHaveLength(3);
  for (const one of asked) {
    expect(one).toMatchObject({ WorkingDir: "/", User: "50007:50007" });
    for (const secret of [...secrets, process.execPath, process.env["PATH"] ?? "PATH"])
      expect(seenInside(one), secret).not.toContain(secret);
  }
});
