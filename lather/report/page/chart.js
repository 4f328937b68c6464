// Line charts: SVG, log or linear, steps or wall clock, hover, zoom, series on and off.

const charts = new Set();
let clock = 'step';  // or 'seconds'
const resized = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(({target}) => {
                                     if (target.isConnected && target.clientWidth !== target.drawnWidth)
                                       target.redraw();
                                   })));
const addClockSwitch = () =>
    document.getElementById('axis-switch')
        .append(switchOf('horizontal axis', [['step', 'steps'], ['seconds', 'wall clock']], clock, value => {
          clock = value;
          document.body.dataset.clock = value;
          charts.forEach(c => c.reset());
        }));
// Draws what was added to the page since the last call; a chart needs to know its width.
const drawNew = () => document.querySelectorAll('.plot').forEach(plot => {
  if (plot.drawnWidth === undefined) plot.redraw();
});

// After the last section.
function finishPage() {
  document.getElementById('links').append(...sections.map(([id, title]) => el('a', {href: '#' + id}, title)));
  main.append(
      el('footer', {},
         'Made by Lather ' + data.lather + '. The data of this page are in it, as JSON, under the id “data”.'));
  drawNew();
  document.body.dataset.ready = 'yes';
}

// Over a fortieth of the points, at least five; of logarithms on a logarithmic scale.
function runningMean(values) {
  const half = Math.max(2, Math.round(values.length / 80));
  return values.map((v, i) => {
    if (!finite(v)) return null;
    const near = values.slice(Math.max(0, i - half), i + half + 1).filter(finite);
    return near.reduce((a, b) => a + b, 0) / near.length;
  });
}

// Runs that differ in their seed, as one curve: mean and range, of logarithms on a logarithmic scale, at
// common places, as far as all of them go.
function bandOf(seeds) {
  const clean = seeds.map(({x, y}) => x.map((v, i) => [v, y[i]]).filter(([v, w]) => finite(v) && finite(w)))
                    .filter(list => list.length);
  if (!clean.length) return {x: [], y: [], low: [], high: []};
  const from = Math.max(...clean.map(l => l[0][0])), to = Math.min(...clean.map(l => l[l.length - 1][0]));
  if (from > to) {  // no overlap: where they ended, on average
    const ends = clean.map(l => l[l.length - 1]), mean = k => ends.reduce((sum, e) => sum + e[k], 0) / ends.length;
    return {
      x: [mean(0)],
      y: [mean(1)],
      low: [Math.min(...ends.map(e => e[1]))],
      high: [Math.max(...ends.map(e => e[1]))]
    };
  }
  const longest = clean.reduce((a, b) => b.length > a.length ? b : a);
  const inner = longest.map(p => p[0]).filter(v => v > from && v < to);
  const every = Math.max(1, Math.ceil(inner.length / 600));
  const places = [from, ...inner.filter((_, i) => i % every === 0), ...(to > from ? [to] : [])];
  const columns = clean.map(list => {
    let i = 0;
    return places.map(v => {
      while (i + 1 < list.length - 1 && list[i + 1][0] < v) ++i;
      const [a, b] = [list[i], list[Math.min(i + 1, list.length - 1)]];
      return b[0] > a[0] ? a[1] + (b[1] - a[1]) * Math.min(1, Math.max(0, (v - a[0]) / (b[0] - a[0]))) : a[1];
    });
  });
  const at = f => places.map((_, i) => f(columns.map(c => c[i])));
  return {
    x: places,
    y: at(v => v.reduce((a, b) => a + b, 0) / v.length),
    low: at(v => Math.min(...v)),
    high: at(v => Math.max(...v))
  };
}

