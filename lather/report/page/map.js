// Heat maps on a canvas.

const maps = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => maps.forEach(m => m.draw()));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Heat maps of arrays over the same plane; zoom and crosshair are common. shared: {window, others, marks}
function heatMap(o, plane, shared) {
  let log = false;
  const canvas = el('canvas', {'data-map': o.name}), plot = el('div', {class: 'plot', 'data-zoom': 'both'}, canvas);
  const pick = el('div', {
    style:
        'position:absolute;pointer-events:none;border:1px solid var(--ink);background:color-mix(in srgb,var(--ink) 12%,transparent);display:none'
  });
  const cross = el('div', {
    style:
        'position:absolute;pointer-events:none;width:9px;height:9px;margin:-5px 0 0 -5px;border:1.5px solid #fff;outline:1px solid #000;border-radius:50%;display:none'
  });
  plot.append(pick, cross);
  const scale = o.signed ? switchOf('scale', [['signed', 'signed'], ['log', 'log |·|']], 'signed', v => {
    log = v === 'log';
    draw();
  }) : null;
  const figure =
      el('figure', {class: 'card map'},
         el('figcaption', {}, el('b', {}, o.title), el('span', {class: 'sub'}, o.sub || ''), scale), plot,
         el('div', {class: 'below'}, saveButtons({
              name: () => o.title + ' ' + (o.sub || ''),
              svg: () => {
                const width = canvas.clientWidth, height = canvas.clientHeight;
                return {
                  width,
                  height,
                  text: `<svg xmlns="${svgName}" width="${width}" height="${
                            height}"><rect width="100%" height="100%" fill="${css('--card')}"/>` +
                      `<image width="${width}" height="${height}" href="${canvas.toDataURL()}"/></svg>`
                };
              },
              csv: () => {
                const value = plane.values(o.array), rows = [[plane.nameI, plane.nameJ, 'value'].join(',')];
                plane.axisI.forEach(
                    (x, i) =>
                        plane.axisJ.forEach((y, j) => finite(value(i, j)) && rows.push([x, y, value(i, j)].join(','))));
                return rows.join('\n') + '\n';
              }
            })));
  if (plane.outline.length && widthOverHeight() > 2.2) figure.classList.add('wide');
  const map = {draw, mark};
  let area = null;
  shared.maps.push(map);
  maps.add(map);
  plot.redraw = draw;
  resized.observe(plot);

  function colouring() {
    const w = shared.window, seen = [],
          zoomed = () => w.i[1] - w.i[0] + 1 < plane.axisI.length || w.j[1] - w.j[0] + 1 < plane.axisJ.length;
    const arrays = [o.array, ...(o.with ? [o.with] : [])];
    if (plane.sliced && !zoomed())  // all slices have one scale, so that they can be compared
      arrays.forEach(name => plane.whole(name).forEach(v => finite(v) && seen.push(v)));
    else
      for (const list of arrays.map(plane.values))
        for (let i = w.i[0]; i <= w.i[1]; ++i)
          for (let j = w.j[0]; j <= w.j[1]; ++j) {
            const v = list(i, j);
            if (finite(v)) seen.push(v);
          }
    if (log) {
      const sizes = seen.map(Math.abs).filter(v => v > 0);
      const high = Math.log10(sizes.reduce((a, b) => Math.max(a, b), 1e-300)),
            low = Math.max(high - 8, Math.log10(sizes.reduce((a, b) => Math.min(a, b), 1e300)));
      return {
        low: Math.min(low, high - 1e-6),
        high,
        colours: sequential,
        ticks: logTicks,
        of: v => v === 0 ? -400 : Math.log10(Math.abs(v))
      };
    }
    let low = seen.reduce((a, b) => Math.min(a, b), Infinity), high = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) {
      low = 0;
      high = 1;
    }
    if (o.signed) {
      high = Math.max(-low, high) || 1;
      low = -high;
    }
    if (low === high) {
      low -= 0.5;
      high += 0.5;
    }
    return {low, high, colours: o.signed ? diverging : sequential, ticks: linearTicks, of: v => v};
  }

  // Of what is seen.
  function widthOverHeight() {
    const w = shared.window, extent = (axis, [from, to]) => Math.abs(axis[to] - axis[from]);
    return extent(plane.axisI, w.i) / extent(plane.axisJ, w.j);
  }
  // Room for ticks and names on the left, for the colours on the right, and below. A shape keeps its proportions.
  function room(width) {
    const most = {width: width - 54 - 72, height: Math.min(300, Math.max(200, width * 0.62)) - 6 - 36};
    if (!plane.outline.length) return most;
    const tallest = 360, shape = widthOverHeight();
    return most.width / shape > tallest ? {width: tallest * shape, height: tallest} :
                                          {width: most.width, height: Math.max(24, most.width / shape)};
  }

  function draw() {
    plot.drawnWidth = plot.clientWidth;
    const width = plot.clientWidth || 380, inner = room(width), height = Math.round(inner.height + 6 + 36),
          ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + 'px';
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    area = {left: 54, top: 6, width: inner.width, height: height - 6 - 36};
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
    c.font = '11px ' + css('--sans');
    c.fillStyle = css('--soft');
    c.strokeStyle = css('--rule');
    c.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
    const place = (axis, window, v) => {  // share of the width of the cells
      const a = axis[window[0]], b = axis[window[1]], count = window[1] - window[0] + 1;
      return count < 2 ? 0.5 : ((v - a) / (b - a) * (count - 1) + 0.5) / count;
    };
    if (plane.outline.length) {  // of a shape, in its own coordinates
      c.save();
      c.beginPath();
      c.rect(area.left, area.top, area.width, area.height);
      c.clip();
      c.strokeStyle = css('--ink');
      for (const line of plane.outline) {
        c.beginPath();
        for (const [x, y] of line)
          c.lineTo(
              area.left + area.width * place(plane.axisI, w.i, x),
              area.top + area.height * (1 - place(plane.axisJ, w.j, y)));
        c.stroke();
      }
      c.restore();
    }
    for (const [x, y] of o.noData ? [] : plane.data) {  // where there are data
      const u = place(plane.axisI, w.i, x), v = place(plane.axisJ, w.j, y);
      if (u < 0 || u > 1 || v < 0 || v > 1) continue;
      c.beginPath();
      c.arc(area.left + area.width * u, area.top + area.height * (1 - v), 1.8, 0, 7);
      c.fillStyle = '#fff';
      c.fill();
      c.strokeStyle = '#000';
      c.lineWidth = 0.6;
      c.stroke();
      c.lineWidth = 1;
    }
    c.fillStyle = css('--soft');
    c.textAlign = 'center';
    c.textBaseline = 'top';
    for (const [v, text] of linearTicks(plane.axisI[w.i[0]], plane.axisI[w.i[1]], 4))
      c.fillText(text, area.left + area.width * place(plane.axisI, w.i, v), area.top + area.height + 5);
    c.fillText(plane.nameI, area.left + area.width / 2, area.top + area.height + 21);
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const [v, text] of linearTicks(plane.axisJ[w.j[0]], plane.axisJ[w.j[1]], 4))
      c.fillText(text, area.left - 6, area.top + area.height * (1 - place(plane.axisJ, w.j, v)));
    c.textAlign = 'left';
    c.fillText(plane.nameJ, 2, area.top + area.height / 2);
    const bar = {left: area.left + area.width + 14, width: 11};
    for (let y = 0; y < area.height; ++y) {
      c.fillStyle = `rgb(${k.colours[Math.round(255 * (1 - y / area.height))]})`;
      c.fillRect(bar.left, area.top + y, bar.width, 1.5);
    }
    c.fillStyle = css('--soft');
    for (const [v, text] of k.ticks(k.low, k.high, 5))
      c.fillText(text, bar.left + bar.width + 5, area.top + area.height * (1 - (v - k.low) / (k.high - k.low)));
  }

  function mark(cell) {
    if (!cell || !area) {
      cross.style.display = 'none';
      return;
    }
    const w = shared.window;
    cross.style.display = 'block';
    cross.style.left = area.left + (cell.i - w.i[0] + 0.5) / (w.i[1] - w.i[0] + 1) * area.width + 'px';
    cross.style.top = area.top + (1 - (cell.j - w.j[0] + 0.5) / (w.j[1] - w.j[0] + 1)) * area.height + 'px';
  }

  zoomable(
      plot, () => area || {left: 0, top: 0, width: 1, height: 1},
      (x, y) => {
        const cut = (window, part, size) => {
          if (!part) return window;
          const n = window[1] - window[0] + 1;
          const low = Math.max(0, Math.round(window[0] + part[0] * n)),
                high = Math.min(size - 1, Math.round(window[0] + part[1] * n) - 1);
          return high - low < 3 ? window : [low, high];
        };
        shared.window = {
          i: cut(shared.window.i, x, plane.axisI.length),
          j: cut(shared.window.j, y, plane.axisJ.length)
        };
        shared.maps.forEach(other => other.draw());
      },
      () => {
        shared.window = {i: [0, plane.axisI.length - 1], j: [0, plane.axisJ.length - 1]};
        shared.maps.forEach(other => other.draw());
      },
      (from, to) => {
        pick.style.display = from ? 'block' : 'none';
        if (!from) return;
        pick.style.left = area.left + Math.min(from.x, to.x) * area.width + 'px';
        pick.style.width = Math.abs(to.x - from.x) * area.width + 'px';
        pick.style.top = area.top + (1 - Math.max(from.y, to.y)) * area.height + 'px';
        pick.style.height = Math.abs(to.y - from.y) * area.height + 'px';
      });
  plot.addEventListener('pointerleave', () => {
    hideTip();
    shared.maps.forEach(other => other.mark(null));
  });
  plot.addEventListener('pointermove', event => {
    if (!area) return;
    const box = plot.getBoundingClientRect(), w = shared.window;
    const u = (event.clientX - box.left - area.left) / area.width,
          v = 1 - (event.clientY - box.top - area.top) / area.height;
    if (u < 0 || u > 1 || v < 0 || v > 1) {
      hideTip();
      shared.maps.forEach(other => other.mark(null));
      return;
    }
    const i = Math.min(w.i[1], w.i[0] + Math.floor(u * (w.i[1] - w.i[0] + 1))),
          j = Math.min(w.j[1], w.j[0] + Math.floor(v * (w.j[1] - w.j[0] + 1)));
    shared.maps.forEach(other => other.mark({i, j}));
    showTip(
        event,
        el('div', {class: 'head'},
           `${plane.nameI} ${number(plane.axisI[i])}, ${plane.nameJ} ${number(plane.axisJ[j])}`),
        el('table', {},
           ...o.family.map(
               ([name, title]) =>
                   el('tr', {class: name === o.array ? 'near' : null}, el('td', {}, title),
                      el('td', {}, number(plane.values(name)(i, j), 5))))));
  });
  return figure;
}
