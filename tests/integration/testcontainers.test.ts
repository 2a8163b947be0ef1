import Docker from "dockerode";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dockerAvailable, servicesImage, sharedDocker } from "../support/docker-engine.ts";

const wanted = "Postgres and Redis in containers, by testcontainers";
const available = (await dockerAvailable(wanted)) && (await sharedDocker()).networked;

describe.skipIf(!available)("testcontainers on local images", () => {
  let docker: Docker;
  let image = "";
  let testcontainers: typeof import("testcontainers");

  const { DOCKER_HOST, TESTCONTAINERS_RYUK_DISABLED } = process.env;
  beforeAll(async () => {
    const { host } = await sharedDocker();
    docker = new Docker({ socketPath: host.replace("unix://", "") });
    image = await servicesImage();
    // The package reads this when it is loaded. Its cleanup image cannot be pulled here, so containers are removed by label below.
    process.env.DOCKER_HOST = host;
    process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
    testcontainers = await import("testcontainers");
  });

  const ours = () =>
    docker.listContainers({ all: true, filters: JSON.stringify({ label: ["org.testcontainers=true"] }) });

  afterAll(async () => {
    // Other test files use this process later.
    for (const [name, value] of Object.entries({ DOCKER_HOST, TESTCONTAINERS_RYUK_DISABLED })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    for (const { Id } of available ? await ours() : []) await docker.getContainer(Id).remove({ force: true, v: true });
  });

  it("runs Redis and answers on a mapped port", async () => {
    const container = await new testcontainers.GenericContainer(image)
      .withCommand(["redis-server", "--protected-mode", "no", "--save", ""])
      .withExposedPorts(6379)
      .withWaitStrategy(testcontainers.Wait.forLogMessage("Ready to accept connections"))
      .start();
    const client = new Redis(container.getMappedPort(6379), "127.0.0.1", { maxRetriesPerRequest: 5 });
    expect(await client.set("word", "kept")).toBe("OK");
    expect(await client.get("word")).toBe("kept");
    client.disconnect();
    await container.stop();
    expect(await ours()).toEqual([]);
  });

  it("runs Postgres as a plain user and keeps a transaction", async () => {
    const start = [
      "export PATH=$(echo /usr/lib/postgresql/*/bin):$PATH",
      "initdb -D /tmp/data -U postgres -A trust --no-sync >/dev/null",
      "echo 'host all all all trust' >> /tmp/data/pg_hba.conf",
      "exec postgres -D /tmp/data -k /tmp -h '*' -c fsync=off",
    ].join(" && ");
    const container = await new testcontainers.GenericContainer(image)
      .withUser("50000:50000")
      .withCommand(["bash", "-c", start])
      .withExposedPorts(5432)
      .withWaitStrategy(testcontainers.Wait.forLogMessage("database system is ready to accept connections"))
      .start();
    const client = new pg.Client({ host: "127.0.0.1", port: container.getMappedPort(5432), user: "postgres" });
    await client.connect();
    await client.query("create table words (word text primary key)");
    await client.query("begin");
    await client.query("insert into words values ('kept')");
    await client.query("commit");
    expect((await client.query("select word from words")).rows).toEqual([{ word: "kept" }]);
    await client.end();
    await container.stop();
    expect(await ours()).toEqual([]);
  });
});
