// The compose file's engine gets the session image from a container of that image, over the engine's socket alone.
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";

const script = fileURLToPath(new URL("../../infra/images/sandbox/load-image.mjs", import.meta.url));
const available =
  (await dockerAvailable("the loader of the sandbox's image")) && (await sharedDocker()).host.startsWith("unix://");

describe.skipIf(!available)("the loader of the sandbox image", () => {
  const repo = `markmill-loaded-${randomBytes(4).toString("hex")}`;
  let docker: Docker;
  let image = "";
  let socket = "";
  beforeAll(async () => {
    const engine = await sharedDocker();
    image = engine.image;
    socket = engine.host.slice("unix://".length);
    docker = new Docker({ socketPath: socket });
  });
  afterAll(async () => {
    await docker
      ?.getImage(`${repo}:1`)
      .remove()
      .catch(() => undefined);
  });

  /** Starts it as the compose file does: without a network, on a read-only root, with one capability. */
  async function run(from: string, command: readonly string[], binds: readonly string[] = []): Promise<string> {
    const container = await docker.createContainer({
      Image: from,
      Cmd: [...command],
      Tty: true,
      HostConfig: {
        NetworkMode: "none",
        ReadonlyRootfs: true,
        CapDrop: ["ALL"],
        CapAdd: ["DAC_READ_SEARCH"],
        SecurityOpt: ["no-new-privileges:true"],
        Binds: [...binds],
      },
    });
    try {
      await container.start();
      const { StatusCode } = (await container.wait()) as { readonly StatusCode: number };
      const said = (await container.logs({ stdout: true, stderr: true })).toString();
      if (StatusCode !== 0) throw new Error(`ended with ${StatusCode}: ${said}`);
      return said;
    } finally {
      await container.remove({ force: true, v: true });
    }
  }
  const load = () =>
    run(
      image,
      ["node", "/load-image.mjs", "/engine.sock", `${repo}:1`],
      [`${script}:/load-image.mjs:ro`, `${socket}:/engine.sock`],
    );

  it("loads the files of the image into the engine, once", async () => {
    expect(await load()).toContain(`${repo}:1 was put into the engine`);
    const { Id } = await docker.getImage(`${repo}:1`).inspect();
    const look =
      'stat -c "%n %a %U" /tmp /workspace /usr/bin/bash; ls -d /load-image.mjs /proc/1 2>/dev/null; node -p "process.version"';
    const [there, here] = await Promise.all([run(`${repo}:1`, ["bash", "-c", look]), run(image, ["bash", "-c", look])]);
    expect(there).toBe(here);
    expect(there).not.toContain("load-image");
    expect(await load()).toContain(`${repo}:1 is there`);
    expect((await docker.getImage(`${repo}:1`).inspect()).Id).toBe(Id);
  });

  it("fails with a named error if the engine accepts no image", async () => {
    await expect(
      run(image, ["node", "/load-image.mjs", "/nowhere.sock", `${repo}:1`], [`${script}:/load-image.mjs:ro`]),
    ).rejects.toThrow(/ended with [1-9].*ENOENT/s);
  });
});
