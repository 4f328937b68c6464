// The page of a sweep: parallel coordinates, the best so far, curves of the best points, the ranking.

const metricWords = {
  residual: 'residual',
  loss: 'held-out loss',
  l2: 'L² error',
  h1: 'H¹ error'
}[data.metric] ||
    data.metric;
const points = data.points.map((p, i) => ({...p, rank: i + 1})), ranked = points.filter(p => finite(p.score));
const allRuns = points.flatMap(p => p.runs.map(r => ({...r, point: p})));
const shortName = path => path.slice(path.lastIndexOf('.') + 1).replaceAll('_', ' ');
const rankColour = p => finite(p.score) ? ordinal(p.rank - 1, Math.max(2, ranked.length)) : 'var(--faint)';
const textOf = v => v === undefined ? '–' : typeof v === 'number' ? number(v) : String(v);

// ---- parallel coordinates

function coordinateAxes() {
  const axes = data.axes.map(path => ({name: shortName(path), title: path, of: p => p.values[path]}));
  if (data.optimizers > 1) axes.unshift({name: 'optimizer', title: 'optimizer', of: p => p.optimizer});
  axes.push({name: metricWords, title: metricWords, of: p => finite(p.score) ? p.score : undefined, score: true});
  for (const axis of axes) {
    const values = points.map(axis.of).filter(v => v !== undefined);
    if (values.length && values.every(finite)) {
      const low = Math.min(...values), high = Math.max(...values);
      axis.log = low > 0 && high >= 10 * low;
      const scaled = v => axis.log ? Math.log10(v) : v, a = scaled(low), b = scaled(high);
      axis.share = v => a === b ? 0.5 : (scaled(v) - a) / (b - a);
      const distinct = [...new Set(values)];
      axis.ticks = distinct.length <= 6 && !axis.score ? distinct.map(v => [axis.share(v), number(v)]) :
          a === b                                      ? [[0.5, number(low)]] :
                    (axis.log ? logTicks(a, b, 6) : linearTicks(a, b, 5)).map(([at, t]) => [(at - a) / (b - a), t]);
    } else {
      const names = [...new Set(values.map(String))];
      axis.share = v => names.length < 2 ? 0.5 : names.indexOf(String(v)) / (names.length - 1);
      axis.ticks = names.map(n => [axis.share(n), n]);
    }
  }
  return axes;
}

