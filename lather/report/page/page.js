'use strict';
// Draws the report. Data: the JSON in #data (lather/report/html_report.hpp). Texts go through textContent only.
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const tip = document.getElementById('tip');

// ---------------------------------------------------------------------------------------------------- elements

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key === 'style') node.style.cssText = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

function switchOf(label, choices, current, choose) {
  const buttons = choices.map(([value, text]) => el('button', {type: 'button', 'data-value': value, onclick: () => press(value, true)}, text));
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

// ---------------------------------------------------------------------------------------------------- numbers

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
  if (s < 60) return number(s, 3) + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + Math.round(s % 60) + ' s';
  return Math.floor(s / 3600) + ' h ' + Math.round(s % 3600 / 60) + ' min';
}

function linearTicks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) || power * 10;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) ticks.push([k * step, number(k * step, 6)]);
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

// ---------------------------------------------------------------------------------------------------- colours

const hues = [255, 35, 150, 325, 80, 195, 290, 115];
const categorical = i => `oklch(var(--line-l) ${i < 8 ? 0.135 : 0.07} ${hues[i % 8]})`;
const ordinal = (i, n) => `oklch(var(--line-l) 0.13 ${n < 2 ? 255 : 285 - 245 * i / (n - 1)})`;

// Oklch to 8-bit sRGB; chroma is reduced until the colour exists.
function rgb(L, C, h) {
  const angle = h * Math.PI / 180;
  for (;; C -= 0.004) {
    const a = C * Math.cos(angle), b = C * Math.sin(angle);
    const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3, m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3, s = (L - 0.0894841775 * a - 1.2914855480 * b) ** 3;
    const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                    -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
    if (C <= 0.004 || linear.every(v => v >= -1e-4 && v <= 1.0001))
      return linear.map(v => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * Math.max(v, 0) ** (1 / 2.4) - 0.055))));
  }
}
// Lightness is linear in the value: equal differences look equal.
const table = f => Array.from({length: 256}, (_, i) => f(i / 255));
const sequential = table(t => rgb(0.22 + 0.72 * t, 0.06 + 0.11 * Math.sin(Math.PI * (0.15 + 0.75 * t)), 300 - 195 * t));
const diverging = table(t => {
  const far = Math.abs(2 * t - 1);
  return rgb(0.97 - 0.6 * far, 0.19 * Math.pow(far, 0.8), t < 0.5 ? 255 : 30);
});

// ---------------------------------------------------------------------------------------------------- tooltip

function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 16;
  const x = event.clientX + gap + box.width > innerWidth ? event.clientX - gap - box.width : event.clientX + gap;
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, Math.min(event.clientY + gap, innerHeight - box.height - 4)) + 'px';
}
const hideTip = () => { tip.hidden = true; };

// ---------------------------------------------------------------------------------------------------- zooming
// A rectangle drawn by the pointer, a pinch or Ctrl and the wheel, a double click to go back. Positions are shares of the plot's
// width and height, y from the bottom.

function zoomable(surface, area, onZoom, onReset, drawPick) {
  let start = null;
  const place = event => {
    const box = surface.getBoundingClientRect(), a = area();
    const clamp = v => Math.min(1, Math.max(0, v));
    return {x: clamp((event.clientX - box.left - a.left) / a.width), y: clamp(1 - (event.clientY - box.top - a.top) / a.height), px: event.clientX, py: event.clientY};
  };
  surface.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    start = place(event);
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener('pointermove', event => { if (start) drawPick(start, place(event)); });
  surface.addEventListener('pointerup', event => {
    if (!start) return;
    const end = place(event), from = start;
    start = null;
    drawPick(null);
    const wide = Math.abs(end.px - from.px) > 8, tall = Math.abs(end.py - from.py) > 14;
    if (wide || tall) onZoom(wide ? [Math.min(from.x, end.x), Math.max(from.x, end.x)] : null, tall ? [Math.min(from.y, end.y), Math.max(from.y, end.y)] : null);
  });
  surface.addEventListener('pointercancel', () => { start = null; drawPick(null); });
  surface.addEventListener('dblclick', onReset);
  surface.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = place(event), both = event.shiftKey || surface.dataset.zoom === 'both', factor = Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008);
    onZoom([at.x - at.x * factor, at.x + (1 - at.x) * factor], both ? [at.y - at.y * factor, at.y + (1 - at.y) * factor] : null);
  }, {passive: false});
}

// ---------------------------------------------------------------------------------------------------- line charts

const charts = new Set();
let clock = 'step';  // or 'seconds'
const resized = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(({target}) => {
  if (target.isConnected && target.clientWidth !== target.drawnWidth) {
    target.drawnWidth = target.clientWidth;
    target.redraw();
  }
})));

// Over a fortieth of the points, at least five; of logarithms on a logarithmic scale.
function runningMean(values) {
  const half = Math.max(2, Math.round(values.length / 80));
  return values.map((v, i) => {
    if (!finite(v)) return null;
    const near = values.slice(Math.max(0, i - half), i + half + 1).filter(finite);
    return near.reduce((a, b) => a + b, 0) / near.length;
  });
}

