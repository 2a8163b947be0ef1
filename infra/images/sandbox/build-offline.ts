// Builds images where nothing can be pulled: a root file system from this machine's own programs or from Debian packages, then
// the engine's import. Run by hand, or called by the tests.
//
//   node infra/images/sandbox/build-offline.ts tiny|full|jdk [--host unix:///var/run/docker.sock] [--tag name:tag]
//
// tiny      bash, coreutils, python3 and node of this machine with their libraries; no root, no network (seconds)
// full, jdk the Dockerfile's packages by debootstrap; root and a Debian mirror (a minute or two, once)
// The tests make one more in the same way, of programs that they name (`buildImageOf`).
// The root file systems are kept as tar files under .cache/images, named by what went in.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { constants, createReadStream, existsSync, globSync } from "node:fs";
import {
  access,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../../../", import.meta.url));
const cacheDirectory = join(repository, ".cache/images");

/** Says what an imported image was built from, so that it is imported once per engine. */
const KEY_LABEL = "markmill.image";

export type Variant = "tiny" | "full" | "jdk";

const defaultTags: Readonly<Record<Variant, string>> = {
  tiny: "markmill-sandbox:tiny",
  full: "markmill-sandbox:latest",
  jdk: "markmill-sandbox-jdk:latest",
};

export interface BuiltImage {
  readonly tag: string;
  readonly cached: boolean;
  readonly bytes: number;
}

/** Builds the root file system unless it is cached, imports it, and returns its tag. */
export async function buildImage(
  variant: Variant,
  dockerHost: string,
  tag = defaultTags[variant],
): Promise<BuiltImage> {
  return await build(variant, await recipes[variant](), dockerHost, tag);
}

/** An image of a shell and the programs of this machine that are named. */
export async function buildImageOf(programs: Programs, dockerHost: string, tag: string): Promise<BuiltImage> {
  const named = await found([...shellPrograms, ...programs.programs]);
  const recipe = await copyRecipe({ ...programs, programs: named });
  return await build(tag.replaceAll(/[^a-z]+/g, "-"), recipe, dockerHost, tag);
}

async function build(name: string, recipe: Recipe, dockerHost: string, tag: string): Promise<BuiltImage> {
  const tar = join(cacheDirectory, `${name}-${recipe.key}.tar`);
  const cached = existsSync(tar);
  if (!cached) {
    await buildTar(recipe, tar);
    for (const old of globSync(join(cacheDirectory, `${name}-*.tar`))) if (old !== tar) await rm(old, { force: true });
  }
  const engine = connect(dockerHost);
  const old = await engine.image(tag);
  if (old?.key !== recipe.key) {
    await engine.import(tar, tag, recipe.key);
    if (old !== undefined) await engine.remove(old.id);
  }
  return { tag, cached, bytes: (await stat(tar)).size };
}

interface Recipe {
  /** Changes whenever the root file system would. */
  readonly key: string;
  readonly fill: (root: string) => Promise<void>;
}

const recipes: Readonly<Record<Variant, () => Promise<Recipe>>> = {
  tiny: async () =>
    copyRecipe({
      programs: await tinyPrograms(),
      directories: Object.fromEntries(tinyDirectories().map((path) => [path, path])),
      named: { node: process.execPath },
    }),
  full: async () => debootstrapRecipe(studentPackages),
  jdk: async () => debootstrapRecipe([...studentPackages, "default-jdk-headless", "maven"]),
};

const studentPackages = [
  ..."bash coreutils tar gzip xz-utils unzip findutils grep sed gawk diffutils patch file less procps util-linux".split(
    " ",
  ),
  ..."git ca-certificates curl jq python3 python3-venv python3-pytest gcc g++ libc6-dev make".split(" "),
];

const shellPrograms = (
  "bash sh env cat tr base64 head tail sleep tar ls mkdir rm rmdir cp mv ln touch chmod chown id whoami pwd echo printf test " +
  "true false seq wc sort uniq cut tee dd df du stat date uname hostname mktemp mkfifo mknod readlink realpath dirname basename " +
  "timeout nohup nice nproc sync yes tac shuf paste join fold od split comm numfmt install truncate printenv nl rev sha256sum md5sum expr grep sed awk gawk mawk find xargs diff cmp ps kill pgrep setsid unshare mount " +
  "umount nsenter prlimit flock ip gzip perl which file less"
).split(" ");

function tinyPrograms(): Promise<string[]> {
  return found([...shellPrograms, "python3", "git"]);
}

function tinyDirectories(): string[] {
  // git's own commands are hard links of one program; `git` runs its built-ins without them.
  return globSync("/usr/lib/python3.[0-9]*").filter((path) => existsSync(join(path, "os.py")));
}

async function found(names: readonly string[]): Promise<string[]> {
  const paths = await Promise.all(names.map(which));
  return paths.filter((path) => path !== undefined);
}

async function which(name: string): Promise<string | undefined> {
  if (name.includes("/")) return name;
  for (const directory of ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]) {
    const path = join(directory, name);
    const runnable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runnable) return path;
  }
  return undefined;
}

