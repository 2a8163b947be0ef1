// 从大到小: take the biggest value that fits, again and again.
const 表 = [[1000, "M"], [900, "CM"], [500, "D"], [400, "CD"], [100, "C"], [90, "XC"], [50, "L"], [40, "XL"], [10, "X"], [9, "IX"], [5, "V"], [4, "IV"], [1, "I"]];

export function toRoman(数) {
  if (!Number.isInteger(数) || 数 < 1 || 数 > 3999) throw new RangeError("1..3999");
  let 结果 = "";
  for (const [值, 字] of 表) while (数 >= 值) { 结果 += 字; 数 -= 值; }
  return 结果;
}

export function fromRoman(文) {
  const 值 = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
  let 和 = 0;
  for (let i = 0; i < 文.length; i++) {
    if (!(文[i] in 值)) throw new RangeError(文);
    和 += 值[文[i]] < (值[文[i + 1]] ?? 0) ? -值[文[i]] : 值[文[i]];
  }
  if (和 === 0) throw new RangeError("empty");
  return 和;
}
