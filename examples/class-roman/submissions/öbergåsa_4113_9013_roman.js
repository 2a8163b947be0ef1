// Största delen först. Since 900, 400, 90, 40, 9 and 4 are parts too, the first part that fits is the right one.
const parts = [
  [1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"],
  [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"],
];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError(`no numeral for ${number}`);
  let rest = number;
  let siffror = "";
  for (const [value, letters] of parts) {
    while (rest >= value) {
      siffror += letters;
      rest -= value;
    }
  }
  return siffror;
}

export function fromRoman(text) {
  let number = 0;
  let rest = String(text);
  for (const [value, letters] of parts) {
    while (rest.startsWith(letters)) {
      number += value;
      rest = rest.slice(letters.length);
    }
  }
  // Only one spelling is right: the one we would write ourselves.
  if (rest !== "" || number < 1 || number > 3999 || toRoman(number) !== text) throw new RangeError(`no numeral: ${text}`);
  return number;
}
