// What the pooling kernels share: windows over the last two dims of row-major planes. x has planes of h x w, y of oh x ow.
// Prepended: alias T (stored), ACC (arithmetic); const ADAPTIVE; per dim (height, width) KH, KW (size of a window), SH, SW (stride), PH, PW
// (padding), DH, DW (dilation), all i32. ADAPTIVE windows have start and end by proportion; the other constants are then unused.
struct Params { count: u32, h: i32, w: i32, oh: i32, ow: i32, x_offset: u32, u_offset: u32 }
struct Span { first: i32, count: i32, step: i32, padded: i32 }
// The elements of window o along one dim; `padded` is the size that an average with padding divides by.
fn span(o: i32, n: i32, outputs: i32, k: i32, s: i32, pad: i32, d: i32) -> Span {
  if (ADAPTIVE) {
    let start = o * n / outputs;
    let size = ((o + 1) * n + outputs - 1) / outputs - start;
    return Span(start, size, 1, size);
  }
  let begin = o * s - pad;
  let skipped = select(0, (d - 1 - begin) / d, begin < 0);
  let first = begin + skipped * d;
  let inside = select(0, (n - first + d - 1) / d, first < n);
  return Span(first, min(k - skipped, inside), d, min(begin + k, n + pad) - begin);
}
// The first and last window that may hold element i along one dim.
fn covers(i: i32, n: i32, outputs: i32, k: i32, s: i32, pad: i32, d: i32) -> vec2<i32> {
  if (ADAPTIVE) { return vec2<i32>(i * outputs / n, ((i + 1) * outputs + n - 1) / n - 1); }
  let first = i + pad - (k - 1) * d;
  return vec2<i32>(select(0, (first + s - 1) / s, first > 0), min(outputs - 1, (i + pad) / s));
}
fn span_y(o: i32) -> Span { return span(o, p.h, p.oh, KH, SH, PH, DH); }
fn span_x(o: i32) -> Span { return span(o, p.w, p.ow, KW, SW, PW, DW); }
fn covers_y(i: i32) -> vec2<i32> { return covers(i, p.h, p.oh, KH, SH, PH, DH); }
fn covers_x(i: i32) -> vec2<i32> { return covers(i, p.w, p.ow, KW, SW, PW, DW); }
