// Patches of images as columns, and back. Prepended: alias T (stored), ACC (arithmetic); const FOLD; i32 consts H, W (image), KH, KW (window),
// OH, OW (blocks), SH, SW (stride), PH, PW (padding), DH, DW (dilation). image: planes x H x W; columns: planes x KH * KW x OH * OW.
// FOLD false: y = columns, each element read from the image, zero in the padding. FOLD true: y = image, each element the sum of all columns
// that hold it, in a fixed order. Grid: a thread per element of y, 64 per group.
struct Params { count: u32, offset: u32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
fn column(i: i32) -> T {
  let block = i % (OH * OW);
  let tap = i / (OH * OW) % (KH * KW);
  let row = block / OW * SH - PH + tap / KW * DH;
  let col = block % OW * SW - PW + tap % KW * DW;
  if (row < 0 || row >= H || col < 0 || col >= W) { return T(); }
  return x[p.offset + u32((i / (OH * OW * KH * KW) * H + row) * W + col)];
}
fn folded(i: i32) -> T {
  let plane = i / (H * W) * (KH * KW);
  var total = ACC();
  for (var a = 0; a < KH; a++) {
    let row = i / W % H + PH - a * DH;
    if (row < 0 || row % SH != 0 || row / SH >= OH) { continue; }
    for (var b = 0; b < KW; b++) {
      let col = i % W + PW - b * DW;
      if (col < 0 || col % SW != 0 || col / SW >= OW) { continue; }
      total += ACC(x[p.offset + u32(((plane + a * KW + b) * OH + row / SH) * OW + col / SW)]);
    }
  }
  return T(total);
}
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  if (FOLD) { y[i] = folded(i32(i)); } else { y[i] = column(i32(i)); }
}