// series: {name, label, color, x: {step: […], seconds: […]}, y: […], thin, dashed}; `hidden` names may be shared by several charts.
function lineChart(o) {
  const hidden = o.hidden || new Set(), sharing = o.sharing || [];
  let series = o.series, log = o.log, smooth = false, view = {x: null, y: null}, shown = [], geometry = null;
  const plot = el('div', {class: 'plot'}), legend = el('div', {class: 'legend'});
  const sub = el('span', {class: 'sub'}, o.sub || '');
  const chart = {draw, reset: () => { view = {x: null, y: null}; draw(); }, series: next => { series = next.series; sub.textContent = next.sub || ''; log = next.log; scale.press(log ? 'log' : 'linear'); chart.reset(); }};
  const scale = switchOf('scale', [['log', 'log'], ['linear', 'linear']], log ? 'log' : 'linear', value => { log = value === 'log'; view.y = null; draw(); });
  const smoothing = o.smoothable ? switchOf('smoothing', [['raw', 'raw'], ['mean', 'running mean']], 'raw', value => { smooth = value === 'mean'; draw(); }) : null;
  const figure = el('figure', {class: 'card chart', 'data-chart': o.title}, el('figcaption', {}, o.choice || el('b', {}, o.title), sub, smoothing, scale), plot, legend);
  plot.redraw = draw;
  resized.observe(plot);
  charts.add(chart);
  sharing.push(chart);

  const xs = s => o.axis ? s.x.axis : clock === 'seconds' && s.x.seconds.some(finite) ? s.x.seconds : s.x.step;
  const scaled = s => log ? s.y.map(v => finite(v) && v > 0 ? Math.log10(v) : null) : s.y;
  const ys = s => smooth ? runningMean(scaled(s)) : scaled(s);

  function range(values, pad) {
    let low = Infinity, high = -Infinity;
    for (const v of values) if (finite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    if (low > high) return null;
    if (low === high) { const d = log ? 0.5 : Math.abs(low) * 0.1 || 1; return [low - d, high + d]; }
    return [low - pad * (high - low), high + pad * (high - low)];
  }

  function draw() {
    const width = plot.clientWidth || 460, height = o.height || 250;
    const area = {left: 52, top: 8, width: width - 52 - 10, height: height - 8 - 36};
    shown = series.filter(s => !hidden.has(s.name)).map(s => ({s, x: xs(s), y: ys(s)}));
    const whole = range(shown.flatMap(p => p.x.filter((v, i) => finite(p.y[i]))), 0);
    if (whole && !o.axis && whole[0] < 0.1 * whole[1]) whole[0] = Math.min(whole[0], 0);
    const inside = whole && view.x ? [Math.max(view.x[0], whole[0]), Math.min(view.x[1], whole[1])] : whole;
    const xRange = inside && inside[0] < inside[1] ? inside : whole;
    const yRange = xRange && (view.y || range(shown.flatMap(p => p.y.filter((v, i) => p.x[i] >= xRange[0] && p.x[i] <= xRange[1])), 0.05));
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': o.title});
    drawLegend();
    plot.replaceChildren(picture);
    geometry = null;
    if (!yRange) {
      picture.append(svg('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle', class: 'empty'}, series.length ? (hidden.size ? 'all series are switched off' : 'nothing to draw on this scale') : 'not recorded'));
      return;
    }
    const X = v => area.left + (v - xRange[0]) / (xRange[1] - xRange[0]) * area.width;
    const Y = v => area.top + (yRange[1] - v) / (yRange[1] - yRange[0]) * area.height;
    const ticksY = log ? logTicks(...yRange, 7) : linearTicks(...yRange, 5);
    for (const [at, label] of ticksY)
      picture.append(svg('line', {class: 'grid', x1: area.left, x2: area.left + area.width, y1: Y(at), y2: Y(at)}),
                     svg('text', {x: area.left - 7, y: Y(at) + 3.5, 'text-anchor': 'end'}, label));
    for (const [at, label] of linearTicks(...xRange, Math.max(2, Math.floor(area.width / 85))))
      picture.append(svg('line', {class: 'grid', x1: X(at), x2: X(at), y1: area.top, y2: area.top + area.height}),
                     svg('text', {x: X(at), y: area.top + area.height + 15, 'text-anchor': 'middle'}, label));
    picture.append(svg('text', {x: area.left + area.width, y: height - 4, 'text-anchor': 'end'}, o.axis || (clock === 'seconds' ? 'seconds' : 'steps')));
    const clip = 'clip' + Math.random().toString(36).slice(2);
    picture.append(svg('clipPath', {id: clip}, svg('rect', {x: area.left, y: area.top - 1, width: area.width, height: area.height + 2})));
    const lines = svg('g', {'clip-path': `url(#${clip})`});
    for (const {s, x, y} of shown) {
      let path = '', points = 0;
      for (let i = 0; i < x.length; ++i)
        if (finite(x[i]) && finite(y[i])) { path += (points++ ? 'L' : 'M') + X(x[i]).toFixed(1) + ',' + Y(y[i]).toFixed(1); }
      if (points === 1) path += 'h0.01';
      lines.append(svg('path', {class: 'line' + (s.thin ? ' thin' : ''), d: path, 'data-series': s.name, 'data-points': points, style: `stroke:${s.color}`,
                                'stroke-dasharray': s.dashed ? '2 4' : null, 'stroke-width': points === 1 ? 6 : null}));
    }
    const guide = svg('g', {}), pick = svg('rect', {class: 'pick', width: 0, height: 0});
    picture.append(lines, svg('rect', {class: 'frame', x: area.left, y: area.top, width: area.width, height: area.height}), guide, pick);
    geometry = {area, xRange, yRange, X, Y, guide, pick};
  }

  function drawLegend() {
    if (series.length < 2 && !hidden.size) { legend.replaceChildren(); return; }
    legend.replaceChildren(...series.map(s => el('button', {
      type: 'button', class: s.dashed ? 'dashed' : null, style: `--c:${s.color}`, 'data-series': s.name, 'aria-pressed': String(!hidden.has(s.name)),
      title: 'click: on or off; double click: this one alone',
      onclick: () => { hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name); sharing.forEach(c => c.draw()); },
      ondblclick: () => { hidden.clear(); series.forEach(other => other.name !== s.name && hidden.add(other.name)); sharing.forEach(c => c.draw()); },
    }, s.label || s.name)));
  }

  zoomable(plot, () => geometry ? geometry.area : {left: 0, top: 0, width: 1, height: 1},
    (x, y) => {
      if (!geometry) return;
      const part = (r, p) => [r[0] + p[0] * (r[1] - r[0]), r[0] + p[1] * (r[1] - r[0])];
      view = {x: x ? part(geometry.xRange, x) : view.x, y: y ? part(geometry.yRange, y) : x ? null : view.y};
      draw();
    },
    chart.reset,
    (from, to) => {
      if (!geometry) return;
      const {area, pick} = geometry, set = attributes => fill(pick, attributes, []);
      if (!from) return set({width: 0, height: 0});
      const tall = Math.abs(to.py - from.py) > 14;
      set({x: area.left + Math.min(from.x, to.x) * area.width, width: Math.abs(to.x - from.x) * area.width,
           y: tall ? area.top + (1 - Math.max(from.y, to.y)) * area.height : area.top, height: tall ? Math.abs(to.y - from.y) * area.height : area.height});
    });

  plot.addEventListener('pointerleave', () => { hideTip(); if (geometry) geometry.guide.replaceChildren(); });
  plot.addEventListener('pointermove', event => {
    if (!geometry) return;
    const {area, xRange, X, Y, guide} = geometry, box = plot.getBoundingClientRect();
    const x = xRange[0] + (event.clientX - box.left - area.left) / area.width * (xRange[1] - xRange[0]);
    const rows = [];
    for (const p of shown) {
      let best = -1;
      for (let i = 0; i < p.x.length; ++i)
        if (finite(p.x[i]) && finite(p.y[i]) && p.x[i] >= xRange[0] && p.x[i] <= xRange[1] && (best < 0 || Math.abs(p.x[i] - x) < Math.abs(p.x[best] - x))) best = i;
      if (best >= 0) rows.push({s: p.s, at: p.x[best], y: p.y[best], value: log ? Math.pow(10, p.y[best]) : p.y[best]});
    }
    guide.replaceChildren();
    if (!rows.length) return hideTip();
    const anchor = rows.reduce((a, b) => Math.abs(b.at - x) < Math.abs(a.at - x) ? b : a).at;
    const near = rows.reduce((a, b) => Math.abs(Y(b.y) - event.clientY + box.top) < Math.abs(Y(a.y) - event.clientY + box.top) ? b : a);
    guide.append(svg('line', {class: 'guide', x1: X(anchor), x2: X(anchor), y1: area.top, y2: area.top + area.height}));
    rows.forEach(r => guide.append(svg('circle', {cx: X(r.at), cy: Y(r.y), r: 3, style: `fill:${r.s.color}`})));
    rows.sort((a, b) => b.y - a.y);
    const listed = rows.length > 14 ? rows.filter(r => Math.abs(rows.indexOf(r) - rows.indexOf(near)) < 7) : rows;
    showTip(event, el('div', {class: 'head'}, (o.axis || (clock === 'seconds' ? 'seconds' : 'step')) + ' ' + number(anchor, 6)),
      el('table', {}, ...listed.map(r => el('tr', {class: r === near && rows.length > 1 ? 'near' : null},
        el('td', {}, el('i', {style: `--c:${r.s.color}`}), r.s.label || r.s.name), el('td', {}, number(r.value, 5))))));
  });
  return figure;
}

