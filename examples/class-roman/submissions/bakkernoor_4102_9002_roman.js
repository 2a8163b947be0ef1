// Each decimal digit is written by itself, in the letters of its place. So four small tables say everything, and reading a numeral
// back means looking for the longest entry at each place.
const places = [
  ["", "M", "MM", "MMM"],
  ["", "C", "CC", "CCC", "CD", "D", "DC", "DCC", "DCCC", "CM"],
  ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"],
  ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"],
];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError("1 to 3999");
  const digits = String(number).padStart(4, "0");
  return places.map((letters, place) => letters[Number(digits[place])]).join("");
}

export function fromRoman(text) {
  for (let number = 1; number <= 3999; number += 1) if (toRoman(number) === text) return number;
  throw new RangeError(`no numeral: ${text}`);
}
