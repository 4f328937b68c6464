// Elements, numbers, colours, tooltip, zooming. Data: the JSON in #data (lather/report/html_report.hpp). Text
// goes through textContent only. The files of this folder are concatenated into one function: base, save,
// chart, frame, map, fields, run_view, then page (the report), live (`lather watch`) or sweep (`lather sweep`).

const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const tip = document.getElementById('tip');

// ---- elements

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on'))
      node.addEventListener(key.slice(2), value);
    else if (key === 'style')
      node.style.cssText = value;
    else
      node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svgName = 'http://www.w3.org/2000/svg';
const svg = (tag, attributes, ...children) => fill(document.createElementNS(svgName, tag), attributes, children);

function switchOf(label, choices, current, choose) {
  const buttons = choices.map(
      ([value, text]) => el('button', {type: 'button', 'data-value': value, onclick: () => press(value, true)}, text));
  const press = (value, tell) => {
    buttons.forEach(b => b.setAttribute('aria-pressed', String(b.dataset.value === value)));
    if (tell) choose(value);
  };
  press(current, false);
  const node = el('span', {class: 'switch', role: 'group', 'aria-label': label}, ...buttons);
  node.press = value => press(value, false);
  return node;
}

const sections = [];
function section(id, title, small, ...children) {
  const node = el('section', {id}, el('h2', {}, title, small ? el('small', {}, small) : null), ...children);
  sections.push([id, title]);
  main.append(node);
  return node;
}

// ---- numbers

const superscript = n => String(n).replace(/[-0-9]/g, c => c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[c]);
const finite = v => typeof v === 'number' && isFinite(v);

function number(v, digits = 4) {
  if (!finite(v)) return '–';
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (size >= 1e-3 && size < 1e6) return String(Number(v.toPrecision(digits))).replace('-', '−');
  return v.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace('e+', 'e').replaceAll('-', '−');
}
function duration(s) {
  if (!finite(s)) return '–';
  if (s < 59.95) return number(s, 3) + ' s';
  const whole = Math.round(s), minutes = Math.round(s / 60);
  if (whole < 3600) return Math.floor(whole / 60) + ' min ' + whole % 60 + ' s';
  return Math.floor(minutes / 60) + ' h ' + minutes % 60 + ' min';
}

function linearTicks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) || power * 10;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k)
    ticks.push([k * step, number(k * step, 6)]);
  return ticks;
}
function logTicks(low, high, count) {  // of log10 values
  const ticks = [], first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / count));
  for (let n = first; n <= last; n += every) ticks.push([n, n === 0 ? '1' : n === 1 ? '10' : '10' + superscript(n)]);
  if (ticks.length >= 3) return ticks;
  const fine = [];
  for (let n = Math.floor(low); n <= high; ++n)
    for (const m of high - low > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7]) {
      const at = n + Math.log10(m);
      if (at >= low && at <= high) fine.push([at, number(m * Math.pow(10, n), 2)]);
    }
  return fine.length >= 2 ? fine : linearTicks(10 ** low, 10 ** high, 4).map(([at, text]) => [Math.log10(at), text]);
}

// ---- colours

const hues = [255, 35, 150, 325, 80, 195, 290, 115];
const categorical = i => `oklch(var(--line-l) ${i < 8 ? 0.135 : 0.07} ${hues[i % 8]})`;
const ordinal = (i, n) => `oklch(var(--line-l) 0.13 ${n < 2 ? 255 : 285 - 245 * i / (n - 1)})`;

// Oklch to 8-bit sRGB; chroma is reduced until the colour exists.
function rgb(L, C, h) {
  const angle = h * Math.PI / 180;
  for (;; C -= 0.004) {
    const a = C * Math.cos(angle), b = C * Math.sin(angle);
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3,
          s = (L - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    const linear = [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s
    ];
    if (C <= 0.004 || linear.every(v => v >= -1e-4 && v <= 1.0001))
      return linear.map(
          v => Math.round(
              255 *
              Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * Math.max(v, 0) ** (1 / 2.4) - 0.055))));
  }
}
// Lightness is linear in the value: equal differences look equal. Chroma stays inside sRGB all the way, so there are no
// kinks.
const table = f => Array.from({length: 256}, (_, i) => f(i / 255));
const sequential = table(t => rgb(0.22 + 0.72 * t, 0.09 + 0.155 * (t - 0.42) ** 2, 300 - 195 * t));
const diverging = table(t => {
  const far = Math.abs(2 * t - 1);
  return rgb(0.97 - 0.6 * far, (t < 0.5 ? 0.135 : 0.14) * far ** 0.9, t < 0.5 ? 258 : 30);
});

// ---- tooltip

function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 16;
  const x = event.clientX + gap + box.width > innerWidth ? event.clientX - gap - box.width : event.clientX + gap;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, Math.min(event.clientY + gap, innerHeight - box.height - 4)) + 'px';
}
const hideTip = () => {
  tip.hidden = true;
};

// ---- zooming
// A rectangle dragged with the pointer, a pinch or Ctrl + wheel; a double click to go back. Positions are
// fractions of the plot's width and height, y from the bottom.

function zoomable(surface, area, onZoom, onReset, drawPick) {
  let start = null;
  const place = event => {
    const box = surface.getBoundingClientRect(), a = area();
    const clamp = v => Math.min(1, Math.max(0, v));
    return {
      x: clamp((event.clientX - box.left - a.left) / a.width),
      y: clamp(1 - (event.clientY - box.top - a.top) / a.height),
      px: event.clientX,
      py: event.clientY
    };
  };
  surface.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    start = place(event);
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener('pointermove', event => {
    if (start) drawPick(start, place(event));
  });
  surface.addEventListener('pointerup', event => {
    if (!start) return;
    const end = place(event), from = start;
    start = null;
    drawPick(null);
    const wide = Math.abs(end.px - from.px) > 8, tall = Math.abs(end.py - from.py) > 14;
    if (wide || tall)
      onZoom(
          wide ? [Math.min(from.x, end.x), Math.max(from.x, end.x)] : null,
          tall ? [Math.min(from.y, end.y), Math.max(from.y, end.y)] : null);
  });
  surface.addEventListener('pointercancel', () => {
    start = null;
    drawPick(null);
  });
  surface.addEventListener('dblclick', onReset);
  surface.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = place(event), both = event.shiftKey || surface.dataset.zoom === 'both',
          factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008);
    onZoom(
        [at.x - at.x * factor, at.x + (1 - at.x) * factor],
        both ? [at.y - at.y * factor, at.y + (1 - at.y) * factor] : null);
  }, {passive: false});
}