export interface Programs {
  /** Names or paths, for /usr/bin. */
  readonly programs: readonly string[];
  /** By the name they get in /usr/local/bin. */
  readonly named?: Readonly<Record<string, string>>;
  /** By the place they get. */
  readonly directories: Readonly<Record<string, string>>;
  /** Where libraries stand beside the usual places, as LD_LIBRARY_PATH has it. */
  readonly libraryPath?: string;
}

async function copyRecipe({ programs, named = {}, directories, libraryPath = "" }: Programs): Promise<Recipe> {
  const sources = [...programs, ...Object.values(directories), ...Object.values(named)];
  const facts = await Promise.all(
    sources.map(async (path) => [path, (await stat(path)).size, (await stat(path)).mtimeMs]),
  );
  const script = await readFile(fileURLToPath(import.meta.url));
  return {
    key: createHash("sha256").update(script).update(JSON.stringify(facts)).digest("hex").slice(0, 12),
    fill: async (root) => {
      for (const path of programs) await copyProgram(path, join(root, "usr/bin", basename(path)));
      for (const [name, path] of Object.entries(named)) await copyProgram(path, join(root, "usr/local/bin", name));
      for (const [place, directory] of Object.entries(directories)) {
        await cp(directory, join(root, place), { recursive: true, filter: isWanted, verbatimSymlinks: true });
      }
      const copied = Object.values(directories);
      const binaries = [...programs, ...Object.values(named), ...copied.flatMap(elfFiles)];
      for (const library of await librariesOf(binaries, libraryPath)) {
        // What comes with a directory is found beside its programs.
        if (copied.some((directory) => library.startsWith(`${directory}/`))) continue;
        await copyProgram(library, join(root, "usr", placeOf(library)));
      }
    },
  };
}

const unwanted = /\/(__pycache__|test|tests|idlelib|tkinter|lib2to3|ensurepip|turtledemo|bitcode|llvmjit.*|.*\.a)$/;

function isWanted(path: string): boolean {
  return !unwanted.test(path);
}

function elfFiles(directory: string): string[] {
  return [...globSync(`${directory}/**/*.so*`), ...globSync(`${directory}/bin/*`)].filter(isWanted);
}

/** Below /usr. `/lib/x` and `/usr/lib/x` are one place in the image, as they are in Debian. */
function placeOf(library: string): string {
  const path = library.startsWith("/usr/") ? library.slice("/usr".length) : library;
  return /^\/(lib|local)/.test(path) ? path : join("lib", basename(path));
}

async function copyProgram(from: string, to: string): Promise<void> {
  if (existsSync(to)) return;
  await mkdir(dirname(to), { recursive: true });
  await copyFile(await realpath(from), to, constants.COPYFILE_FICLONE);
}

async function librariesOf(binaries: readonly string[], libraryPath: string): Promise<Set<string>> {
  const libraries = new Set<string>();
  const env = libraryPath === "" ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath };
  // ldd exits with 1 when one of the files is a script; what it printed about the others holds.
  const { stdout } = await run("ldd", [...binaries], { env, maxBuffer: 64 * 1024 * 1024 }).catch((error) => ({
    stdout: String(error.stdout ?? ""),
  }));
  for (const [, path] of stdout.matchAll(/(?:=>|^)\s*(\/\S+) \(0x/gm)) if (path !== undefined) libraries.add(path);
  // Loaded by name at run time, so not in ldd's answer: names of users, and thread cancellation.
  for (const library of globSync("/lib/*-linux-gnu/{libnss_files.so.2,libgcc_s.so.1}")) libraries.add(library);
  return libraries;
}

async function debootstrapRecipe(packages: readonly string[]): Promise<Recipe> {
  const script = await readFile(fileURLToPath(import.meta.url));
  return {
    key: createHash("sha256").update(script).update(packages.join()).digest("hex").slice(0, 12),
    fill: async (root) => {
      if (process.getuid?.() !== 0) throw new Error("debootstrap needs root. Run as root, or build the tiny variant.");
      if ((await which("debootstrap")) === undefined) {
        await run("apt-get", ["install", "-y", "--no-install-recommends", "debootstrap"], {
          env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
          timeout: 120_000,
        });
      }
      const include = packages.join(",");
      const args = ["--variant=minbase", `--include=${include}`, "bookworm", root];
      await run("debootstrap", args, { maxBuffer: 64 * 1024 * 1024, timeout: 900_000 });
      await copyProgram(process.execPath, join(root, "usr/local/bin/node"));
      for (const path of ["var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"]) {
        await rm(join(root, path), { recursive: true, force: true });
      }
      await run("find", [root, "-xdev", "-perm", "/6000", "-type", "f", "-exec", "chmod", "a-s", "{}", "+"]);
    },
  };
}

