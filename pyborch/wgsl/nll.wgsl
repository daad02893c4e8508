// Negative log likelihood per position: x (batch, classes, inner) at target (batch, inner), times the class weight where WEIGHTED.
// loss and scale are 0 where the target is `ignore`, NaN where it is out of range. A thread per position, 64 per group.
struct Params { count: u32, classes: u32, inner: u32, ignore: i32, x_offset: u32, t_offset: u32, w_offset: u32 }
@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lid: u32) {
  let i = group_index(wid, nwg) * 64u + lid;
  if (i >= p.count) { return; }
  let t = target_class[p.t_offset + i];
  if (t == p.ignore) { loss[i] = T(0.0); scale[i] = T(0.0); return; }
  if (t < 0 || u32(t) >= p.classes) { loss[i] = T(nan()); scale[i] = T(1.0); return; }
  let at = ((i / p.inner) * p.classes + u32(t)) * p.inner + i % p.inner;
  let w = class_weight(u32(t));
  loss[i] = T(-w * f32(x[p.x_offset + at]));
  scale[i] = T(w);
}
