// The largest value first.
export function toRoman(number) {
  const parts = [[1000, "M"], [900, "CM"];
  let numeral = "";
  for (const [value, letters] of parts) {
    while (number >= value) {
      numeral += letters
      number -= value
  }
  return numeral;
}
