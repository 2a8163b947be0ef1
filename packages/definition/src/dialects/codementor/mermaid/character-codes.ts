/** UTF-16 units with a meaning in a flowchart, by name. */
export const newline = 0x0a;
export const semicolon = 0x3b;
export const quote = 0x22;
export const apostrophe = 0x27;
export const backtick = 0x60;
export const dash = 0x2d;
export const dot = 0x2e;
export const greater = 0x3e;
const underscore = 0x5f;
export const colon = 0x3a;
export const comma = 0x2c;
export const pipe = 0x7c;
export const ampersand = 0x26;
export const atSign = 0x40;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const slash = 0x2f;
export const backslash = 0x5c;
export const equals = 0x3d;
export const tilde = 0x7e;
export const less = 0x3c;
export const hash = 0x23;
export const percent = 0x25;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openParenthesis = 0x28;
export const closeParenthesis = 0x29;
export const carriageReturn = 0x0d;

/** White space within a line. A carriage return counts, so no other code must handle CRLF. */
export function isBlank(code: number): boolean {
  return (
    code === 0x20 ||
    code === 0x09 ||
    code === 0x0d ||
    code === 0xa0 ||
    code === 0x0b ||
    code === 0x0c ||
    code === 0xfeff
  );
}

export function isIdStart(code: number): boolean {
  return ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) || code === underscore;
}

export function isIdCode(code: number): boolean {
  return isIdStart(code) || (code >= 0x30 && code <= 0x39);
}
