/** erf by its series, which converges everywhere; beyond 6 it is 1 in double precision. */
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); ++n) {
    term *= -x * x / n;
    sum += term / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * sum;
}

/** The nearest number of so many binary digits with no smaller exponent; infinite above the largest. */
function rounded(x, digits, leastExponent, largest) {
  if (x === 0 || !Number.isFinite(x)) return x;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), leastExponent) + 1 - digits);
  const lower = Math.floor(x / step);
  const rest = x / step - lower;
  const nearest = (rest > 0.5 || (rest === 0.5 && lower % 2 !== 0) ? lower + 1 : lower) * step;
  return Math.abs(nearest) > largest ? Math.sign(x) * Infinity : nearest;
}

const functions = {
  exp: Math.exp, tanh: Math.tanh, log: Math.log, sin: Math.sin, cos: Math.cos, floor: Math.floor,
  max: Math.max, min: Math.min, erf, "√": Math.sqrt, float32: Math.fround,
  float16: (x) => rounded(x, 11, -14, 65504), bfloat16: (x) => rounded(x, 8, -126, 3.3895313892515355e38),
};

/**
 * The value of the arithmetic of a worked entry: numbers, + − · / ^ < ≤, parentheses and functions. A comparison
 * is 1 where it holds and 0 elsewhere. Throws an Error for any other text.
 */
export function evaluate(text) {
  const tokens = text.match(/[−-]?(?:\d+\.?\d*|\.\d+)(?:e[−+-]?\d+)?|[−-]?inf|nan|[a-z]+(?:16|32)?|[√()+−·/^<≤,]/gu) ?? [];
  if (tokens.join("") !== text.replaceAll(" ", "")) throw new Error(`no expression: ${text}`);
  let at = 0;
  const take = (token) => tokens[at] === token && ++at > 0;
  const isNumber = (token) => token !== undefined && /\d|inf|nan/.test(token);

  function number() {
    if (!isNumber(tokens[at])) throw new Error(`no number: ${tokens.slice(at).join(" ")} in ${text}`);
    return Number(tokens[at++].replaceAll("−", "-").replace("inf", "Infinity").replace("nan", "NaN"));
  }

  function factor() {
    if (take("(")) {
      const value = comparison();
      if (!take(")")) throw new Error(`no ) in ${text}`);
      return value;
    }
    if (take("−")) return -factor();
    const name = tokens[at];
    if (!Object.hasOwn(functions, name)) return number();
    ++at;
    if (name === "√" && tokens[at] !== "(") return Math.sqrt(number());
    if (!take("(")) throw new Error(`no ( in ${text}`);
    const values = [comparison()];
    while (take(",")) values.push(comparison());
    if (!take(")")) throw new Error(`no ) in ${text}`);
    return functions[name](...values);
  }

  function power() {
    const value = factor();
    return take("^") ? value ** factor() : value;
  }

  function product() {
    let value = power();
    for (;;) {
      if (take("·")) value *= power();
      else if (take("/")) value /= power();
      else return value;
    }
  }

  function sum() {
    let value = product();
    for (;;) {
      if (take("+")) value += product();
      else if (take("−")) value -= product();
      // "1 −2": a minus that the number behind it took along
      else if (isNumber(tokens[at]) && "−-".includes(tokens[at][0])) value += product();
      else return value;
    }
  }

  function comparison() {
    const value = sum();
    if (take("<")) return value < sum() ? 1 : 0;
    if (take("≤")) return value <= sum() ? 1 : 0;
    return value;
  }

  const value = comparison();
  if (at !== tokens.length) throw new Error(`more than an expression: ${text}`);
  return value;
}
