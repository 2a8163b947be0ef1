// A result is a sum of the largest steps that fit. Listing the six subtractive pairs among the steps makes both directions
// greedy: no part is ever needed again after a smaller one.
const steps = [
  [1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"],
  [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"],
];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError(`no result for ${number}`);
  let rest = number;
  let result = "";
  for (const [value, letters] of steps) {
    while (rest >= value) {
      result += letters;
      rest -= value;
    }
  }
  return result;
}

export function fromRoman(text) {
  let number = 0;
  let rest = String(text);
  for (const [value, letters] of steps) {
    while (rest.startsWith(letters)) {
      number += value;
      rest = rest.slice(letters.length);
    }
  }
  // Only one spelling is right: the one we would write ourselves.
  if (rest !== "" || number < 1 || number > 3999 || toRoman(number) !== text) throw new RangeError(`no result: ${text}`);
  return number;
}
