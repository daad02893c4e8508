// One-sided Jacobi: rotates pairs of columns of w (m, n) until all are orthogonal, in place, and v (n, n), at first the identity, along with
// them: w = A v. Rounds first..last of many; a round has every column in one pair, n - 1 of them (n even) are a sweep.
// state: [whether a rotation was needed in this sweep, whether none was in a whole one] per matrix.
// A workgroup of LANES threads per matrix, SIDE of them to a pair.
struct Params { batch: u32, m: u32, n: u32, first: u32, last: u32 }
@group(0) @binding(0) var<storage, read_write> w: array<f32>;
@group(0) @binding(1) var<storage, read_write> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<i32>;
var<workgroup> moved: atomic<i32>;
var<workgroup> done: i32;
var<workgroup> parts: array<vec3<f32>, LANES>;
const NEAR = 2e-7;
@compute @workgroup_size(LANES) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let matrix = group_index(wid, nwg);
  if (matrix >= p.batch) { return; }
  let base = matrix * p.m * p.n;
  let start = matrix * p.n * p.n;
  if (p.first == 0u) {
    for (var t = lid; t < p.n * p.n; t += LANES) { v[start + t] = select(0.0, 1.0, t / p.n == t % p.n); }
  }
  if (lid == 0u) {
    atomicStore(&moved, select(state[matrix * 2u], 1, p.first == 0u));
    done = select(state[matrix * 2u + 1u], 0, p.first == 0u);
  }
  storageBarrier();
  let players = p.n + p.n % 2u;
  let slots = LANES / SIDE;
  let q = lid % SIDE;
  for (var round = p.first; round < p.last; round++) {
    let k = round % (players - 1u);
    if (k == 0u) {
      workgroupBarrier();
      if (lid == 0u) {
        if (atomicLoad(&moved) == 0) { done = 1; }
        atomicStore(&moved, 0);
      }
    }
    if (workgroupUniformLoad(&done) == 1) { break; }
    for (var pair = 0u; pair < players / 2u; pair += slots) {
      let i = pair + lid / SIDE;
      var a = (k + i) % (players - 1u);
      var b = (k + players - 1u - i % players) % (players - 1u);
      if (i == 0u) { a = players - 1u; }
      let here = i < players / 2u && a < p.n && b < p.n;
      var mine = vec3<f32>();
      if (here) {
        for (var r = q; r < p.m; r += SIDE) {
          let x = w[base + r * p.n + a];
          let y = w[base + r * p.n + b];
          mine += vec3<f32>(x * x, y * y, x * y);
        }
      }
      if (SIDE > 1u) {
        workgroupBarrier();
        parts[lid] = mine;
        workgroupBarrier();
        mine = vec3<f32>();
        for (var s = 0u; s < SIDE; s++) { mine += parts[lid - q + s]; }
      }
      if (here && abs(mine.z) > NEAR * sqrt(mine.x) * sqrt(mine.y) && abs(mine.z) > 1e-37) {
        atomicStore(&moved, 1);
        let zeta = (mine.y - mine.x) / (2.0 * mine.z);
        let size = abs(zeta);
        var t = 1.0 / (size + sqrt(1.0 + min(size, 1e9) * min(size, 1e9)));
        t = select(t, -t, zeta < 0.0);
        let c = 1.0 / sqrt(1.0 + t * t);
        let s = c * t;
        for (var r = q; r < p.m; r += SIDE) {
          let x = w[base + r * p.n + a];
          let y = w[base + r * p.n + b];
          w[base + r * p.n + a] = c * x - s * y;
          w[base + r * p.n + b] = s * x + c * y;
        }
        for (var r = q; r < p.n; r += SIDE) {
          let x = v[start + r * p.n + a];
          let y = v[start + r * p.n + b];
          v[start + r * p.n + a] = c * x - s * y;
          v[start + r * p.n + b] = s * x + c * y;
        }
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
  if (lid == 0u) {
    state[matrix * 2u] = atomicLoad(&moved);
    state[matrix * 2u + 1u] = done;
  }
}
