// Special functions with loops, put behind kernels whose formulas call one (kernels.Kernel); the others are formulas.
fn special_zeta(s: f32, q: f32) -> f32 {  // Hurwitz' sum: terms until q + k is over 9, then Euler and Maclaurin's formula
  if (s == 1.0) { return infinity(); }
  if (is_nan(s) || is_nan(q) || s < 1.0) { return nan(); }
  if (q <= 0.0) {
    if (q == floor(q)) { return infinity(); }
    if (s != floor(s)) { return nan(); }
  }
  var a = q;
  var total = power(q, -s);
  for (var k = 0; k < 100000 && a <= 9.0; k++) {
    a += 1.0;
    total += power(a, -s);
  }
  let b = power(a, -s);
  total += b * a / (s - 1.0) - 0.5 * b;
  let u = 1.0 / (a * a);
  let f = s * b / a;
  let g = f * (s + 1.0) * (s + 2.0) * u;
  let h = g * (s + 3.0) * (s + 4.0) * u;
  let l = h * (s + 5.0) * (s + 6.0) * u;
  return total + f / 12.0 - g / 720.0 + h / 30240.0 - l / 1209600.0 + l * (s + 7.0) * (s + 8.0) * u / 47900160.0;
}
fn special_stirling(a: f32) -> f32 {
  let u = 1.0 / (a * a);
  return 0.9189385332046727 + (0.08333333333333333 - u * (0.002777777777777778 - u * 0.0007936507936507937)) / a;
}
fn special_power_over_gamma(a: f32, x: f32) -> f32 {  // x^a exp(-x) / Gamma(a + 1)
  if (a < 10.0) {
    var product = 1.0;
    for (var k = 1; k < 12; k++) { product *= a + f32(k); }
    let b = a + 11.0;
    return exp(a * log(x) - x - ((b + 0.5) * log(b) - b + special_stirling(b)) + log(product));
  }
  let u = (x - a) / a;
  var gap = u - log1p_precise(u);
  if (abs(u) < 0.1) { gap = u * u * (0.5 - u * (0.33333333 - u * (0.25 - u * (0.2 - u * (0.16666667 - u * (0.14285714 - u * 0.125)))))); }
  return safe_exp(-a * gap - 0.5 * log(a) - special_stirling(a));
}
fn special_gamma_part(a: f32, x: f32, upper: bool) -> f32 {  // the regularised incomplete gamma functions
  if (is_nan(a) || is_nan(x) || a < 0.0 || x < 0.0) { return nan(); }
  if ((a == 0.0 && x == 0.0) || (is_inf(a) && is_inf(x))) { return nan(); }
  if (a == 0.0 || is_inf(x)) { return select(1.0, 0.0, upper); }
  if (x == 0.0 || is_inf(a)) { return select(0.0, 1.0, upper); }
  let front = special_power_over_gamma(a, x);
  if (x < a + 1.0) {
    var term = 1.0;
    var total = 1.0;
    for (var k = 1; k < 5000 && term > 1e-8 * total; k++) {
      term *= x / (a + f32(k));
      total += term;
    }
    return select(front * total, 1.0 - front * total, upper);
  }
  var b = x + 1.0 - a;  // Lentz' continued fraction
  var c = 1e30;
  var d = 1.0 / b;
  var total = d;
  for (var k = 1; k < 5000; k++) {
    let n = f32(k);
    let factor = -n * (n - a);
    b += 2.0;
    d = 1.0 / (factor * d + b);
    c = b + factor / c;
    total *= c * d;
    if (abs(c * d - 1.0) < 1e-7) { break; }
  }
  return select(1.0 - front * a * total, front * a * total, upper);
}
fn special_polynomial(x: f32, degree: f32, slope: f32, start: f32, a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, divides: bool) -> f32 {
  let n = i32(trunc(degree));
  if (n < 0) { return 0.0; }
  if (n == 0) { return 1.0; }
  var before = 1.0;
  var now = slope * x + start;
  for (var i = 1; i < n; i++) {
    let k = f32(i);
    var next = ((a + b * k) * x + c + d * k) * now - (e + f * k) * before;
    if (divides) { next /= k + 1.0; }
    before = now;
    now = next;
  }
  return now;
}
fn special_gcd(a: i32, b: i32) -> i32 {
  var x = abs(a);
  var y = abs(b);
  while (y != 0) { let r = x % y; x = y; y = r; }
  return x;
}
fn special_lcm(a: i32, b: i32) -> i32 {
  if (a == 0 || b == 0) { return 0; }
  return abs(a / special_gcd(a, b) * b);
}
fn special_mantissa(x: f32) -> f32 {  // in [0.5, 1)
  if (is_nan(x) || is_inf(x) || x == 0.0) { return x; }
  return frexp(x).fract;
}
fn special_exponent(x: f32) -> i32 {
  if (is_nan(x) || is_inf(x) || x == 0.0) { return 0; }
  return frexp(x).exp;
}
fn special_nextafter(a: f32, b: f32) -> f32 {
  if (is_nan(a) || is_nan(b)) { return nan(); }
  if (a == b) { return b; }
  let bits = bitcast<u32>(a);
  if (a == 0.0) { return bits_to_float(select(1u, 0x80000001u, b < 0.0)); }
  return bits_to_float(select(bits - 1u, bits + 1u, (b > a) == (a > 0.0)));
}