// series: {name, label, color, x: {step: […], seconds: […]}, y: […], thin, dashed}, or with seeds: [{x, y}, …] instead
// of x and y; `hidden` names may be shared by several charts. levels: [{label, value, color}] are drawn
// across. Over something other than steps and time: axis (its name), x: {axis: […]} as places on scaleX
// (frame.js); dots: [{x, y}] are data, marks at the bottom where y is null.
function lineChart(o) {
  const hidden = o.hidden || new Set(), sharing = o.sharing || [];
  const scaleX = o.scaleX || linearScale;
  let series = o.series, log = o.log, smooth = false, view = {x: null, y: null}, shown = [], geometry = null;
  const plot = el('div', {class: 'plot'}), legend = el('div', {class: 'legend'});
  const sub = el('span', {class: 'sub'}, o.sub || '');
  const chart = {
    draw,
    reset: () => {
      view = {x: null, y: null};
      draw();
    },
    series: next => {
      series = next.series;
      sub.textContent = next.sub || '';
      log = next.log;
      scale.press(log ? 'log' : 'linear');
      chart.reset();
    }
  };
  const scale = switchOf('scale', [['log', 'log'], ['linear', 'linear']], log ? 'log' : 'linear', value => {
    log = value === 'log';
    view.y = null;
    draw();
  });
  const smoothing = switchOf('smoothing', [['raw', 'raw'], ['mean', 'smooth']], 'raw', value => {
    smooth = value === 'mean';
    draw();
  });
  const saving = saveButtons({
    name: () => o.title,
    svg: () => standalone(plot.querySelector('svg'), o.title, shown.map(p => [p.s.label || p.s.name, p.s.color])),
    csv: () => {
      const banded = shown.some(p => p.low), back = v => finite(v) ? (log ? Math.pow(10, v) : v) : '';
      return ['series,' + axisName() + (banded ? ',value,low,high' : ',value')]
                 .concat(shown.flatMap(
                     p => p.x.map((v, i) => [v, i])
                              .filter(([v, i]) => finite(v) && finite(p.y[i]))
                              .map(
                                  ([v, i]) => [csvText(p.s.label || p.s.name), scaleX.back(v), back(p.y[i]),
                                               ...(banded ? [p.low, p.high].map(b => b ? back(b[i]) : '') : [])]
                                                  .join(','))))
                 .join('\n') +
          '\n';
    }
  });
  const figure =
      el('figure', {class: 'card chart', 'data-chart': o.title},
         el('figcaption', {}, o.choice || el('b', {}, o.title), sub, smoothing, scale), plot,
         el('div', {class: 'below'}, legend, saving));
  plot.redraw = draw;
  resized.observe(plot);
  charts.add(chart);
  sharing.push(chart);

  const xs = s => o.axis ? s.x.axis : clock === 'seconds' && s.x.seconds.some(finite) ? s.x.seconds : s.x.step;
  const scaled = s => log ? s.y.map(v => finite(v) && v > 0 ? Math.log10(v) : null) : s.y;
  const ys = s => smooth ? runningMean(scaled(s)) : scaled(s);
  const axisName = () => o.axis || (clock === 'seconds' ? 'seconds' : 'steps');
  const placed = s => {
    if (!s.seeds) return {s, x: xs(s), y: ys(s)};
    const band = bandOf(s.seeds.map(one => ({x: xs(one), y: scaled(one)})));
    const mean = smooth ? runningMean : v => v;
    return {s, x: band.x, y: mean(band.y), low: mean(band.low), high: mean(band.high)};
  };

  function range(values, pad) {
    let low = Infinity, high = -Infinity;
    for (const v of values)
      if (finite(v)) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    if (low > high) return null;
    if (low === high) {
      const d = log ? 0.5 : Math.abs(low) * 0.1 || 1;
      return [low - d, high + d];
    }
    return [low - pad * (high - low), high + pad * (high - low)];
  }

  function draw() {
    const width = plot.clientWidth || 460, height = o.height || 250;
    plot.drawnWidth = plot.clientWidth;
    const area = {left: 52, top: 8, width: width - 52 - 10, height: height - 8 - 36};
    shown = series.filter(s => !hidden.has(s.name)).map(placed);
    smoothing.style.display = smooth || !o.axis && shown.some(p => p.y.length > 40) ? '' : 'none';
    const whole = range(shown.flatMap(p => p.x.filter((v, i) => finite(p.y[i]))), 0);
    if (whole && !o.axis && whole[0] < 0.1 * whole[1]) whole[0] = Math.min(whole[0], 0);
    const inside = whole && view.x ? [Math.max(view.x[0], whole[0]), Math.min(view.x[1], whole[1])] : whole;
    const xRange = inside && inside[0] < inside[1] ? inside : whole;
    const inView = (p, list) => list ? list.filter((v, i) => p.x[i] >= xRange[0] && p.x[i] <= xRange[1]) : [];
    const levels =
        (o.levels || []).map(l => ({...l, at: log ? Math.log10(l.value) : l.value})).filter(l => finite(l.at));
    const yRange = xRange &&
        (view.y || o.yRange ||
         range(
             shown.flatMap(p => [...inView(p, p.y), ...inView(p, p.low), ...inView(p, p.high)])
                 .concat(levels.map(l => l.at)),
             0.05));
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': o.title});
    drawLegend();
    plot.replaceChildren(picture);
    geometry = null;
    if (!yRange) {
      picture.append(
          svg('text', {x: width / 2, y: height / 2, 'text-anchor': 'middle', class: 'empty'},
              series.length ? (hidden.size ? 'all series are switched off' : 'nothing to draw on this scale') :
                              'not recorded'));
      return;
    }
    const X = v => area.left + (v - xRange[0]) / (xRange[1] - xRange[0]) * area.width;
    const Y = v => area.top + (yRange[1] - v) / (yRange[1] - yRange[0]) * area.height;
    const ticksY = log ? logTicks(...yRange, 7) : linearTicks(...yRange, 5);
    for (const [at, label] of ticksY)
      picture.append(
          svg('line', {class: 'grid', x1: area.left, x2: area.left + area.width, y1: Y(at), y2: Y(at)}),
          svg('text', {x: area.left - 7, y: Y(at) + 3.5, 'text-anchor': 'end'}, label));
    let free = -Infinity;  // a label touching the previous one is left out, one at the edge moves inside
    for (const [at, label] of scaleX.ticks(...xRange, Math.max(2, Math.floor(area.width / 70)))) {
      const half = 3.4 * label.length, x = Math.min(X(at), width - half - 1);
      picture.append(svg('line', {class: 'grid', x1: X(at), x2: X(at), y1: area.top, y2: area.top + area.height}));
      if (x - half < free + 4) continue;
      free = x + half;
      picture.append(svg('text', {x, y: area.top + area.height + 15, 'text-anchor': 'middle'}, label));
    }
    picture.append(svg('text', {x: area.left + area.width, y: height - 4, 'text-anchor': 'end'}, axisName()));
    const clip = 'clip' + Math.random().toString(36).slice(2);
    picture.append(
        svg('clipPath', {id: clip},
            svg('rect', {x: area.left, y: area.top - 1, width: area.width, height: area.height + 2})));
    const lines = svg('g', {'clip-path': `url(#${clip})`});
    for (const {label, at, color} of levels)
      lines.append(
          svg('line', {
            class: 'level',
            x1: area.left,
            x2: area.left + area.width,
            y1: Y(at),
            y2: Y(at),
            style: `stroke:${color}`
          }),
          svg('text',
              {x: area.left + area.width - 5, y: Y(at) - area.top < 16 ? Y(at) + 13 : Y(at) - 4, 'text-anchor': 'end'},
              label));
    for (const {s, x, low, high} of shown) {
      if (!low || x.length < 2) continue;
      const edge = list => x.map((v, i) => X(v).toFixed(1) + ',' + Y(list[i]).toFixed(1));
      lines.append(svg('path', {
        class: 'band',
        'data-series': s.name,
        d: 'M' + edge(high).concat(edge(low).reverse()).join('L') + 'Z',
        style: `fill:${s.color}`
      }));
    }
    for (const {s, x, y} of shown) {
      let path = '', points = 0;
      for (let i = 0; i < x.length; ++i)
        if (finite(x[i]) && finite(y[i])) {
          path += (points++ ? 'L' : 'M') + X(x[i]).toFixed(1) + ',' + Y(y[i]).toFixed(1);
        }
      if (points === 1) path += 'h0.01';
      lines.append(svg('path', {
        class: 'line' + (s.thin ? ' thin' : ''),
        d: path,
        'data-series': s.name,
        'data-points': points,
        style: `stroke:${s.color}` + (points === 1 ? ';stroke-width:6px;stroke-linecap:round' : ''),
        'stroke-dasharray': s.dashed ? '2 4' : null
      }));
    }
    for (const {x, y} of o.dots || []) {
      const at = finite(y) ? log ? Math.log10(y) : y : null;
      if (!finite(x) || at !== null && !finite(at)) continue;
      lines.append(
          at === null ?
              svg('line',
                  {class: 'data', x1: X(x), x2: X(x), y1: area.top + area.height - 7, y2: area.top + area.height}) :
              svg('circle', {class: 'data', cx: X(x), cy: Y(at), r: 2.2}));
    }
    const guide = svg('g', {}), pick = svg('rect', {class: 'pick', width: 0, height: 0});
    picture.append(
        lines, svg('rect', {class: 'frame', x: area.left, y: area.top, width: area.width, height: area.height}), guide,
        pick);
    geometry = {area, xRange, yRange, X, Y, guide, pick};
  }

  function drawLegend() {
    if (series.length < 2 && !hidden.size) {
      legend.replaceChildren();
      return;
    }
    legend.replaceChildren(...series.map(
        s =>
            el('button', {
              type: 'button',
              class: s.dashed ? 'dashed' : null,
              style: `--c:${s.color}`,
              'data-series': s.name,
              'aria-pressed': String(!hidden.has(s.name)),
              title: 'click: on or off; double click: this one alone',
              onclick: () => {
                hidden.has(s.name) ? hidden.delete(s.name) : hidden.add(s.name);
                sharing.forEach(c => c.draw());
              },
              ondblclick: () => {
                hidden.clear();
                series.forEach(other => other.name !== s.name && hidden.add(other.name));
                sharing.forEach(c => c.draw());
              },
            },
               s.label || s.name)));
  }

  zoomable(
      plot, () => geometry ? geometry.area : {left: 0, top: 0, width: 1, height: 1},
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
        set({
          x: area.left + Math.min(from.x, to.x) * area.width,
          width: Math.abs(to.x - from.x) * area.width,
          y: tall ? area.top + (1 - Math.max(from.y, to.y)) * area.height : area.top,
          height: tall ? Math.abs(to.y - from.y) * area.height : area.height
        });
      });

  plot.addEventListener('pointerleave', () => {
    hideTip();
    if (geometry) geometry.guide.replaceChildren();
  });
  plot.addEventListener('pointermove', event => {
    if (!geometry) return;
    const {area, xRange, X, Y, guide} = geometry, box = plot.getBoundingClientRect();
    const x = xRange[0] + (event.clientX - box.left - area.left) / area.width * (xRange[1] - xRange[0]);
    const rows = [];
    for (const p of shown) {
      let best = -1;
      for (let i = 0; i < p.x.length; ++i)
        if (finite(p.x[i]) && finite(p.y[i]) && p.x[i] >= xRange[0] && p.x[i] <= xRange[1] &&
            (best < 0 || Math.abs(p.x[i] - x) < Math.abs(p.x[best] - x)))
          best = i;
      if (best >= 0) rows.push({s: p.s, at: p.x[best], y: p.y[best], value: log ? Math.pow(10, p.y[best]) : p.y[best]});
    }
    guide.replaceChildren();
    if (!rows.length) return hideTip();
    const anchor = rows.reduce((a, b) => Math.abs(b.at - x) < Math.abs(a.at - x) ? b : a).at;
    const near = rows.reduce(
        (a, b) => Math.abs(Y(b.y) - event.clientY + box.top) < Math.abs(Y(a.y) - event.clientY + box.top) ? b : a);
    guide.append(svg('line', {class: 'guide', x1: X(anchor), x2: X(anchor), y1: area.top, y2: area.top + area.height}));
    rows.forEach(r => guide.append(svg('circle', {cx: X(r.at), cy: Y(r.y), r: 3, style: `fill:${r.s.color}`})));
    rows.sort((a, b) => b.y - a.y);
    const listed = rows.length > 14 ? rows.filter(r => Math.abs(rows.indexOf(r) - rows.indexOf(near)) < 7) : rows;
    showTip(
        event, el('div', {class: 'head'}, (o.axis || clock) + ' ' + number(scaleX.back(anchor), 6)),
        el('table', {},
           ...listed.map(
               r =>
                   el('tr', {class: r === near && rows.length > 1 ? 'near' : null},
                      el('td', {}, el('i', {style: `--c:${r.s.color}`}), r.s.label || r.s.name),
                      el('td', {}, number(r.value, 5))))));
  });
  return figure;
}
