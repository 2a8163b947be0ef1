// Subtractive pairs are parts of their own, so the largest that fits is always right.
const parts = [[1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"], [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"]];

export function toRoman(number) {
  let numeral = "";
  for (const [value, letters] of parts) {
    while (number >= value) {
      numeral += letters;
      number -= value;
    }
  }
  return numeral;
}

export function fromRoman(text) {
  const values = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
  let sum = 0;
  for (let at = 0; at < text.length; at += 1) {
    const value = values[text[at]];
    sum += values[text[at + 1]] > value ? -value : value;
  }
  return sum;
}
