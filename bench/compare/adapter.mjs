// Names of graphics adapters.
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|software|basic render/i;

export function nameOf(info) {
  return info.description || [info.vendor, info.architecture, info.device].filter(Boolean).join(" ") || "unknown adapter";
}

// {name, software} of the adapter that this browser gives.
export async function theAdapter() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("this browser gives no WebGPU adapter here");
  const { info } = adapter, words = `${info.vendor} ${info.architecture} ${info.device} ${info.description}`;
  return { name: nameOf(info), software: Boolean(info.isFallbackAdapter) || SOFTWARE.test(words) };
}
