/** Postgres text can store neither NUL nor half a surrogate pair; both become U+FFFD. */
export function neutraliseText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

/** The same for text that arrives in pieces: a pair split between two pieces stays whole. */
export function createDeltaNeutraliser(): { push(piece: string): string; flush(): string } {
  let held = "";
  return {
    push(piece) {
      const text = held + piece;
      const last = text.charCodeAt(text.length - 1);
      const split = last >= 0xd800 && last <= 0xdbff;
      held = split ? text.slice(-1) : "";
      return neutraliseText(split ? text.slice(0, -1) : text);
    },
    flush() {
      const rest = neutraliseText(held);
      held = "";
      return rest;
    },
  };
}
