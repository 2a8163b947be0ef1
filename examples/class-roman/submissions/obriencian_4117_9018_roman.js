// My idea: I read the number like a price and pay it with notes. The notes for 4 and 9 exist too, that saves all special cases.
const notes = [[1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"], [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"]];

function isPrice(price) {
  return Number.isInteger(price) && price > 0 && price < 4000;
}

export function toRoman(price) {
  if (!isPrice(price)) throw new RangeError("that is no price");
  const paid = [];
  let open = price;
  while (open > 0) {
    const note = notes.find(([worth]) => worth <= open);
    paid.push(note[1]);
    open -= note[0];
  }
  return paid.join("");
}

export function fromRoman(purse) {
  let price = 0;
  let at = 0;
  while (at < purse.length) {
    const note = notes.find(([, print]) => purse.startsWith(print, at));
    if (note === undefined) throw new RangeError("false note");
    price += note[0];
    at += note[1].length;
  }
  if (!isPrice(price) || toRoman(price) !== purse) throw new RangeError("not how we pay");
  return price;
}
