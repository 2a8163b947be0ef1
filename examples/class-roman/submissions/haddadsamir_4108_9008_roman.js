// Works like giving change: always the biggest coin first.
const coins = [[1000, "m"], [900, "cm"], [500, "d"], [400, "cd"], [100, "c"], [90, "xc"], [50, "l"], [40, "xl"], [10, "x"], [9, "ix"], [5, "v"], [4, "iv"], [1, "i"]];

export const toRoman = (amount) => {
  if (!Number.isInteger(amount) || amount < 1 || amount > 3999) throw new RangeError("cannot pay " + amount);
  let paid = "";
  for (const [worth, name] of coins) while (amount >= worth) [paid, amount] = [paid + name, amount - worth];
  return paid;
};

export const fromRoman = (text) => {
  for (let amount = 1; amount < 4000; amount += 1) if (toRoman(amount) === text) return amount;
  throw new RangeError("no amount");
};
