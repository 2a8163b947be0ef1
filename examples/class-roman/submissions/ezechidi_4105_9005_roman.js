// Greedy: the largest part that fits comes first.
const parts = [[1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"], [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"]];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError("out of range");
  let numeral = "";
  for (const [value, letters] of parts) {
    while (number >= value) {
      numeral += letters;
      number -= value;
    }
  }
  return numeral;
}

// I did not get to fromRoman in time.