// ---------------------------------------------------------------------------------------------------- maps

const maps = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => maps.forEach(m => m.draw()));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Heat maps of arrays over the same plane; zoom and crosshair are common. shared: {window, others, marks}
function heatMap(o, plane, shared) {
  let log = false;
  const canvas = el('canvas', {'data-map': o.name}), plot = el('div', {class: 'plot', 'data-zoom': 'both'}, canvas);
  const pick = el('div', {style: 'position:absolute;pointer-events:none;border:1px solid var(--ink);background:color-mix(in srgb,var(--ink) 12%,transparent);display:none'});
  const cross = el('div', {style: 'position:absolute;pointer-events:none;width:9px;height:9px;margin:-5px 0 0 -5px;border:1.5px solid #fff;outline:1px solid #000;border-radius:50%;display:none'});
  plot.append(pick, cross);
  const scale = o.signed ? switchOf('scale', [['signed', 'signed'], ['log', 'log |·|']], 'signed', v => { log = v === 'log'; draw(); }) : null;
  const figure = el('figure', {class: 'card map'}, el('figcaption', {}, el('b', {}, o.title), el('span', {class: 'sub'}, o.sub || ''), scale), plot);
  const map = {draw, mark};
  let area = null;
  shared.maps.push(map);
  maps.add(map);
  plot.redraw = draw;
  resized.observe(plot);

  function colouring() {
    const all = plane.values(o.array), w = shared.window;
    const seen = [];
    for (const list of [all, ...(o.with ? [plane.values(o.with)] : [])])
      for (let i = w.i[0]; i <= w.i[1]; ++i) for (let j = w.j[0]; j <= w.j[1]; ++j) { const v = list(i, j); if (finite(v)) seen.push(v); }
    if (log) {
      const sizes = seen.map(Math.abs).filter(v => v > 0);
      const high = Math.log10(sizes.reduce((a, b) => Math.max(a, b), 1e-300)), low = Math.max(high - 8, Math.log10(sizes.reduce((a, b) => Math.min(a, b), 1e300)));
      return {low: Math.min(low, high - 1e-6), high, colours: sequential, ticks: logTicks, of: v => v === 0 ? -400 : Math.log10(Math.abs(v))};
    }
    let low = seen.reduce((a, b) => Math.min(a, b), Infinity), high = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) { low = 0; high = 1; }
    if (o.signed) { high = Math.max(-low, high) || 1; low = -high; }
    if (low === high) { low -= 0.5; high += 0.5; }
    return {low, high, colours: o.signed ? diverging : sequential, ticks: linearTicks, of: v => v};
  }

  function draw() {
    const width = plot.clientWidth || 380, height = Math.round(Math.min(300, Math.max(200, width * 0.62))), ratio = devicePixelRatio || 1;
    canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + 'px';
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    area = {left: 54, top: 6, width: width - 54 - 72, height: height - 6 - 36};
    const w = shared.window, n = w.i[1] - w.i[0] + 1, m = w.j[1] - w.j[0] + 1;
    const k = colouring(), value = plane.values(o.array), image = new ImageData(n, m);
    for (let i = 0; i < n; ++i)
      for (let j = 0; j < m; ++j) {
        const v = value(w.i[0] + i, w.j[0] + j), at = 4 * ((m - 1 - j) * n + i);
        if (!finite(v)) continue;
        const t = Math.max(0, Math.min(255, Math.round(255 * (k.of(v) - k.low) / (k.high - k.low))));
        image.data.set(k.colours[t], at);
        image.data[at + 3] = 255;
      }
    const grid = Object.assign(document.createElement('canvas'), {width: n, height: m});
    grid.getContext('2d').putImageData(image, 0, 0);
    c.imageSmoothingEnabled = area.width / n < 12;
    c.imageSmoothingQuality = 'high';
    c.drawImage(grid, area.left, area.top, area.width, area.height);
    canvas.dataset.drawn = n + 'x' + m;
    c.font = '11px ' + css('--sans'); c.fillStyle = css('--soft'); c.strokeStyle = css('--rule');
    c.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
    const place = (axis, window, v) => {  // share of the width of the cells
      const a = axis[window[0]], b = axis[window[1]], count = window[1] - window[0] + 1;
      return count < 2 ? 0.5 : ((v - a) / (b - a) * (count - 1) + 0.5) / count;
    };
    c.textAlign = 'center'; c.textBaseline = 'top';
    for (const [v, text] of linearTicks(plane.axisI[w.i[0]], plane.axisI[w.i[1]], 4)) c.fillText(text, area.left + area.width * place(plane.axisI, w.i, v), area.top + area.height + 5);
    c.fillText(plane.nameI, area.left + area.width / 2, area.top + area.height + 21);
    c.textAlign = 'right'; c.textBaseline = 'middle';
    for (const [v, text] of linearTicks(plane.axisJ[w.j[0]], plane.axisJ[w.j[1]], 4)) c.fillText(text, area.left - 6, area.top + area.height * (1 - place(plane.axisJ, w.j, v)));
    c.textAlign = 'left';
    c.fillText(plane.nameJ, 2, area.top + area.height / 2);
    const bar = {left: area.left + area.width + 14, width: 11};
    for (let y = 0; y < area.height; ++y) {
      c.fillStyle = `rgb(${k.colours[Math.round(255 * (1 - y / area.height))]})`;
      c.fillRect(bar.left, area.top + y, bar.width, 1.5);
    }
    c.fillStyle = css('--soft');
    for (const [v, text] of k.ticks(k.low, k.high, 5)) c.fillText(text, bar.left + bar.width + 5, area.top + area.height * (1 - (v - k.low) / (k.high - k.low)));
  }

  function mark(cell) {
    if (!cell || !area) { cross.style.display = 'none'; return; }
    const w = shared.window;
    cross.style.display = 'block';
    cross.style.left = area.left + (cell.i - w.i[0] + 0.5) / (w.i[1] - w.i[0] + 1) * area.width + 'px';
    cross.style.top = area.top + (1 - (cell.j - w.j[0] + 0.5) / (w.j[1] - w.j[0] + 1)) * area.height + 'px';
  }

  zoomable(plot, () => area || {left: 0, top: 0, width: 1, height: 1},
    (x, y) => {
      const cut = (window, part, size) => {
        if (!part) return window;
        const n = window[1] - window[0] + 1;
        const low = Math.max(0, Math.round(window[0] + part[0] * n)), high = Math.min(size - 1, Math.round(window[0] + part[1] * n) - 1);
        return high - low < 3 ? window : [low, high];
      };
      shared.window = {i: cut(shared.window.i, x, plane.axisI.length), j: cut(shared.window.j, y, plane.axisJ.length)};
      shared.maps.forEach(other => other.draw());
    },
    () => { shared.window = {i: [0, plane.axisI.length - 1], j: [0, plane.axisJ.length - 1]}; shared.maps.forEach(other => other.draw()); },
    (from, to) => {
      pick.style.display = from ? 'block' : 'none';
      if (!from) return;
      pick.style.left = area.left + Math.min(from.x, to.x) * area.width + 'px'; pick.style.width = Math.abs(to.x - from.x) * area.width + 'px';
      pick.style.top = area.top + (1 - Math.max(from.y, to.y)) * area.height + 'px'; pick.style.height = Math.abs(to.y - from.y) * area.height + 'px';
    });
  plot.addEventListener('pointerleave', () => { hideTip(); shared.maps.forEach(other => other.mark(null)); });
  plot.addEventListener('pointermove', event => {
    if (!area) return;
    const box = plot.getBoundingClientRect(), w = shared.window;
    const u = (event.clientX - box.left - area.left) / area.width, v = 1 - (event.clientY - box.top - area.top) / area.height;
    if (u < 0 || u > 1 || v < 0 || v > 1) { hideTip(); shared.maps.forEach(other => other.mark(null)); return; }
    const i = Math.min(w.i[1], w.i[0] + Math.floor(u * (w.i[1] - w.i[0] + 1))), j = Math.min(w.j[1], w.j[0] + Math.floor(v * (w.j[1] - w.j[0] + 1)));
    shared.maps.forEach(other => other.mark({i, j}));
    showTip(event, el('div', {class: 'head'}, `${plane.nameI} ${number(plane.axisI[i])}, ${plane.nameJ} ${number(plane.axisJ[j])}`),
      el('table', {}, ...o.family.map(([name, title]) => el('tr', {class: name === o.array ? 'near' : null}, el('td', {}, title), el('td', {}, number(plane.values(name)(i, j), 5))))));
  });
  return figure;
}

