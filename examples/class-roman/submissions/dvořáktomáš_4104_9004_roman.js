// Counts how often each letter fits, from the largest to the smallest.
const letters = { M: 1000, D: 500, C: 100, L: 50, X: 10, V: 5, I: 1 };

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError("out of range");
  let numeral = "";
  for (const letter of Object.keys(letters)) {
    numeral += letter.repeat(Math.floor(number / letters[letter]));
    number %= letters[letter];
  }
  return numeral;
}

export function fromRoman(text) {
  let sum = 0;
  for (const letter of text) {
    if (!(letter in letters)) throw new RangeError("unknown letter");
    sum += letters[letter];
  }
  if (sum === 0) throw new RangeError("empty");
  return sum;
}
