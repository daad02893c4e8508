// Copy with signed strides (flip). x: input, y: row-major output; 6 dims, leading ones of size 1. A thread per element, 256 per group.
struct Params { count: u32, start: i32, n0: u32, s0: i32, n1: u32, s1: i32, n2: u32, s2: i32, n3: u32, s3: i32, n4: u32, s4: i32, n5: u32, s5: i32 }
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 256u + lid;
  if (i >= p.count) { return; }
  var rest = i;
  var at = p.start;
  at += i32(rest % p.n5) * p.s5; rest /= p.n5;
  at += i32(rest % p.n4) * p.s4; rest /= p.n4;
  at += i32(rest % p.n3) * p.s3; rest /= p.n3;
  at += i32(rest % p.n2) * p.s2; rest /= p.n2;
  at += i32(rest % p.n1) * p.s1; rest /= p.n1;
  at += i32(rest) * p.s0;
  y[i] = x[at];
}