function fieldNames(fields) {
  const names = Object.keys(fields.arrays);
  return {fields: names.filter(n => !n.startsWith('residual.') && !/\.(reference|error)$/.test(n)), residuals: names.filter(n => n.startsWith('residual.'))};
}

// Which coordinates span the picture: time goes to the right if there is one other, the first two otherwise.
function fieldMaps(fields) {
  const names = fields.coordinates, sizes = fields.axes.map(a => a.length), count = names.length;
  const strides = sizes.map((_, k) => sizes.slice(k + 1).reduce((a, b) => a * b, 1));
  const has = name => fields.arrays[name] !== undefined;
  const {fields: shown, residuals} = fieldNames(fields);
  if (count === 1) {
    const x = {axis: fields.axes[0]};
    return el('div', {class: 'cards'}, ...shown.flatMap(f => [
      lineChart({title: f, sub: has(f + '.reference') ? 'prediction and reference' : 'prediction', axis: names[0], series: [
        {name: f, color: categorical(0), x, y: fields.arrays[f]},
        ...(has(f + '.reference') ? [{name: f + ' reference', color: categorical(1), dashed: true, x, y: fields.arrays[f + '.reference']}] : [])]}),
      has(f + '.error') ? lineChart({title: f + ' error', sub: 'magnitude', axis: names[0], log: true, series: [{name: f + ' error', color: categorical(3), x, y: fields.arrays[f + '.error'].map(Math.abs)}]}) : null]),
      ...residuals.map(r => lineChart({title: r.replace('residual.', 'residual of '), sub: 'magnitude', axis: names[0], log: true, series: [{name: r, color: categorical(2), x, y: fields.arrays[r].map(v => v === null ? null : Math.abs(v))}]})));
  }
  const timeRight = count === 2 && names[1] === 't';
  const I = timeRight ? 1 : 0, J = timeRight ? 0 : 1;
  const fixed = sizes.map((n, k) => k === I || k === J ? 0 : Math.floor(n / 2));
  const plane = {
    nameI: names[I], nameJ: names[J], axisI: fields.axes[I], axisJ: fields.axes[J],
    values: name => {
      const array = fields.arrays[name], base = fixed.reduce((sum, at, k) => k === I || k === J ? sum : sum + at * strides[k], 0);
      return (i, j) => array[base + i * strides[I] + j * strides[J]];
    }};
  const shared = {window: {i: [0, sizes[I] - 1], j: [0, sizes[J] - 1]}, maps: []};
  const sliders = names.map((name, k) => {
    if (k === I || k === J) return null;
    const output = el('output', {}, number(fields.axes[k][fixed[k]]));
    return el('label', {}, name + ' ', el('input', {type: 'range', min: 0, max: sizes[k] - 1, value: fixed[k], oninput: event => {
      fixed[k] = Number(event.target.value);
      output.textContent = number(fields.axes[k][fixed[k]]);
      shared.maps.forEach(m => m.draw());
    }}), ' ', output);
  });
  const cards = shown.flatMap(f => {
    const family = [[f, 'prediction'], [f + '.reference', 'reference'], [f + '.error', 'error']].filter(([name]) => has(name));
    return [heatMap({name: f, title: f, sub: 'prediction', array: f, with: has(f + '.reference') ? f + '.reference' : null, family}, plane, shared),
      has(f + '.reference') ? heatMap({name: f + '.reference', title: f, sub: 'reference', array: f + '.reference', with: f, family}, plane, shared) : null,
      has(f + '.error') ? heatMap({name: f + '.error', title: f, sub: 'prediction − reference', array: f + '.error', signed: true, family}, plane, shared) : null];
  });
  residuals.forEach(r => cards.push(heatMap({name: r, title: r.slice(9), sub: 'residual', array: r, signed: true, family: [[r, 'residual']]}, plane, shared)));
  return el('div', {}, sliders.some(s => s) ? el('div', {class: 'sliders'}, 'Plane at', ...sliders) : null, el('div', {class: 'cards small'}, ...cards.filter(c => c)));
}

