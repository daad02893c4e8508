// Random numbers from a counter: Philox 4x32-10 (Salmon et al. 2011). Four words per counter value.
fn multiply_high(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let cross = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (cross >> 16u);
}
fn philox(counter: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = seed;
  for (var round = 0u; round < 10u; round++) {
    let h0 = multiply_high(0xD2511F53u, c.x);
    let h1 = multiply_high(0xCD9E8D57u, c.z);
    c = vec4<u32>(h1 ^ c.y ^ k.x, 0xCD9E8D57u * c.z, h0 ^ c.w ^ k.y, 0xD2511F53u * c.x);
    k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}
fn words_at(block: u32) -> vec4<u32> {
  let low = p.offset_low + block;
  return philox(vec4<u32>(low, p.offset_high + select(0u, 1u, low < block), 0u, 0u), vec2<u32>(p.seed_low, p.seed_high));
}
fn unit(word: u32) -> f32 { return f32(word >> 8u) * 5.9604644775390625e-8; }  // in [0, 1)
