// A number is put together from pieces. Pieces for 4 and 9 exist too, that saves all special cases.
const pieces = [[1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"], [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"]];

function fits(total) {
  return Number.isInteger(total) && total > 0 && total < 4000;
}

export function toRoman(total) {
  if (!fits(total)) throw new RangeError("that is no total");
  const out = [];
  let todo = total;
  while (todo > 0) {
    const piece = pieces.find(([size]) => size <= todo);
    out.push(piece[1]);
    todo -= piece[0];
  }
  return out.join("");
}

export function fromRoman(word) {
  let total = 0;
  let at = 0;
  while (at < word.length) {
    const piece = pieces.find(([, sign]) => word.startsWith(sign, at));
    if (piece === undefined) throw new RangeError("false piece");
    total += piece[0];
    at += piece[1].length;
  }
  if (!fits(total) || toRoman(total) !== word) throw new RangeError("not how we pay");
  return total;
}
