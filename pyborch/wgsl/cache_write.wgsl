// Writes new keys and values (heads, tokens, size) into pages (pages, heads, PAGE, size), row-major: token t becomes row p.start + t of the pages
// that are listed, one after the other. A thread for each element of both.
// Prepended: const PAGE, SIZE; alias T; bindings k, v, listed (i32), k_pages, v_pages.
struct Params {
  count: u32, tokens: u32, heads: u32, start: u32, listed: u32, step: u32, k: u32, kh: u32, kl: u32, ke: u32, v: u32, vh: u32, vl: u32, ve: u32 }
@group(0) @binding(0) var<storage, read> k: array<T>;
@group(0) @binding(1) var<storage, read> v: array<T>;
@group(0) @binding(2) var<storage, read> listed: array<i32>;
@group(0) @binding(3) var<storage, read_write> k_pages: array<T>;
@group(0) @binding(4) var<storage, read_write> v_pages: array<T>;
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let e = i % SIZE;
  let t = i / SIZE % p.tokens;
  let h = i / SIZE / p.tokens;
  let row = p.start + t;
  let page = u32(listed[p.listed + row / PAGE * p.step]);
  let to = ((page * p.heads + h) * PAGE + row % PAGE) * SIZE + e;
  k_pages[to] = k[p.k + h * p.kh + t * p.kl + e * p.ke];
  v_pages[to] = v[p.v + h * p.vh + t * p.vl + e * p.ve];
}