// ---------------------------------------------------------------------------------------------------- curves

const titles = {loss: 'Loss', residual: 'Residual', gradient_norm: 'Gradient norm', step_norm: 'Step length', evaluations: 'Evaluations', tau: 'τ, mean over layers',
                basis_updates: 'Basis updates', stage: 'Stage'};
function titleOf(column) {
  if (titles[column]) return titles[column];
  const dot = column.indexOf('.'), kind = column.slice(0, dot), name = column.slice(dot + 1);
  const words = {loss: 'Loss of ', weight: 'Weight of ', residual: 'Residual of ', l2: 'L² error of ', h1: 'H¹ error of ', unknown: 'Unknown '}[kind];
  return words ? words + name : column;
}
// Short, for a chart whose title says the rest.
function labelOf(column) {
  const dot = column.indexOf('.'), name = column.slice(dot + 1);
  if (dot < 0) return {loss: 'total', residual: 'all equations', gradient_norm: 'gradient', step_norm: 'step'}[column] || column;
  return ({l2: 'L² of ', h1: 'H¹ of '}[column.slice(0, dot)] || '') + name;
}
const recorded = (run, column) => (run.history[column] || []).some(finite);
const clocks = run => ({step: run.history.step, seconds: run.history.seconds});
const wantsLog = lists => {
  const values = lists.flat().filter(finite);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), 0);
  return low > 0 && high > 30 * low;
};
const constant = list => { const v = list.filter(finite); return v.length === 0 || v.every(x => x === v[0]); };

