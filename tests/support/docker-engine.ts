import { askService, reportSkip } from "./ask-services.ts";

export { startDockerEngine } from "./docker-engine-server.ts";

/** For `describe.skipIf(!(await dockerAvailable("what is not tested without it")))`. A no is reported loudly. */
export async function dockerAvailable(what: string): Promise<boolean> {
  try {
    await askService("docker");
    return true;
  } catch (error) {
    await reportSkip({ what, reason: error instanceof Error ? error.message : String(error) });
    return false;
  }
}

/** The run's engine, with a sandbox image built from this machine's own programs. Label what you make, and remove it. */
export async function sharedDocker(): Promise<{
  readonly host: string;
  readonly image: string;
  readonly networked: boolean;
}> {
  return askService("docker");
}

/** The tag of an image with redis-server and postgres on the run's engine. */
export async function servicesImage(): Promise<string> {
  return (await askService("docker-services")).image;
}
