/**
 * Checks the bytes of a server before the protocol's library parses them. Two million brackets would block the process for a second, and a
 * message of a million parts for minutes. One pass; no bytes are kept.
 *
 * A JSON string contains no raw line break: each line begins outside of strings, regardless of the line before.
 */
const mostDepth = 500;
const mostObjects = 20_000;
const mostMessages = 2_000;
/** The library copies the members of objects down to this depth: of a message, its result, and what describes the result. */
const copiedDepth = 3;
const mostCopied = 10_000;

export class JsonWeight {
  #depth = 0;
  #objects = 0;
  #messages = 0;
  #copied = 0;
  #quoted = false;
  #escaped = false;

  /** Returns why the bytes so far must not be parsed; null: they may be. */
  add(chunk: Uint8Array): string | null {
    for (const byte of chunk) {
      if (byte === 0x0a || byte === 0x0d) {
        this.#quoted = false;
        this.#escaped = false;
      } else if (this.#escaped) this.#escaped = false;
      else if (this.#quoted) {
        if (byte === 0x5c) this.#escaped = true;
        else if (byte === 0x22) this.#quoted = false;
      } else if (byte === 0x22) this.#quoted = true;
      else if (byte === 0x5b || byte === 0x7b) {
        this.#depth += 1;
        if (byte === 0x7b) this.#objects += 1;
        if (this.#depth === 1) this.#messages += 1;
        if (this.#depth > mostDepth) return `is nested more than ${mostDepth} deep`;
        if (this.#objects > mostObjects) return `has more than ${mostObjects} objects`;
        if (this.#messages > mostMessages) return `has more than ${mostMessages} messages`;
      } else if (byte === 0x3a && this.#depth > 0 && this.#depth <= copiedDepth) {
        this.#copied += 1;
        if (this.#copied > mostCopied) return `has more than ${mostCopied} members in its upper levels`;
      } else if ((byte === 0x5d || byte === 0x7d) && this.#depth > 0) this.#depth -= 1;
    }
    return null;
  }
}