function detailCharts(run) {
  const columns = Object.keys(run.history).filter(c => recorded(run, c));
  const lines = list => list.map((c, i) => ({name: c, label: labelOf(c), color: categorical(i), x: clocks(run), y: run.history[c], thin: i > 0 && c.includes('.')}));
  const group = (title, sub, list, log) => list.length ? lineChart({title, sub, log, series: lines(list)}) : null;
  const of = kind => columns.filter(c => c.startsWith(kind + '.'));
  const weights = of('weight').filter(c => !constant(run.history[c]));
  return [
    group('Loss', 'weighted mean squares, with its terms', columns.filter(c => c === 'loss').concat(of('loss')), true),
    group('Residual', 'root mean square at held-out points', columns.filter(c => c === 'residual').concat(of('residual')), true),
    group('Error', 'relative, against the reference', of('l2').concat(of('h1')), true),
    group('Gradient and step', 'Euclidean norms', columns.filter(c => c === 'gradient_norm' || c === 'step_norm'), true),
    weights.length ? group('Weights', 'of the terms', weights, true) : null,
    group('Unknowns', '', of('unknown'), false),
  ].filter(c => c);
}

const quantityWords = {tau: ['τ', 'self-scaling factor per layer'], rho: ['ρ', 'per layer'], gamma: ['γ', 'per layer'], basis_changed: ['Basis updates', 'counted over the recorded steps'],
  c: ['c', 'per layer'], a: ['a', 'per layer'], gradient_cosine: ['Gradient cosine', 'of successive gradients'], lambda: ['λ', 'damping'], alpha: ['α', 'step length']};
const firstQuantities = ['tau', 'rho', 'basis_changed', 'gamma'];