function parallelCoordinates() {
  const axes = coordinateAxes(), height = 320, top = 34, bottom = 14;
  const plot = el('div', {class: 'plot', id: 'parallel', style: 'overflow-x:auto;touch-action:pan-x pan-y'});
  let marked = null;
  plot.redraw = () => {
    plot.drawnWidth = plot.clientWidth;
    const width = Math.max(plot.clientWidth || 600, 96 * axes.length);
    const X = k => 60 + k * (width - 120) / Math.max(1, axes.length - 1),
          Y = t => top + (1 - t) * (height - top - bottom);
    const picture = svg('svg', {
      viewBox: `0 0 ${width} ${height}`,
      height,
      role: 'img',
      'aria-label': 'parallel coordinates',
      style: `width:${width}px`
    });
    const kept = p => axes.every(a => {
      const v = a.of(p);
      return !a.range || v !== undefined && a.share(v) >= a.range[0] && a.share(v) <= a.range[1];
    });
    const lines = [...points]
                      .reverse()
                      .map(p => {
                        const corners =
                            axes.map((a, k) => [X(k), a.of(p)]).map(([x, v], k) => v === undefined ? null : [
                              x, Y(axes[k].share(v))
                            ]);
                        return {p, corners: corners.filter(c => c)};
                      })
                      .filter(l => l.corners.length > 1);
    for (const {p, corners} of lines)
      picture.append(svg('path', {
        class: 'line',
        'data-rank': p.rank,
        d: corners.map(([x, y], i) => (i ? 'L' : 'M') + x.toFixed(1) + ',' + y.toFixed(1)).join(''),
        style: `stroke:${rankColour(p)};opacity:${
                   !kept(p)                        ? 0.06 :
                       marked && marked !== p      ? 0.2 :
                       p.rank <= 3 || marked === p ? 1 :
                                                     0.55};` +
            `stroke-width:${
                   marked === p     ? 3.2 :
                       p.rank === 1 ? 2.6 :
                                      1.4}`
      }));
    axes.forEach((a, k) => {
      picture.append(
          svg('line', {class: 'frame', x1: X(k), x2: X(k), y1: Y(1), y2: Y(0), style: 'stroke:var(--faint)'}),
          svg('text', {x: X(k), y: 14, 'text-anchor': 'middle', style: 'fill:var(--ink);font-weight:600'}, a.name,
              svg('title', {}, a.title)),
          ...a.ticks.map(
              ([t, text]) => svg(
                  'text', {x: X(k) + 6, y: Y(t) + 3.5, style: 'paint-order:stroke;stroke:var(--card);stroke-width:4px'},
                  text)),
          a.range ?
              svg('rect',
                  {class: 'pick', x: X(k) - 7, width: 14, y: Y(a.range[1]), height: Y(a.range[0]) - Y(a.range[1])}) :
              '');
    });
    plot.replaceChildren(picture);
    const near = event => {
      const box = picture.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null;
      for (const {p, corners} of lines) {
        if (!kept(p)) continue;
        for (let i = 1; i < corners.length; ++i) {
          const [a, b] = [corners[i - 1], corners[i]];
          if (x < a[0] - 4 || x > b[0] + 4) continue;
          const at = a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]), far = Math.abs(at - y);
          if (far < 14 && (!best || far < best.far)) best = {p, far};
        }
      }
      return best && best.p;
    };
    const axisAt = event => {
      const x = event.clientX - picture.getBoundingClientRect().left;
      return axes.findIndex((_, k) => Math.abs(X(k) - x) < 14);
    };
    const shareAt = event => Math.min(
        1, Math.max(0, 1 - (event.clientY - picture.getBoundingClientRect().top - top) / (height - top - bottom)));
    let from = null;
    picture.addEventListener('pointerdown', event => {
      const k = axisAt(event);
      if (k >= 0) from = {k, at: shareAt(event)};
    });
    picture.addEventListener('pointerup', event => {
      if (!from) return;
      const a = axes[from.k], to = shareAt(event);
      a.range = Math.abs(to - from.at) < 0.02 ? null : [Math.min(from.at, to) - 1e-9, Math.max(from.at, to) + 1e-9];
      from = null;
      plot.redraw();
    });
    picture.addEventListener('pointermove', event => {
      if (from) return;
      const p = near(event);
      if (p !== marked) {
        marked = p;
        picture.querySelectorAll('path.line').forEach(line => {
          const q = points[Number(line.dataset.rank) - 1];
          line.style.opacity = !kept(q) ? 0.06 : marked && marked !== q ? 0.2 : q.rank <= 3 || marked === q ? 1 : 0.55;
          line.style.strokeWidth = marked === q ? 3.2 : q.rank === 1 ? 2.6 : 1.4;
        });
      }
      if (!p) return hideTip();
      showTip(
          event, el('div', {class: 'head'}, `rank ${p.rank}: ${metricWords} ${number(p.score)}`),
          el('table', {},
             ...axes.filter(a => !a.score)
                 .map(a => el('tr', {}, el('td', {}, a.name), el('td', {}, textOf(a.of(p)))))));
    });
    picture.addEventListener('pointerleave', () => {
      hideTip();
      marked = null;
    });
  };
  resized.observe(plot);
  return el(
      'div', {}, el('figure', {class: 'card'}, plot),
      el('p', {class: 'hint'},
         'A line is a point, coloured by rank, the best one thick. Drag along an axis to keep a part of it, click the axis to let go.'));
}

// ---- curves

function bestSoFar() {
  const done = allRuns.filter(r => finite(r.ended)).sort((a, b) => a.ended - b.ended);
  const x = [], y = [], each = [];
  let best = Infinity;
  done.forEach((r, i) => {
    if (finite(r.value)) best = Math.min(best, r.value);
    x.push(i + 1);
    y.push(finite(best) ? best : null);
    each.push(finite(r.value) ? r.value : null);
  });
  return lineChart({
    title: 'Best so far',
    sub: metricWords + ' over runs, as they ended',
    axis: 'runs',
    log: wantsLogOf(each),
    series: [
      {name: 'best so far', color: categorical(0), x: {axis: x}, y},
      {name: 'each run', color: categorical(1), dashed: true, thin: true, x: {axis: x}, y: each}
    ]
  });
}
const wantsLogOf = values => values.filter(finite).every(v => v > 0);

