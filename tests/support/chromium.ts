// A browser for tests: TEST_CHROMIUM, else the machine's own, else Debian's package unpacked into `.cache/`.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { reportSkip } from "./ask-services.ts";
import { unpackPackages } from "./unpack-packages.ts";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

interface Program {
  readonly file: string;
  readonly libraryPath: string | null;
}

/** null, said loudly: there is none to be had. */
export async function openBrowser(what: string): Promise<Browser | null> {
  try {
    const { file, libraryPath } = await findChromium();
    return await chromium.launch({
      executablePath: file,
      // Its own sandbox needs rights that root has not here, and containers have not; it sees pages of ours alone.
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      timeout: 120_000,
      ...(libraryPath === null ? {} : { env: { ...process.env, LD_LIBRARY_PATH: libraryPath } }),
    });
  } catch (error) {
    await reportSkip({ what, reason: `no browser: ${error instanceof Error ? error.message.split("\n")[0] : error}` });
    return null;
  }
}

async function findChromium(): Promise<Program> {
  const { TEST_CHROMIUM, PATH = "" } = process.env;
  if (TEST_CHROMIUM) return { file: TEST_CHROMIUM, libraryPath: null };
  const installed = PATH.split(delimiter)
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find((file) => existsSync(file));
  if (installed !== undefined) return { file: installed, libraryPath: null };
  const cache = join(import.meta.dirname, "../../.cache");
  const { path, libraryPath } = await unpackPackages(cache, "chromium", ["chromium"]);
  // The program itself: the package's script starts what stands at its usual place.
  const file = path
    .split(":")
    .map((directory) => join(directory, "../lib/chromium/chromium"))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) throw new Error(`no chromium in ${path}`);
  return { file, libraryPath };
}
