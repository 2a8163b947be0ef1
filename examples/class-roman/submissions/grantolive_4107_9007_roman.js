// Recursion: a numeral is the first part that fits, followed by the numeral of what is left. It ends because the rest gets smaller.
const worth = { M: 1000, CM: 900, D: 500, CD: 400, C: 100, XC: 90, L: 50, XL: 40, X: 10, IX: 9, V: 5, IV: 4, I: 1 };

function write(rest) {
  if (rest === 0) return "";
  const part = Object.keys(worth).find((letters) => worth[letters] <= rest);
  return part + write(rest - worth[part]);
}

function read(text) {
  if (text === "") return 0;
  const part = [text.slice(0, 2), text.slice(0, 1)].find((letters) => letters in worth);
  if (part === undefined) throw new RangeError(text);
  return worth[part] + read(text.slice(part.length));
}

export function toRoman(number) {
  if (!Number.isInteger(number) || number <= 0 || number >= 3000) throw new RangeError("Romans did not count that far");
  return write(number);
}

export function fromRoman(text) {
  const number = read(text);
  if (toRoman(number) !== text) throw new RangeError(text);
  return number;
}
