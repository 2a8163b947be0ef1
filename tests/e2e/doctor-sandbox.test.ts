// 'markmill doctor --sandbox' checks every engine separately, so that an absent one hides no other.
import { expect, it } from "vitest";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { makePlace, markmill } from "../support/markmill-process.ts";

const absent = "unix:///nonexistent/docker.sock";
const docker = (await dockerAvailable("doctor --sandbox with Docker engines")) ? await sharedDocker() : null;

async function ask(hosts: readonly string[], image = docker?.image ?? "") {
  const settings = {
    SANDBOX: "docker",
    SANDBOX_HOSTS: hosts.join(","),
    SANDBOX_IMAGE: image,
    SANDBOX_ACCEPT: "old-engine",
  };
  const place = await makePlace(settings);
  try {
    const { code, stdout } = await markmill(place, ["doctor", "--sandbox", "--quick", "--json"]);
    const { items } = JSON.parse(stdout) as {
      readonly items: readonly { readonly check: string; readonly state: string; readonly message: string }[];
    };
    const of = (host: string) => items.filter(({ message }) => message.startsWith(`${host}: `));
    return { code, of };
  } finally {
    await place.remove();
  }
}

it.skipIf(docker === null)("doctor shows a serving engine with its image beside an absent one", async () => {
  const host = docker?.host ?? "";
  const { code, of } = await ask([absent, host]);
  expect(code).toBe(0);
  expect(of(absent)).toMatchObject([
    { check: "engine", state: "warn", message: expect.stringContaining("SANDBOX_ENGINE") },
  ]);
  expect(of(host).slice(0, 2)).toMatchObject([
    { check: "engine", state: "ok", message: expect.stringMatching(/Docker \d+.*runc .*cgroup v[12]/) },
    { check: "image", state: "ok" },
  ]);
});

it.skipIf(docker === null)("doctor fails if no engine serves, and if the image is missing", async () => {
  expect(await ask([absent])).toMatchObject({ code: 1 });
  const { code, of } = await ask([docker?.host ?? ""], "markmill-no-such-image");
  expect(code).toBe(1);
  expect(of(docker?.host ?? "").find(({ check }) => check === "image")).toMatchObject({
    state: "fail",
    message: expect.stringContaining("SANDBOX_IMAGE_REFUSED"),
  });
});
