import { describe, expect, it } from "vitest";
import { parseAddress, versionWarnings } from "./engine-host.ts";

describe("an engine address", () => {
  it("can be a socket or a host", () => {
    expect(parseAddress("unix:///run/docker.sock")).toEqual({ socketPath: "/run/docker.sock" });
    expect(parseAddress("tcp://10.0.0.5:2375")).toEqual({ protocol: "http", host: "10.0.0.5", port: 2375 });
    expect(parseAddress("https://engine.example:2376/")).toEqual({
      protocol: "https",
      host: "engine.example",
      port: 2376,
    });
    expect(parseAddress("tcp://[::1]:2375")).toMatchObject({ host: "::1" });
  });

  it.each(["", "docker.sock", "unix://relative", "tcp://no-port", "ssh://user@host", "tcp://user:pass@host:1"])(
    "like %j is refused with an example of a valid one",
    (address) => {
      expect(() => parseAddress(address)).toThrow(/is not a Docker host address.*unix:\/\//);
    },
  );
});

describe("version warnings", () => {
  it("name versions below the minimum", () => {
    expect(versionWarnings("h", "20.10.24+dfsg1", "1.1.5+ds1")).toHaveLength(2);
    expect(versionWarnings("h", "29.5.1", "1.2.8")).toEqual([]);
    expect(versionWarnings("h", "29.10.0", "1.3.0")).toEqual([]);
    expect(versionWarnings("h", "30.0.0", "")).toEqual([expect.stringContaining("unknown version")]);
  });
});