function bestCurves() {
  const shown = points.filter(p => p.curve && p.curve.step.length > 1).slice(0, 10);
  return lineChart({
    title: 'The best points',
    sub: metricWords + ' while training' + (data.seeds > 1 ? ', first seed' : ''),
    log: true,
    series: shown.map((p, i) => ({
                        name: `${p.rank}. ${p.label}`,
                        color: ordinal(i, Math.max(2, shown.length)),
                        x: {step: p.curve.step, seconds: p.curve.seconds},
                        y: p.curve.value,
                        thin: i > 0
                      }))
  });
}

// ---- ranking

function ranking() {
  const columns = [
    ['rank', p => p.rank], ...(data.optimizers > 1 ? [['optimizer', p => p.optimizer]] : []),
    ...data.axes.map(path => [path, p => p.values[path]]), [metricWords, p => finite(p.score) ? p.score : undefined],
    ['seconds', p => p.seconds], ...(data.rounds > 1 ? [['round', p => p.round]] : []), ['state', p => p.state]
  ];
  const rows = el('tbody', {});
  let by = 0, down = false;
  const fillRows = () => {
    const of = columns[by][1], value = p => of(p) === undefined ? Infinity : of(p);
    const sorted = [...points].sort((a, b) => {
      const x = value(a), y = value(b);
      const order = finite(x) && finite(y) ? x - y : String(x).localeCompare(String(y));
      return (x === Infinity || y === Infinity ? (x === Infinity) - (y === Infinity) :
                  down                         ? -order :
                                                 order) ||
          a.rank - b.rank;
    });
    rows.replaceChildren(...sorted.map(
        p =>
            el('tr', {},
               ...columns.map(([name, get]) => el('td', {class: name === 'state' ? 'words' : null}, textOf(get(p)))))));
  };
  const head = columns.map(
      ([name], k) =>
          el('th', {class: name === 'state' ? 'words' : null},
             el('button', {
               type: 'button',
               title: 'sort',
               onclick: () => {
                 down = by === k && !down;
                 by = k;
                 fillRows();
               }
             },
                name)));
  fillRows();
  const best = points[0];
  return el(
      'div', {'data-table': 'ranking'},
      el('div', {class: 'scroll'}, el('table', {class: 'data'}, el('thead', {}, el('tr', {}, ...head)), rows)),
      best ? el('p', {class: 'hint'}, 'Runs of the best point: ' + best.runs.map(r => r.folder).join(', ')) : null);
}

// ---- the page

document.getElementById('bar-title').textContent = data.title;
addClockSwitch();
const item = (name, text, small) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, text, small ? el('small', {}, small) : null));
const total = points.reduce((sum, p) => sum + (p.seconds || 0), 0);
main.append(
    el('header', {class: 'top'}, el('h1', {}, data.title),
       el('p', {},
          [
            data.problem, data.search + ' search', 'ranked by ' + metricWords,
            data.complete ? '' : 'not finished: the same command goes on'
          ].filter(t => t)
              .join('  ·  ')),
       el('dl', {class: 'figures'}, item('Best ' + metricWords, ranked.length ? number(ranked[0].score) : '–'),
          item('Points', String(points.length), data.seeds > 1 ? '× ' + data.seeds + ' seeds' : null),
          item('Training in all', duration(total)))),
    ranked.length ? el('p', {}, 'Best: ' + ranked[0].label) : '');
if (points.length > 1) section('coordinates', 'Parallel coordinates', '', parallelCoordinates());
section('curves', 'Curves', '', el('div', {class: 'cards'}, bestSoFar(), bestCurves()));
section('ranking', 'Ranking', data.seeds > 1 ? 'geometric mean over the seeds' : '', ranking());
finishPage();