function diagnosticCharts(run) {
  const blocks = Object.keys(run.diagnostics.blocks), quantities = [...new Set(blocks.flatMap(b => Object.keys(run.diagnostics.blocks[b])))];
  const at = new Map(run.history.step.map((s, i) => [s, run.history.seconds[i]]));
  const x = {step: run.diagnostics.step, seconds: run.diagnostics.step.map(s => at.has(s) ? at.get(s) : null)};
  const hidden = new Set(), sharing = [];
  const chart = q => {
    const having = blocks.filter(b => run.diagnostics.blocks[b][q]);
    const series = having.map(b => ({name: b || 'all', color: ordinal(blocks.indexOf(b), blocks.length), x, y: run.diagnostics.blocks[b][q], thin: true}));
    const [title, sub] = quantityWords[q] || [q.replaceAll('_', ' '), 'per layer'];
    return lineChart({title, sub, log: wantsLog(series.map(s => s.y)), series, hidden, sharing, height: 220, smoothable: q !== 'basis_changed' && series.some(s => s.y.length > 40)});
  };
  const first = firstQuantities.filter(q => quantities.includes(q));
  const rest = quantities.filter(q => !first.includes(q));
  return {first: (first.length ? first : rest).map(chart), rest: first.length ? () => rest.map(chart) : null, restCount: first.length ? rest.length : 0};
}

// ---------------------------------------------------------------------------------------------------- tables and settings

function dataTable(t) {
  const wordy = t.header.map((_, k) => k > 0 && t.rows.some(r => /[a-z]{3}/.test(r[k] || '')));
  const pre = el('pre', {hidden: true});
  const show = (kind, text) => el('button', {type: 'button', onclick: () => {
    const same = !pre.hidden && pre.dataset.kind === kind;
    pre.hidden = same;
    pre.dataset.kind = kind;
    pre.textContent = text;
    if (!same && navigator.clipboard) navigator.clipboard.writeText(text).catch(() => {});
  }}, kind);
  return el('div', {'data-table': t.name}, el('h3', {}, t.title),
    el('div', {class: 'scroll'}, el('table', {class: 'data'},
      el('thead', {}, el('tr', {}, ...t.header.map((h, k) => el('th', {class: wordy[k] ? 'words' : null}, h)))),
      el('tbody', {}, ...t.rows.map(r => el('tr', {}, ...r.map((c, k) => el('td', {class: wordy[k] ? 'words' : null}, c || '–'))))))),
    el('div', {class: 'copy'}, 'show and copy as', show('Markdown', t.markdown), show('CSV', t.csv), show('LaTeX', t.latex)), pre);
}

function pairs(object, prefix = '') {
  if (object === null || typeof object !== 'object') return [];
  return Object.entries(object).flatMap(([key, value]) => value !== null && typeof value === 'object' && !Array.isArray(value)
    ? pairs(value, prefix + key + '.') : [[prefix + key, Array.isArray(value) ? value.map(v => typeof v === 'object' ? JSON.stringify(v) : String(v)).join(', ') : value === null || value === '' ? '–' : String(value)]]);
}
const pairList = (title, list) => list.length ? el('div', {}, el('h3', {}, title), el('dl', {class: 'pairs'}, ...list.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))) : null;

function settings(run) {
  const c = run.config;
  if (!c) return el('p', {}, 'config.json could not be read.');
  const {problem, optimizer, training, format, ...general} = c;
  const {text, overrides, ...about} = problem || {};
  return el('div', {}, el('div', {class: 'columns'},
    pairList('Run', pairs({...about, ...general})), pairList('Optimizer', pairs(optimizer)), pairList('Training', pairs(training)),
    pairList('Changed in the problem file', (Array.isArray(overrides) ? overrides : []).map(o => [String(o[0]), String(o[1])]))),
    text ? el('details', {}, el('summary', {}, 'The problem file'), el('pre', {}, text)) : null);
}

function keyFigures(run) {
  const s = run.summary;
  if (!s) return null;
  const end = s.final || {}, best = s.best || {}, worst = o => Math.max(...Object.values(o || {}).filter(finite));
  const item = (name, value, small) => el('div', {}, el('dt', {}, name), el('dd', {}, value, small ? el('small', {}, small) : null));
  return el('dl', {class: 'figures'}, item('Residual, last step', number(end.residual)), end.l2 ? item('Relative L² error', number(worst(end.l2))) : null,
    end.h1 ? item('Relative H¹ error', number(worst(end.h1))) : null, item('Best residual', number(best.residual), 'step ' + number(best.step, 9)),
    item('Steps', number(s.step, 9), finite(s.parameters) ? s.parameters + ' parameters' : null), item('Time', duration(s.seconds), finite(s.steps_per_second) ? number(s.steps_per_second, 3) + ' steps/s' : null));
}

function problemTitle(run) {
  const found = run.config && run.config.problem && /^\s*title\s*=\s*"([^"]*)"/m.exec(run.config.problem.text || '');
  return found ? found[1] : '';
}

// ---------------------------------------------------------------------------------------------------- the page

const single = data.runs.length === 1;
const optimizers = [...new Set(data.runs.map(r => r.optimizer || r.name))];
const colourOf = run => single ? categorical(0) : optimizers.length > 1 ? categorical(optimizers.indexOf(run.optimizer || run.name)) : categorical(data.runs.indexOf(run));
const hint = () => el('p', {class: 'hint'}, 'Drag to zoom, pinch or Ctrl + wheel to zoom at the pointer, double-click to go back. Click a name to switch it off, double-click to see it alone.');

