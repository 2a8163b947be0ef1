/** Stores a blob whose content never ends, says when so much of it has been taken, and waits to be killed. */
import { openStore } from "@markmill/store";

const [options = ""] = process.argv.slice(2);
const { url, blobs, tenant, bytes } = JSON.parse(options);
const store = await openStore({ url, blobs });

async function* endless() {
  const piece = Buffer.alloc(256 * 1024, 7);
  for (let sent = 0; sent < bytes; sent += piece.length) yield piece;
  process.stdout.write("taken\n");
  await new Promise(() => setInterval(() => undefined, 1_000));
}

await store.as(tenant).blobs.save(endless());
