/** An address that is not public, but that tools may reach. */
import { isIP } from "node:net";

export interface AllowedAddress {
  readonly network: string;
  readonly bits: number;
  /** null: any. */
  readonly port: number | null;
}

/** Parses `10.0.0.0/8`, `127.0.0.1:8080`, `[::1]:3000`, `fd00::/8`. Returns null for all other forms. */
export function parseAllowed(text: string): AllowedAddress | null {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)|([0-9a-fA-F:.]+))(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/.exec(
    text.trim(),
  );
  if (parts === null) return null;
  const network = parts[1] ?? parts[2] ?? parts[3] ?? "";
  const family = isIP(network);
  const most = family === 6 ? 128 : 32;
  const bits = parts[4] === undefined ? most : Number(parts[4]);
  const port = parts[5] === undefined ? null : Number(parts[5]);
  if (family === 0 || bits > most || (port !== null && (port < 1 || port > 65_535))) return null;
  return { network, bits, port };
}
