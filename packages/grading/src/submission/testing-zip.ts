/** Builds zips for tests, valid or malicious: every field that an attacker could write can be set. */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipPiece {
  readonly name: string | Buffer;
  readonly bytes?: Buffer | string;
  /** Unix mode, including the format bits. */
  readonly mode?: number;
  readonly flags?: number;
  readonly stored?: boolean;
  /** Claimed size and checksum, if not the real ones. */
  readonly size?: number;
  readonly crc?: number;
  /** Uses the packed bytes of an earlier piece instead of its own. */
  readonly sharesWith?: number;
}

export function makeZip(pieces: readonly ZipPiece[]): Buffer {
  const body: Buffer[] = [];
  const directory: Buffer[] = [];
  const places: { at: number; packed: Buffer; crc: number; size: number }[] = [];
  let at = 0;
  for (const piece of pieces) {
    const name = Buffer.from(piece.name as string);
    const bytes = Buffer.from((piece.bytes ?? "") as string);
    const flags = piece.flags ?? 0x800;
    const method = piece.stored === true ? 0 : 8;
    const shared = piece.sharesWith === undefined ? undefined : places[piece.sharesWith];
    const packed = shared?.packed ?? (method === 0 ? bytes : deflateRawSync(bytes));
    const crc = piece.crc ?? shared?.crc ?? crc32(bytes);
    const size = piece.size ?? shared?.size ?? bytes.length;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(name.length, 22);
    const place = { at: shared?.at ?? at, packed, crc, size };
    places.push(place);
    if (shared === undefined) {
      const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, packed]);
      body.push(local);
      at += local.length;
    }
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((piece.mode ?? 0o100644) << 16) >>> 0, 6);
    tail.writeUInt32LE(place.at, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.from([20, 3]), common, tail, name]));
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(pieces.length, 8);
  end.writeUInt16LE(pieces.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...body, central, end]);
}
