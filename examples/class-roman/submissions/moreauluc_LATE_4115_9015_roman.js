// All 3999 numerals are made once and kept in a list; after that both questions are answered by looking. Making them is adding one
// stroke at a time and tidying up, as one would on paper.
const tidy = [["IIIIIIIIII", "X"], ["IIIIIIIII", "IX"], ["IIIII", "V"], ["IIII", "IV"], ["XXXXXXXXXX", "C"], ["XXXXXXXXX", "XC"], ["XXXXX", "L"], ["XXXX", "XL"], ["CCCCCCCCCC", "M"], ["CCCCCCCCC", "CM"], ["CCCCC", "D"], ["CCCC", "CD"]];
const numerals = [""];
for (let count = 1; count < 4000; count += 1) {
  const [units, tens, hundreds, thousands] = [count % 10, Math.trunc(count / 10) % 10, Math.trunc(count / 100) % 10, Math.trunc(count / 1000)];
  let strokes = "M".repeat(thousands) + "C".repeat(hundreds) + "X".repeat(tens) + "I".repeat(units);
  for (const [many, few] of tidy) strokes = strokes.replace(many, few);
  numerals.push(strokes);
}

export function toRoman(number) {
  const numeral = numerals[number];
  if (!numeral) throw new RangeError("not in the list");
  return numeral;
}

export function fromRoman(text) {
  const place = numerals.indexOf(text);
  if (place < 1) throw new RangeError("not in the list");
  return place;
}
