// Heat maps on a canvas.

const maps = new Set();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => maps.forEach(m => m.draw()));
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Ticks [share, text] along `pixels` pixels, without those whose text would touch the previous one.
function spaced(ticks, pixels, size) {
  let free = -Infinity;
  return ticks.filter(([at, text]) => {
    const fits = at * pixels - size(text) / 2 >= free;
    if (fits) free = at * pixels + size(text) / 2;
    return fits;
  });
}

// Heat maps of arrays over the same plane; they share zoom and crosshair. shared: {frame, maps}
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
                const value = plane.values(o.array), mapped = plane.physical.map(p => p.name);
                const rows = [[plane.nameI, plane.nameJ, ...mapped, 'value'].map(csvText).join(',')];
                plane.axisI.forEach((x, i) => plane.axisJ.forEach((y, j) => finite(value(i, j)) && rows.push([
                  x, y, ...plane.physical.map(p => p.of(i, j)), value(i, j)
                ].join(','))));
                return rows.join('\n') + '\n';
              }
            })));
  if (shared.frame.proportional() && shared.frame.shape() > 2.2) figure.classList.add('wide');
  const map = {draw, mark};
  let area = null;
  shared.maps.push(map);
  maps.add(map);
  plot.redraw = draw;
  resized.observe(plot);

  function colouring() {
    const seen = [], arrays = [o.array, ...(o.with ? [o.with] : [])];
    if (plane.sliced && !shared.frame.zoomed())  // all slices share one scale, so that they can be compared
      arrays.forEach(name => plane.whole(name).forEach(v => finite(v) && seen.push(v)));
    else
      for (const value of arrays.map(plane.values))
        shared.frame.seen((i, j) => finite(value(i, j)) && seen.push(value(i, j)));
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

  // Room for ticks and names on the left, for the colours on the right, and below. A shape keeps its proportions.
  function room(width) {
    const most = {width: width - 54 - 72, height: Math.min(300, Math.max(200, width * 0.62)) - 6 - 36};
    if (!shared.frame.proportional()) return most;
    const tallest = 360, shape = shared.frame.shape();
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
    const frame = shared.frame, k = colouring(), span = k.high - k.low;
    frame.paint(
        c, area, plane.values(o.array),
        v => k.colours[Math.max(0, Math.min(255, Math.round(255 * (k.of(v) - k.low) / span)))]);
    canvas.dataset.drawn = frame.drawn();
    c.font = '11px ' + css('--sans');
    c.fillStyle = css('--soft');
    c.strokeStyle = css('--rule');
    c.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
    const lines = [...plane.outline.map(line => line.map(([x, y]) => frame.place(x, y))), ...frame.edges()];
    if (lines.length) {  // of a shape or of a mapped domain
      c.save();
      c.beginPath();
      c.rect(area.left - 1, area.top - 1, area.width + 2, area.height + 2);
      c.clip();
      c.strokeStyle = css('--ink');
      for (const line of lines) {
        c.beginPath();
        for (const [u, v] of line) c.lineTo(area.left + area.width * u, area.top + area.height * (1 - v));
        c.stroke();
      }
      c.restore();
    }
    for (const [x, y] of o.noData ? [] : plane.data) {  // where there are data
      const [u, v] = frame.place(x, y);
      if (!(u >= 0 && u <= 1 && v >= 0 && v <= 1)) continue;
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
    for (const [u, text] of spaced(frame.ticksX(4), area.width, text => 6.2 * text.length + 8))
      c.fillText(text, area.left + area.width * u, area.top + area.height + 5);
    c.fillText(frame.nameX, area.left + area.width / 2, area.top + area.height + 21);
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const [v, text] of spaced(frame.ticksY(4), area.height, () => 13))
      c.fillText(text, area.left - 6, area.top + area.height * (1 - v));
    c.textAlign = 'left';
    c.fillText(frame.nameY, 2, area.top + area.height / 2);
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
    const [u, v] = shared.frame.placeOf(cell.i, cell.j);
    cross.style.display = u >= 0 && u <= 1 && v >= 0 && v <= 1 ? 'block' : 'none';
    cross.style.left = area.left + u * area.width + 'px';
    cross.style.top = area.top + (1 - v) * area.height + 'px';
  }

  zoomable(
      plot, () => area || {left: 0, top: 0, width: 1, height: 1},
      (x, y) => {
        shared.frame.zoom(x, y);
        shared.maps.forEach(other => other.draw());
      },
      () => {
        shared.frame.reset();
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
    const box = plot.getBoundingClientRect();
    const u = (event.clientX - box.left - area.left) / area.width,
          v = 1 - (event.clientY - box.top - area.top) / area.height;
    const cell = u < 0 || u > 1 || v < 0 || v > 1 ? null : shared.frame.cellAt(u, v);
    shared.maps.forEach(other => other.mark(cell));
    if (!cell) return hideTip();
    showTip(
        event, el('div', {class: 'head'}, shared.frame.where(cell.i, cell.j)),
        el('table', {},
           ...o.family.map(
               ([name, title]) =>
                   el('tr', {class: name === o.array ? 'near' : null}, el('td', {}, title),
                      el('td', {}, number(plane.values(name)(cell.i, cell.j), 5))))));
  });
  return figure;
}
