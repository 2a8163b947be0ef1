/**
 * Puts the image of this container into a Docker engine: node load-image.mjs SOCKET NAME:TAG
 *
 * It runs in a container of the image itself and hands over its own root file system. So the engine needs no network and no registry, and
 * the image is built once, by the engine that builds all others.
 *
 * An image with the same files is not sent again: its label holds a hash over the names, sizes, modes and times of all files. kill -9: the
 * engine tags an image only after the last byte; the next start sends it again.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";

const label = "markmill.image";
/** Made for each container. */
const own = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/mtab", "/.dockerenv", "/load-image.mjs"];
const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const [socketPath, name] = process.argv.slice(2);
if (socketPath === undefined || name === undefined) {
  console.error("Usage: node load-image.mjs SOCKET NAME:TAG");
  process.exit(2);
}
own.push(socketPath);
const [repo = name, tag = "latest"] = name.split(":");

const key = keyOf("/");
const there = await call("GET", `/images/${name}/json`);
if (there.status === 200 && JSON.parse(there.text).Config?.Labels?.[label] === key) {
  console.log(`${name} is there`);
} else {
  const query = new URLSearchParams({ fromSrc: "-", repo, tag });
  for (const change of ["WORKDIR /workspace", "CMD bash", `ENV ${path}`, `LABEL ${label}=${key}`]) {
    query.append("changes", change);
  }
  const { status, text } = await call("POST", `/images/create?${query}`, sendFiles);
  if (status !== 200 || text.includes('"errorDetail"'))
    throw new Error(`${name} was not taken: ${status} ${text.trim()}`);
  console.log(`${name} was put into the engine`);
}

/** Other file systems (/proc, /dev, the socket's volume) are left out, and are empty folders in the image. */
function keyOf(root) {
  const hash = createHash("sha256");
  const device = lstatSync(root).dev;
  const walk = (folder) => {
    for (const entry of readdirSync(folder).sort()) {
      const file = join(folder, entry);
      if (own.includes(file)) continue;
      const facts = lstatSync(file);
      const times = facts.isFile() ? String(facts.mtimeMs) : "";
      const target = facts.isSymbolicLink() ? readlinkSync(file) : "";
      hash.update(
        JSON.stringify([file, facts.mode, facts.uid, facts.gid, facts.isFile() ? facts.size : 0, times, target]),
      );
      if (facts.isDirectory() && facts.dev === device) walk(file);
    }
  };
  walk(root);
  return hash.digest("hex").slice(0, 32);
}

/** An archive that broke off must not become an image: the request ends only after tar has said that all is in it. */
function sendFiles(sent) {
  const left = own.map((file) => `--exclude=.${file}`);
  const tar = spawn("tar", ["-C", "/", "--one-file-system", "--numeric-owner", ...left, "-cf", "-", "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  tar.stdout.pipe(sent, { end: false });
  tar.on("error", (error) => sent.destroy(error));
  tar.on("close", (code) => {
    if (code === 0) sent.end();
    else sent.destroy(new Error(`tar ended with ${code}`));
  });
}

function call(method, target, send = (sent) => sent.end()) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/x-tar" };
    const sent = request({ socketPath, method, path: target, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    send(sent);
  });
}
