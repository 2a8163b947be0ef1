// Reading goes from right to left: a letter counts minus when a larger one has been seen. Writing asks for each power of ten which
// of ten patterns it needs, with a, b, c for the one, the five and the ten of that power.
const patterns = ["", "a", "aa", "aaa", "ab", "b", "ba", "baa", "baaa", "ac"];
const alphabet = "IVXLCDM";

export function toRoman(number) {
  if (number !== Math.floor(number) || number < 1 || number > 3999) throw new RangeError("between 1 and 3999, please");
  let numeral = "";
  for (let power = 0, left = number; left > 0; power += 1, left = Math.floor(left / 10)) {
    const letter = { a: alphabet[2 * power], b: alphabet[2 * power + 1], c: alphabet[2 * power + 2] };
    numeral = [...patterns[left % 10]].map((sign) => letter[sign]).join("") + numeral;
  }
  return numeral;
}

export function fromRoman(text) {
  let [sum, largest] = [0, 0];
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const rank = alphabet.indexOf(text[at]);
    if (rank === -1) throw new RangeError(`what is ${text[at]}?`);
    const value = 10 ** Math.floor(rank / 2) * (rank % 2 === 1 ? 5 : 1);
    sum += value < largest ? -value : value;
    largest = Math.max(largest, value);
  }
  if (sum === 0 || toRoman(sum) !== text) throw new RangeError("nearly a numeral");
  return sum;
}
