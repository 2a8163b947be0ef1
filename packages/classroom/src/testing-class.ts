/** Builds folders and zips of a class for tests. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";

export type Files = Readonly<Record<string, string | Buffer>>;

export function folderOf(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), "markmill-class-"));
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
  return folder;
}

/** A plain zip of these files, with any names. */
export function zipOf(files: Files): Buffer {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [path, content] of Object.entries(files)) {
    const bytes = Buffer.from(content as string);
    const name = Buffer.from(path);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    tail.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.from([20, 3]), common, tail, name]));
    body.push(local);
    at += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...body, central, end]);
}
