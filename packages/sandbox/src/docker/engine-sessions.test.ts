import { expect, it } from "vitest";
import { engineBounds } from "./engine-bounds.ts";
import type { EngineHost } from "./engine-host.ts";
import { listHost, removeFromHost } from "./engine-sessions.ts";

const containers = [
  { name: "/markmill-session-a", State: "running", age: 3_600_000 },
  { name: "/markmill-session-b", State: "exited", age: 0 },
  { name: "/markmill-new-c", State: "running", age: 3_600_000, session: "c" },
  { name: "/markmill-new-d", State: "created", age: 60_000, session: "d" },
  { name: "/markmill-new-0123456789abcdef", State: "created", age: 200_000, session: "a" },
  { name: "/markmill-pool-f", State: "created", age: 200_000 },
  { name: "/markmill-new-g", State: "created", age: null },
];
const removed: string[] = [];

function host(): EngineHost {
  const docker = {
    getVolume: () => ({ remove: async () => undefined }),
    getContainer: (name: string) => ({ remove: async () => void removed.push(name) }),
    listVolumes: async () => ({ Volumes: [] }),
    // The filter by label is used only to remove one container, and none of these containers has its id.
    listContainers: async ({ filters = "" }) =>
      filters.includes("markmill.session=")
        ? []
        : containers.map(({ name, State, age, session }) => ({
            Names: [name],
            State,
            Labels: {
              ...(age === null ? {} : { "markmill.created": new Date(Date.now() - age).toISOString() }),
              ...(session === undefined ? {} : { "markmill.session": session }),
            },
          })),
  };
  return { docker, address: "unix:///e", bounds: engineBounds } as unknown as EngineHost;
}

it("a dead container is removed by its own name, and the session created in its place stays", async () => {
  await removeFromHost(host(), "new-0123456789abcdef");
  expect(removed).toEqual(["markmill-session-new-0123456789abcdef", "markmill-new-0123456789abcdef"]);
});

it("a container that was created but never started is dead once its worker has given it up", async () => {
  expect((await listHost(host())).map(({ id, status }) => `${id} ${status}`)).toEqual([
    "a live",
    "b dead",
    "c starting",
    "d starting",
    "new-0123456789abcdef dead",
    "pool-f dead",
    "new-g dead",
  ]);
});
