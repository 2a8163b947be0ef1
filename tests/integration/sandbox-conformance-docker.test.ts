import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { describePort, supportProgram } from "../support/port-cases.ts";

describePort({
  name: "docker",
  available: await dockerAvailable("the port of the sandbox on Docker containers"),
  hasWalls: true,
  cases: "own",
  make: async () => {
    const { host, image } = await sharedDocker();
    return await createDockerSandbox({ hosts: [host], images: [image] });
  },
  worker: async () => {
    const { host, image } = await sharedDocker();
    return [supportProgram("hold-docker-session.ts"), host, image];
  },
});
