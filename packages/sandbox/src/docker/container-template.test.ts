import { describe, expect, it } from "vitest";
import { defaultLimits } from "../limits.ts";
import { containerTemplate, labelsOf, pickUid, readLabels } from "./container-template.ts";

const wish = {
  name: "markmill-new-1",
  image: "sandbox@sha256:0",
  limits: defaultLimits,
  uid: 50_007,
  labels: {},
  lifetimeSeconds: 60,
};

describe("the container template", () => {
  it("requests at most the cores of the engine, and never zero cores", () => {
    const cores = (cpus: number) =>
      containerTemplate(
        { ...wish, limits: { ...defaultLimits, cpus } },
        { cgroupVersion: "2", cpus: 2, remapped: false },
      ).HostConfig.NanoCpus;
    expect(cores(8)).toBe(2e9);
    expect(cores(0.5)).toBe(5e8);
    expect(cores(0.0001)).toBe(1e7);
  });

  it("sets swappiness only where the kernel supports it", () => {
    const one = containerTemplate(wish, { cgroupVersion: "1", cpus: 2, remapped: false }).HostConfig;
    const two = containerTemplate(wish, { cgroupVersion: "2", cpus: 2, remapped: false }).HostConfig;
    expect(one.MemorySwappiness).toBe(0);
    expect("MemorySwappiness" in two).toBe(false);
    expect(two.MemorySwap).toBe(two.Memory);
  });

  it("gives the container no access to the host, for any request", () => {
    const { HostConfig } = containerTemplate(
      { ...wish, runtime: "runsc" },
      { cgroupVersion: "2", cpus: 2, remapped: false },
    );
    for (const name of [
      "Binds",
      "Mounts",
      "Devices",
      "CapAdd",
      "PidMode",
      "UsernsMode",
      "VolumesFrom",
      "PortBindings",
    ]) {
      expect(name in HostConfig, name).toBe(false);
    }
    expect(HostConfig).toMatchObject({ Runtime: "runsc", NetworkMode: "none", Privileged: false });
  });

  it("bounds every writable folder in bytes and inodes, without devices or set-uid programs", () => {
    const { Tmpfs = {} } = containerTemplate(wish, { cgroupVersion: "2", cpus: 2, remapped: false }).HostConfig;
    expect(Object.keys(Tmpfs).sort()).toEqual(["/dev/shm", "/tmp", "/workspace"]);
    for (const options of Object.values(Tmpfs)) expect(options).toMatch(/nosuid,nodev.*nr_inodes=\d+/);
    for (const place of ["/tmp", "/workspace"]) expect(Tmpfs[place]).toContain(`size=${defaultLimits.diskBytes}`);
  });

  it.each([16, 64, 96, 512, 4096])(
    "leaves processes their promised memory when every folder is full (%i MiB)",
    (mib) => {
      const limits = { ...defaultLimits, memoryBytes: mib * 1024 * 1024, diskBytes: mib * 1024 * 1024 };
      for (const scratch of [undefined, "/autograder" as const]) {
        const template = containerTemplate(
          { ...wish, limits, scratch },
          { cgroupVersion: "2", cpus: 2, remapped: false },
        );
        const { Tmpfs = {}, Memory = 0 } = template.HostConfig;
        const sum = (name: string) =>
          Object.values(Tmpfs).reduce((all, text) => all + Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1]), 0);
        expect(Memory - sum("size")).toBe(limits.memoryBytes);
        expect(sum("nr_inodes") * 1280).toBeLessThanOrEqual(Math.max(limits.memoryBytes * 0.6, 10 * 1024 * 1024));
      }
    },
  );

  it("bounds System V memory, except on an engine that may not set it", () => {
    const sysctls = (remapped: boolean) =>
      containerTemplate(wish, { cgroupVersion: "2", cpus: 2, remapped }).HostConfig.Sysctls;
    expect(Object.keys(sysctls(false) ?? {})).toEqual(["kernel.shmall", "kernel.msgmni", "kernel.sem"]);
    expect(sysctls(true)).toBeUndefined();
  });
});

describe("read-only folders of a container", () => {
  it("are owned by the keeper, a user that commands cannot become", () => {
    const { Tmpfs = {} } = containerTemplate(
      { ...wish, readOnly: ["/judge", "/submission"] },
      { cgroupVersion: "2", cpus: 2, remapped: false },
    ).HostConfig;
    for (const place of ["/judge", "/submission"])
      expect(Tmpfs[place]).toMatch(/nosuid,nodev.*mode=0755,uid=49999,gid=49999/);
  });
});

describe("picking a uid", () => {
  it("never returns a taken uid while another is free", () => {
    const taken = new Set<number>();
    for (let turn = 0; turn < 1_000; turn += 1) {
      const uid = pickUid(taken);
      expect(taken.has(uid)).toBe(false);
      expect(uid).toBeGreaterThanOrEqual(50_000);
      expect(uid).toBeLessThan(51_000);
      taken.add(uid);
    }
    expect(taken.has(pickUid(taken))).toBe(true);
  });
});

describe("container labels", () => {
  it("are the same after writing and reading", () => {
    const labels = {
      app: "markmill",
      run: "r1",
      worker: "w1",
      created: "2030-01-01T00:00:00Z",
      deadline: "2030-01-02T00:00:00Z",
    };
    expect(readLabels(labelsOf(labels))).toEqual(labels);
  });
});
