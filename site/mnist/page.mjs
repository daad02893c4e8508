// The page: shows the worker's news, and sends it drawn digits.
const at = (id) => document.getElementById(id);
const losses = [];
let steps = 1, weights = null;
window.result = null;

function drawCurve() {
  const canvas = at("curve"), c = canvas.getContext("2d"), { width, height } = canvas, left = 64, bottom = 44;
  const style = getComputedStyle(document.body);
  c.clearRect(0, 0, width, height);
  const low = 0.4, high = 3, y = (v) => (height - bottom - 16) * (1 - Math.log(Math.max(v, low) / low) / Math.log(high / low)) + 16;
  const x = (step) => left + (width - left - 10) * step / steps;
  c.font = "22px system-ui"; c.textAlign = "right"; c.lineWidth = 1;
  for (const v of [0.4, 0.6, 1, 1.5, 2, 3]) {
    c.strokeStyle = style.getPropertyValue("--line"); c.beginPath(); c.moveTo(left, y(v)); c.lineTo(width, y(v)); c.stroke();
    c.fillStyle = style.getPropertyValue("--soft"); c.fillText(v, left - 10, y(v) + 7);
  }
  c.textAlign = "center";
  for (let k = 0; k <= 4; k++) c.fillText(Math.round(steps * k / 4), Math.min(x(steps * k / 4), width - 28), height - 8);
  c.globalAlpha = 0.35; c.strokeStyle = style.getPropertyValue("--cool"); c.lineWidth = 2; c.beginPath();
  losses.forEach(([s, v], i) => (i ? c.lineTo(x(s), y(v)) : c.moveTo(x(s), y(v)))); c.stroke();
  c.globalAlpha = 1; c.strokeStyle = style.getPropertyValue("--accent"); c.lineWidth = 4; c.beginPath();
  let mean = losses.length ? losses[0][1] : 0;
  losses.forEach(([s, v], i) => { mean += 0.15 * (v - mean); if (i) c.lineTo(x(s), y(mean)); else c.moveTo(x(s), y(mean)); }); c.stroke();
}

function showConfusion(rows) {
  const table = document.createElement("table");
  table.className = "confusion";
  const head = table.insertRow();
  head.innerHTML = "<th></th>" + rows.map((_, d) => `<th>${d}</th>`).join("");
  rows.forEach((row, d) => {
    const line = table.insertRow(), total = row.reduce((a, b) => a + b, 0);
    line.innerHTML = `<th>${d}</th>`;
    row.forEach((n, g) => {
      const cell = line.insertCell();
      cell.textContent = n || "";
      const share = n ? 18 + 82 * (g === d ? n / total : Math.min(1, n / 6)) : 0;
      cell.style.background = n ? `color-mix(in srgb, var(--${g === d ? "cool" : "accent"}) ${share}%, transparent)` : "color-mix(in srgb, var(--line) 35%, transparent)";
      if (n && share > 60) cell.style.color = "#fff";
    });
  });
  at("confusion").replaceChildren(table);
}

function showChances(chances) {
  const best = chances ? chances.indexOf(Math.max(...chances)) : -1;
  at("bars").innerHTML = Array.from({ length: 10 }, (_, d) => {
    const p = chances ? chances[d] : 0;
    return `<span>${d}</span><i class="${d === best ? "best" : ""}" style="width:${(100 * p).toFixed(1)}%"></i><span>${chances ? `${(100 * p).toFixed(1)} %` : ""}</span>`;
  }).join("");
  at("bars").dataset.best = best;
}

const heard = {
  stage: ({ text }) => { at("stage").textContent = text; },
  print: ({ text }) => console.log(text),
  start: (news) => { steps = news.steps; at("adapter").textContent = news.adapter; at("stage").textContent = "Training"; drawCurve(); },
  step: (news) => {
    losses.push([news.step, news.loss]);
    at("step").textContent = `${news.step} / ${steps}`; at("loss").textContent = news.loss.toFixed(4); at("seconds").textContent = `${news.seconds.toFixed(0)} s`;
    at("progress").value = news.step / steps;
    if (news.step + 1 >= steps) at("stage").textContent = "Testing";
    drawCurve();
  },
  done: (news) => {
    window.result = news;
    weights = Uint8Array.from(news.weights.match(/../g), (pair) => parseInt(pair, 16));
    at("accuracy").textContent = `${(100 * news.test_accuracy).toFixed(2)} %`; at("seconds").textContent = `${news.train_seconds.toFixed(0)} s`;
    at("stage").textContent = "Done: draw a digit below."; at("save").disabled = false;
    showConfusion(news.confusion);
  },
  prediction: ({ chances }) => showChances(chances),
  error: ({ text }) => {
    const missing = /navigator.gpu|no adapter|found no/.test(text);
    at("stage").textContent = missing ? `WebGPU is missing here: ${text.split("\n").at(-2) ?? text}` : text;
    at("stage").closest(".card").classList.add("trouble");
    window.trouble = text;
  },
};

const worker = new Worker("worker.mjs", { type: "module" });
worker.onmessage = ({ data }) => heard[data.kind](data);
worker.onerror = (event) => heard.error({ text: event.message });
worker.postMessage({ kind: "train", limit: Number(new URLSearchParams(location.search).get("steps") || 0) });

// Drawing: what was drawn is fitted into 20 x 20 pixels around its centre of mass, as the training digits are.
const pad = at("pad"), ink = pad.getContext("2d", { willReadFrequently: true });
let last = null;
function clear() { ink.fillStyle = "#000"; ink.fillRect(0, 0, 280, 280); showChances(null); }
function point(event) { const r = pad.getBoundingClientRect(); return [(event.clientX - r.left) * 280 / r.width, (event.clientY - r.top) * 280 / r.height]; }
pad.onpointerdown = (event) => { pad.setPointerCapture(event.pointerId); last = point(event); stroke(last, last); };
pad.onpointermove = (event) => { if (last) { const now = point(event); stroke(last, now); last = now; } };
pad.onpointerup = () => { last = null; if (weights) worker.postMessage({ kind: "predict", pixels: pixels() }); };
function stroke(a, b) {
  ink.strokeStyle = "#fff"; ink.lineWidth = 22; ink.lineCap = "round";
  ink.beginPath(); ink.moveTo(...a); ink.lineTo(b[0] + 0.01, b[1]); ink.stroke();
}
function pixels() {
  const { data } = ink.getImageData(0, 0, 280, 280);
  let x0 = 280, x1 = 0, y0 = 280, y1 = 0;
  for (let i = 0; i < 280 * 280; i++) if (data[4 * i] > 60) { const x = i % 280, y = (i - x) / 280; x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
  const scale = 20 / Math.max(x1 - x0, y1 - y0, 1), small = new OffscreenCanvas(28, 28).getContext("2d");
  small.imageSmoothingQuality = "high";
  small.drawImage(pad, x0, y0, x1 - x0 + 1, y1 - y0 + 1, 14 - (x1 - x0) * scale / 2, 14 - (y1 - y0) * scale / 2, (x1 - x0) * scale, (y1 - y0) * scale);
  const grey = small.getImageData(0, 0, 28, 28).data;
  return Array.from({ length: 784 }, (_, i) => grey[4 * i] / 255);
}
at("clear").onclick = clear;
at("save").onclick = () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([weights])); link.download = "digits.safetensors"; link.click();
};
clear();
drawCurve();
