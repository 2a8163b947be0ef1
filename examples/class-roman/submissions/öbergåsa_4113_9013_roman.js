// Största delen först. Every decade is written alike, only with other letters, so one function writes them all.
function decade(digit, one, five, ten) {
  if (digit === 9) return one + ten;
  if (digit >= 5) return five + one.repeat(digit - 5);
  if (digit === 4) return one + five;
  return one.repeat(digit);
}

export function toRoman(number) {
  const whole = Number.isInteger(number);
  if (!whole || number < 1 || number >= 4000) throw new RangeError(`${number} kan inte skrivas`);
  const digit = (unit) => Math.floor(number / unit) % 10;
  return "M".repeat(digit(1000)) + decade(digit(100), "C", "D", "M") + decade(digit(10), "X", "L", "C") + decade(digit(1), "I", "V", "X");
}

// A numeral has one right form; the expression knows its shape and the letters are added up from behind.
const shape = /^M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})$/;

export function fromRoman(text) {
  if (text === "" || !shape.test(text)) throw new RangeError(`${text} är inget tal`);
  const values = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
  return [...text].reduceRight(
    ({ sum, last }, letter) => ({ sum: sum + (values[letter] < last ? -values[letter] : values[letter]), last: values[letter] }),
    { sum: 0, last: 0 },
  ).sum;
}