function comparisonCharts() {
  const hidden = new Set(), sharing = [];
  const columns = [...new Set(data.runs.flatMap(r => Object.keys(r.history).filter(c => c !== 'step' && c !== 'seconds' && recorded(r, c))))];
  const content = column => {
    const having = data.runs.filter(r => recorded(r, column));
    return {series: having.map(r => ({name: r.name, color: colourOf(r), x: clocks(r), y: r.history[column], thin: having.length > 4})), log: /^(loss|residual|l2|h1)/.test(column) || wantsLog(having.map(r => r.history[column])),
            sub: {loss: 'weighted mean squares', residual: 'root mean square at held-out points'}[column] || (/^(l2|h1)/.test(column) ? 'relative' : '')};
  };
  const wanted = ['loss', 'residual', columns.find(c => c.startsWith('l2.')), columns.find(c => c.startsWith('h1.')) || 'gradient_norm'].filter(c => columns.includes(c));
  return wanted.map(column => {
    const figures = {};
    const choice = el('select', {'aria-label': 'quantity', onchange: event => figures.change(content(event.target.value))}, ...columns.map(c => el('option', {value: c, selected: c === column}, titleOf(c))));
    const node = lineChart({title: titleOf(column), choice, ...content(column), hidden, sharing});
    const chart = sharing[sharing.length - 1];
    figures.change = next => chart.series(next);
    return node;
  });
}

function detail(run) {
  const parts = [], add = (id, title, small, ...children) => parts.push([id, title, small, children]);
  const curves = detailCharts(run);
  if (curves.length) add('curves', 'Curves', '', el('div', {class: 'cards'}, ...curves), single ? hint() : null);
  if (run.fields) add('fields', 'Fields', finite(run.fields.step) ? 'best network, step ' + run.fields.step : '', fieldMaps(run.fields));
  if (run.diagnostics.step.length) {
    const d = diagnosticCharts(run);
    const more = d.restCount ? el('details', {ontoggle: event => { if (event.target.open && !more.dataset.filled) { more.dataset.filled = 'yes'; more.append(el('div', {class: 'cards small', style: 'margin-top:.8rem'}, ...d.rest())); } }},
      el('summary', {}, `${d.restCount} more quantities`)) : null;
    add('optimizer', 'Optimizer', run.optimizer + ', layer by layer', el('div', {class: 'cards'}, ...d.first), more);
  }
  add('settings', 'Settings', '', settings(run));
  if (run.environment) add('environment', 'Environment', '', el('div', {class: 'columns'}, pairList('', pairs(run.environment))));
  return parts;
}

const notes = data.runs.flatMap(r => r.notes.map(n => single ? n : `${r.name}: ${n}`));
document.getElementById('bar-title').textContent = data.title;
document.getElementById('axis-switch').append(switchOf('horizontal axis', [['step', 'steps'], ['seconds', 'wall clock']], 'step', value => {
  clock = value;
  document.body.dataset.clock = value;
  charts.forEach(c => c.reset());
}));
const subtitle = [...new Set(data.runs.map(problemTitle).filter(t => t))].join(' · ');
const ended = single && data.runs[0].summary && data.runs[0].summary.words;
main.append(el('header', {class: 'top'}, el('h1', {}, data.title), el('p', {}, [subtitle, single ? data.runs[0].name : optimizers.join(', '), ended ? 'ended: ' + ended : ''].filter(t => t).join('  ·  ')),
  single ? keyFigures(data.runs[0]) : null),
  ...(notes.length ? [el('div', {class: 'notes'}, 'Notes on the files', el('ul', {}, ...notes.map(n => el('li', {}, n))))] : []));

const tables = () => section('tables', 'Tables', '', ...data.tables.map(dataTable));
if (single) {
  const parts = detail(data.runs[0]), at = parts.findIndex(([id]) => id === 'settings');
  parts.slice(0, at).forEach(([id, title, small, children]) => section(id, title, small, ...children));
  tables();
  parts.slice(at).forEach(([id, title, small, children]) => section(id, title, small, ...children));
} else {
  const compared = section('comparison', 'Comparison', '', el('div', {class: 'cards'}, ...comparisonCharts()), hint());
  compared.dataset.runs = data.runs.length;
  tables();
  const body = el('div', {});
  const choose = run => {
    charts.forEach(c => { if (!comparing.has(c)) charts.delete(c); });
    maps.clear();
    body.replaceChildren(...detail(run).map(([id, title, small, children]) => el('section', {id: 'run-' + id}, el('h3', {}, title, small ? el('small', {style: 'font-weight:400;color:var(--soft);margin-left:.6rem'}, small) : null), ...children)));
  };
  const comparing = new Set(charts);
  section('run', 'One run', '', el('select', {id: 'choose-run', 'aria-label': 'run', onchange: event => choose(data.runs[Number(event.target.value)])}, ...data.runs.map((r, i) => el('option', {value: i}, r.name))), body);
  choose(data.runs[0]);
}
document.getElementById('links').append(...sections.map(([id, title]) => el('a', {href: '#' + id}, title)));
main.append(el('footer', {}, 'Made by Lather ' + data.lather + '. The data of this page are in it, as JSON, under the id “data”.'));
document.body.dataset.ready = 'yes';
})();
