// Functions that pointwise formulas call where WGSL's own are missing or wrong at the edges of f32.
fn safe_tanh(x: f32) -> f32 {  // some drivers overflow above 44
  if (is_nan(x)) { return x; }
  return tanh(clamp(x, -20.0, 20.0));
}
fn power(a: f32, b: f32) -> f32 {  // WGSL's pow is undefined below zero
  if (b == 0.0 || a == 1.0) { return 1.0; }
  if (is_nan(a) || is_nan(b)) { return nan(); }
  if (b == 1.0) { return a; }
  if (b == 2.0) { return a * a; }
  if (b == 3.0) { return a * a * a; }
  if (b == 0.5 && !is_inf(a)) { return select(sqrt(abs(a)), nan(), a < 0.0); }
  if (b == -1.0) { return 1.0 / a; }
  let whole = floor(b) == b;
  let odd = whole && abs(b) < 16777216.0 && (i32(abs(b)) & 1) == 1;
  let m = abs(a);
  if (is_inf(b)) {
    if (m == 1.0) { return 1.0; }
    return select(0.0, infinity(), (m > 1.0) == (b > 0.0));
  }
  if (m == 0.0) {
    let negative_zero = bitcast<u32>(a) != 0u;
    if (b < 0.0) { return select(infinity(), -infinity(), odd && negative_zero); }
    return select(0.0, a, odd);
  }
  if (a < 0.0 && !whole && !is_inf(a)) { return nan(); }
  var r: f32;
  if (is_inf(a)) { r = select(0.0, infinity(), b > 0.0); } else { r = precise_exp_log(m, b); }
  return select(r, -r, odd && a < 0.0);
}
fn precise_exp_log(m: f32, b: f32) -> f32 {  // small whole powers by squaring: exact where pow is not
  if (floor(b) == b && abs(b) <= 64.0) {
    var n = u32(abs(b));
    var base = m;
    var r = 1.0;
    while (n > 0u) { if ((n & 1u) == 1u) { r *= base; } base *= base; n = n >> 1u; }
    return select(r, 1.0 / r, b < 0.0);
  }
  return pow(m, b);
}
fn power_int(a: i32, b: i32) -> i32 {
  if (b < 0) { return select(select(0, select(-1, 1, (b & 1) == 0), a == -1), 1, a == 1); }
  var n = b; var base = a; var r = 1;
  while (n > 0) { if ((n & 1) == 1) { r *= base; } base *= base; n = n >> 1u; }
  return r;
}
fn floor_mod(a: f32, b: f32) -> f32 {
  if (is_inf(b) && !is_inf(a) && !is_nan(a)) { return select(b, a, (a == 0.0) || ((a < 0.0) == (b < 0.0))); }
  let r = a - b * trunc(a / b);
  return select(r, r + b, r != 0.0 && ((r < 0.0) != (b < 0.0)));
}
fn floor_mod_int(a: i32, b: i32) -> i32 {
  let r = a % b;
  return select(r, r + b, r != 0 && ((r < 0) != (b < 0)));
}
fn floor_div_int(a: i32, b: i32) -> i32 {
  let q = a / b;
  return select(q, q - 1, (a % b != 0) && ((a < 0) != (b < 0)));
}
fn error_function(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  if (a < 0.921875) {  // series in x^2
    let s = x * x;
    var r = 1.646206e-6f;
    r = fma(r, s, -1.492565e-5f);
    r = fma(r, s, 1.205533e-4f);
    r = fma(r, s, -8.548327e-4f);
    r = fma(r, s, 5.2239776e-3f);
    r = fma(r, s, -2.6866171e-2f);
    r = fma(r, s, 1.1283792e-1f);
    r = fma(r, s, -3.7612639e-1f);
    return fma(r, s, 1.1283791f) * x;
  }
  if (a > 4.0) { return sign(x); }
  let t = 1.0 / fma(0.5, a, 1.0);
  var q = 0.17087277f;
  q = fma(q, t, -0.82215223f);
  q = fma(q, t, 1.48851587f);
  q = fma(q, t, -1.13520398f);
  q = fma(q, t, 0.27886807f);
  q = fma(q, t, -0.18628806f);
  q = fma(q, t, 0.09678418f);
  q = fma(q, t, 0.37409196f);
  q = fma(q, t, 1.00002368f);
  let r = 1.0 - t * exp(-a * a - 1.26551223 + t * q);
  return select(r, -r, x < 0.0);
}
fn expm1_precise(x: f32) -> f32 {
  if (abs(x) < 0.1) {
    return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * 0.0013888889)))));
  }
  return exp(x) - 1.0;
}
fn log1p_precise(x: f32) -> f32 {
  if (abs(x) < 0.01) { return x * (1.0 - x * (0.5 - x * (0.33333334 - x * (0.25 - x * 0.2)))); }
  return safe_log(1.0 + x);
}
fn safe_log(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0) { return nan(); }
  if (x == 0.0) { return -infinity(); }
  if (is_inf(x)) { return x; }
  return log(x);
}
fn safe_exp(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x > 88.72284) { return infinity(); }
  return select(exp(x), 0.0, x < -104.0);
}
fn safe_exp2(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x >= 128.0) { return infinity(); }
  return select(exp2(x), 0.0, x < -150.0);
}
fn safe_log2(x: f32) -> f32 {
  if (is_nan(x) || x <= 0.0 || is_inf(x)) { return safe_log(x); }
  return log2(x);
}
fn safe_sqrt(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0) { return nan(); }
  return sqrt(x);
}
fn hyperbolic_sine(x: f32) -> f32 {
  let e = expm1_precise(x);
  return select(0.5 * (e + e / (e + 1.0)), 0.5 * (safe_exp(x) - safe_exp(-x)), abs(x) > 1.0);
}
fn fmod_exact(a: f32, b: f32) -> f32 {
  if (is_inf(b) && !is_inf(a) && !is_nan(a)) { return a; }
  return a - b * trunc(a / b);
}
fn reduced(x: f32, turns: f32) -> f32 {  // x - turns * pi/2 in three parts (Cody and Waite)
  return fma(turns, -7.549789948768648e-8f, fma(turns, -1.57079625129699707031f, x)) - turns * 5.390302529957765e-15f;
}
fn sine_kernel(r: f32) -> f32 {
  let s = r * r;
  return fma(r * s, fma(s, fma(s, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), r);
}
fn cosine_kernel(r: f32) -> f32 {
  let s = r * r;
  return fma(s * s, fma(s, fma(s, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f), fma(s, -0.5, 1.0));
}
fn quadrant(x: f32, shift: i32) -> f32 {
  if (is_nan(x) || is_inf(x)) { return nan(); }
  let turns = round(x * 0.6366197723675814f);
  let r = reduced(x, turns);
  let q = (i32(turns) + shift) & 3;
  let v = select(cosine_kernel(r), sine_kernel(r), (q & 1) == 0);
  return select(v, -v, q >= 2);
}
fn sine(x: f32) -> f32 { return quadrant(x, 0); }
fn cosine(x: f32) -> f32 { return quadrant(x, 1); }
fn arc_tangent(x: f32) -> f32 {  // argument halved twice, then the series
  if (is_nan(x)) { return x; }
  let a = abs(x);
  var y = 0.0;
  var t = a;
  if (a > 2.414213562373095f) { y = 1.5707963267948966f; t = -1.0 / a; if (is_inf(a)) { t = 0.0; } }
  else if (a > 0.4142135623730950f) { y = 0.7853981633974483f; t = (a - 1.0) / (a + 1.0); }
  let z = t * t;
  y += fma(t * z, fma(z, fma(z, fma(z, 8.05374449538e-2f, -1.38776856032e-1f), 1.99777106478e-1f), -3.33329491539e-1f), t);
  return select(y, -y, x < 0.0);
}
fn arc_tangent2(a: f32, b: f32) -> f32 {
  if (is_nan(a) || is_nan(b)) { return nan(); }
  let below = (bitcast<u32>(a) >> 31u) == 1u;
  let left = (bitcast<u32>(b) >> 31u) == 1u;
  var r: f32;
  if (a == 0.0) { r = select(0.0, 3.1415926535897932f, left); }
  else if (b == 0.0 || (is_inf(a) && !is_inf(b))) { r = 1.5707963267948966f; }
  else if (is_inf(b)) { r = select(select(0.0, 3.1415926535897932f, left), select(0.7853981633974483f, 2.356194490192345f, left), is_inf(a)); }
  else { r = arc_tangent(abs(a) / abs(b)); if (left) { r = 3.1415926535897932f - r; } }
  return select(r, -r, below);
}
fn arc_sine(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return nan(); }
  let far = a > 0.5;
  let z = select(x * x, 0.5 * (1.0 - a), far);
  let t = select(a, sqrt(z), far);
  var r = fma(t * z, fma(z, fma(z, fma(z, fma(z, 4.2163199048e-2f, 2.4181311049e-2f), 4.5470025998e-2f), 7.4953002686e-2f), 1.6666752422e-1f), t);
  if (far) { r = 1.5707963267948966f - 2.0 * r; }
  return select(r, -r, x < 0.0);
}
