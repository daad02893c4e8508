// The second pass of a split matrix multiply: adds the partial sums of each result in order, then stores it.
// Prepended as for gemm.wgsl, and `partial`: splits x batches x rows x cols of ACC. Grid: a thread per result, 64 per group.
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  let count = p.batches * p.rows * p.cols;
  if (i >= count) { return; }
  var total = partial[i];
  for (var s = 1u; s < p.splits; s++) { total += partial[i + s * count]; }
  put(0u, i / (p.rows * p.cols), i / p.cols % p.rows, i % p.cols, total);
}