async function buildTar(recipe: Recipe, tar: string): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "markmill-image-"));
  try {
    await chmod(root, 0o755);
    await recipe.fill(root);
    await finishRoot(root);
    await mkdir(dirname(tar), { recursive: true });
    const partial = `${tar}.${process.pid}`;
    await run("tar", ["-C", root, "--numeric-owner", "--owner=0", "--group=0", "-cf", partial, "."]);
    await rename(partial, tar);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** What every image needs: the usual directories, and a name for each uid a session may have. */
async function finishRoot(root: string): Promise<void> {
  for (const directory of [
    "etc",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/sbin",
    "dev",
    "proc",
    "sys",
    "run",
    "workspace",
  ]) {
    await mkdir(join(root, directory), { recursive: true });
  }
  await mkdir(join(root, "tmp"), { recursive: true });
  await chmod(join(root, "tmp"), 0o1777);
  for (const name of ["bin", "lib", "lib64", "sbin"]) {
    if (!(await readdir(root)).includes(name)) await symlink(`usr/${name}`, join(root, name));
  }
  const uids = Array.from({ length: 1000 }, (_, slot) => 50_000 + slot);
  const passwd = await readFile(join(root, "etc/passwd"), "utf8").catch(() => "root:x:0:0:root:/root:/bin/bash\n");
  const group = await readFile(join(root, "etc/group"), "utf8").catch(() => "root:x:0:\n");
  await writeFile(
    join(root, "etc/passwd"),
    passwd + uids.map((uid) => `student:x:${uid}:${uid}::/workspace:/bin/bash\n`).join(""),
  );
  await writeFile(join(root, "etc/group"), group + uids.map((uid) => `student:x:${uid}:\n`).join(""));
  await writeFile(join(root, "etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
}

/** The engine's own HTTP interface: the repository's root has no client for it. */
function connect(dockerHost: string) {
  const address = new URL(dockerHost);
  const target =
    address.protocol === "unix:"
      ? { socketPath: address.pathname }
      : { host: address.hostname, port: address.port || 2375 };
  const call = (method: string, path: string, body?: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const sent = request(
        { ...target, method, path, headers: { "content-type": "application/x-tar" } },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on("error", reject);
      if (body === undefined) sent.end();
      else createReadStream(body).on("error", reject).pipe(sent);
    });
  return {
    async image(tag: string): Promise<{ id: string; key: string | undefined } | undefined> {
      const { status, text } = await call("GET", `/images/${tag}/json`);
      if (status !== 200) return undefined;
      const image = JSON.parse(text) as { Id: string; Config?: { Labels?: Record<string, string> | null } };
      return { id: image.Id, key: image.Config?.Labels?.[KEY_LABEL] };
    },
    async import(tar: string, tag: string, key: string): Promise<void> {
      const [repo = tag, version = "latest"] = tag.split(":");
      const query = new URLSearchParams({ fromSrc: "-", repo, tag: version });
      const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
      for (const change of ["WORKDIR /workspace", "CMD bash", `ENV ${path}`, `LABEL ${KEY_LABEL}=${key}`]) {
        query.append("changes", change);
      }
      const { status, text } = await call("POST", `/images/create?${query}`, tar);
      if (status === 200 && !text.includes('"errorDetail"')) return;
      throw new Error(`The engine at ${dockerHost} did not import ${tag}: ${text.trim()}`);
    },
    /** A container may still use it; then it stays. */
    async remove(id: string): Promise<void> {
      await call("DELETE", `/images/${id}`);
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { host: { type: "string", default: "unix:///var/run/docker.sock" }, tag: { type: "string" } },
  });
  const variant = positionals[0] ?? "";
  if (!Object.hasOwn(defaultTags, variant)) {
    console.error(`Unknown variant ${JSON.stringify(variant)}. Use one of: ${Object.keys(defaultTags).join(", ")}.`);
    process.exit(2);
  }
  const startedAt = performance.now();
  const built = await buildImage(variant as Variant, values.host, values.tag);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${built.tag}: ${Math.round(built.bytes / 1e6)} MB in ${seconds} s${built.cached ? " (cached)" : ""}`);
}
