const a = [1000,900,500,400,100,90,50,40,10,9,5,4,1]
const b = ["M","CM","D","CD","C","XC","L","XL","X","IX","V","IV","I"]
export function toRoman(x) {
  if (x % 1 != 0 || x < 1 || x > 3999) throw new RangeError("x")
  let q = ""
  for (let i = 0; i < 13; i++) while (x >= a[i]) { q += b[i]; x -= a[i] }
  return q
}
export function fromRoman(x) {
  let q = 0, y = x
  for (let i = 0; i < 13; i++) while (y.startsWith(b[i])) { q += a[i]; y = y.slice(b[i].length) }
  if (q == 0 || y != "" || q > 3999 || toRoman(q) != x) throw new RangeError("x")
  return q
}
