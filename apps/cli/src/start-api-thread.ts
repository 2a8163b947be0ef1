/** Starts and stops the thread that serves the API (api-thread.ts). */
import { startThread } from "@markmill/base";
import type { Config } from "@markmill/config";

export interface ApiThreadData {
  /** Contains the address of the database: the thread starts no database server. */
  readonly config: Config;
  readonly cwd: string;
}

export type ApiThreadSays =
  | { readonly is: "serving"; readonly url: string; readonly firstKey: string | null }
  | { readonly is: "trouble"; readonly text: string };

export interface ApiThread {
  readonly url: string;
  readonly firstKey: string | null;
  /** Rejects if the thread ends unexpectedly. The process then has no API, and ends as failed. */
  readonly lost: Promise<never>;
  close(): Promise<void>;
}

export async function startApiThread(
  { config, databaseUrl, cwd }: { readonly config: Config; readonly databaseUrl: string; readonly cwd: string },
  onTrouble: (text: string) => void,
): Promise<ApiThread> {
  const workerData: ApiThreadData = { config: { ...config, database: { kind: "external", url: databaseUrl } }, cwd };
  const thread = startThread(new URL("./api-thread.ts", import.meta.url), { workerData, name: "markmill api" });
  let closing = false;
  const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  const lost = new Promise<never>((_, reject) => {
    thread.once("error", reject);
    thread.once("exit", () => {
      if (!closing) reject(new Error("The API thread ended."));
    });
  });
  lost.catch(() => undefined);
  const serving = new Promise<Extract<ApiThreadSays, { is: "serving" }>>((resolve) => {
    thread.on("message", (said: ApiThreadSays) => {
      if (said.is === "serving") resolve(said);
      else onTrouble(said.text);
    });
  });
  const { url, firstKey } = await Promise.race([serving, lost]);
  return {
    url,
    firstKey,
    lost,
    async close() {
      closing = true;
      thread.postMessage("close");
      await ended;
    },
  };
}
