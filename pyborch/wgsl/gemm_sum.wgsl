// The second pass of a split matrix multiply: adds the partial sums of each result in order, then stores it.
// Prepended as for gemm_threads.wgsl, and `partial`: splits x batches x rows x cols of ACC. Grid: a thread per result, 64 per group.
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  let count = p.batches * p.rows * p.cols;
  if (i >= count) { return; }
  var total = partial[i];
  for (var s = 1u; s < p.splits; s++) { total += partial[i + s * count]; }
  let batch = i / (p.rows * p.cols);
  let row = i / p.cols % p.rows;
  let col = i % p.cols;
  put(y_row(0u, batch, row) + y_col(col), bias_row(0u, batch, row) + bias_col(col), total);
}
