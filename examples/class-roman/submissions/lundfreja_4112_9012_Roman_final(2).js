// A numeral is a sum of the largest parts that fit. Listing the six subtractive pairs among the parts makes both directions
// greedy: no part is ever needed again after a smaller one.
const parts = [
  [1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"],
  [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"],
];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError(`no numeral for ${number}`);
  let rest = number;
  let numeral = "";
  for (const [value, letters] of parts) {
    while (rest >= value) {
      numeral += letters;
      rest -= value;
    }
  }
  return numeral;
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
