// Fields: heat maps over a plane with sliders for the rest, lines for one coordinate, profiles in time.

function fieldNames(fields) {
  const names = Object.keys(fields.arrays);
  return {
    fields: names.filter(n => !n.startsWith('residual.') && !/\.(reference|error)$/.test(n)),
    residuals: names.filter(n => n.startsWith('residual.'))
  };
}

// All pictures of the fields. If the problem maps its coordinates, they are drawn in physical space, with a
// switch back; far places are drawn on a scale that shows the near ones too, with a switch to a linear one.
function fieldMaps(fields, data) {
  if (!fields.physical) return fieldPictures(fields, data, {physical: false});
  const names = Object.keys(fields.physical), far = names.some(name => stretchedFor(fields.physical[name]));
  const space = {physical: true, stretched: far}, body = el('div', {});
  const fillIn = () => {
    maps.clear();
    axes.style.display = far && space.physical ? '' : 'none';
    body.replaceChildren(fieldPictures(fields, data, space));
  };
  const choose = change => value => {
    change(value);
    fillIn();
    drawNew();
  };
  const middle = fields.axes.map(a => a.length >> 1);
  const unmapped = fields.coordinates.filter((_, I) => !mappedAlong(fields, I, middle));
  const over = switchOf(
      'space', [['physical', [...names, ...unmapped].join(', ')], ['coordinates', fields.coordinates.join(', ')]],
      'physical', choose(value => space.physical = value === 'physical'));
  const axes = switchOf(
      'far places', [['log', 'log'], ['linear', 'linear']], 'log', choose(value => space.stretched = value === 'log'));
  fillIn();
  return el('div', {}, el('div', {class: 'sliders'}, 'over', over, axes), body);
}

// Data of a field of one coordinate: measured values if a column is named after it (u, u_seen; not u_x, a
// derivative), otherwise only their places. Places as in lineAxis.
function dataOver(fields, data, f, over) {
  const name = fields.coordinates[0], axis = fields.axes[0],
        derivative = new RegExp(`^(${fields.coordinates.join('|')})+$`);
  return (data || []).flatMap(set => {
    const x = set.columns[name];
    const seen =
        Object.keys(set.columns).find(c => c === f || c.startsWith(f + '_') && !derivative.test(c.slice(f.length + 1)));
    return (x || []).map((v, i) => {
      const [k, t] = between(axis, v);
      return {x: (1 - t) * over.values[k] + t * over.values[k + 1], y: seen ? set.columns[seen][i] : null};
    });
  });
}

// What a line along one coordinate is drawn over: {name, values, scale}
function lineAxis(fields, I, others, space) {
  const plain = {name: fields.coordinates[I], values: fields.axes[I], scale: linearScale};
  const along = mappedAlong(fields, I, others);
  if (!space.physical || !along) return plain;
  const scale = space.stretched && stretchedFor(along.values) || linearScale;
  return {name: along.name, values: along.values.map(v => finite(v) ? scale.of(v) : null), scale};
}

// The physical coordinate that varies most along a coordinate, the others at grid points; null without a map.
function mappedAlong(fields, I, others) {
  const sizes = fields.axes.map(a => a.length), strides = stridesOf(sizes);
  const base = others.reduce((sum, at, k) => k === I ? sum : sum + at * strides[k], 0);
  const found = Object.entries(fields.physical || {}).map(([name, array]) => {
    const values = fields.axes[I].map((_, i) => array[base + i * strides[I]]), all = values.filter(finite);
    return {name, values, extent: Math.max(...all) - Math.min(...all)};
  });
  const widest = found.reduce((a, b) => !a || b.extent > a.extent ? b : a, null);
  return widest && widest.extent > 0 ? widest : null;
}
const stridesOf = sizes => sizes.map((_, k) => sizes.slice(k + 1).reduce((a, b) => a * b, 1));

// Which coordinates span the picture: time goes to the right if there is one other, the first two otherwise.
function fieldPictures(fields, data, space) {
  const names = fields.coordinates, sizes = fields.axes.map(a => a.length), count = names.length;
  const has = name => fields.arrays[name] !== undefined;
  const {fields: shown, residuals} = fieldNames(fields);
  if (count === 1) {
    const over = lineAxis(fields, 0, [0], space), x = {axis: over.values};
    return el(
        'div', {class: 'cards'},
        ...shown.flatMap(
            f =>
                [lineChart({
                   title: f,
                   sub: has(f + '.reference') ? 'prediction and reference' : 'prediction',
                   axis: over.name,
                   scaleX: over.scale,
                   dots: dataOver(fields, data, f, over),
                   series: [
                     {name: f, color: categorical(0), x, y: fields.arrays[f]},
                     ...(has(f + '.reference') ? [{
                       name: f + ' reference',
                       color: categorical(1),
                       dashed: true,
                       x,
                       y: fields.arrays[f + '.reference']
                     }] :
                                                 [])
                   ]
                 }),
                 has(f + '.error') ? lineChart({
                   title: f + ' error',
                   sub: 'magnitude',
                   axis: over.name,
                   scaleX: over.scale,
                   log: true,
                   series:
                       [{name: f + ' error', color: categorical(3), x, y: fields.arrays[f + '.error'].map(Math.abs)}]
                 }) :
                                     null]),
        ...residuals.map(
            r => lineChart({
              title: r.replace('residual.', 'residual of '),
              sub: 'magnitude',
              axis: over.name,
              scaleX: over.scale,
              log: true,
              series:
                  [{name: r, color: categorical(2), x, y: fields.arrays[r].map(v => v === null ? null : Math.abs(v))}]
            })));
  }
  const body = el('div', {});
  const build = (I, J) => {
    const plane = planeOf(fields, data, fixed, I, J), pair = space.physical ? physicalPair(plane) : null;
    const shared = {frame: pair ? meshFrame(plane, pair, space.stretched) : gridFrame(plane), maps: []};
    maps.clear();
    body.replaceChildren(
        planeSliders(fields, fixed, I, J, () => shared.maps.forEach(m => m.draw())),
        el('div', {class: 'cards small'}, ...planeCards(fields, plane, shared)));
  };
  const fixed = sizes.map(n => Math.floor(n / 2));
  const time = names.indexOf('t'), timeRight = count === 2 && time === 1;
  const planes = names.flatMap((_, i) => names.map((_, j) => [i, j]).filter(([a, b]) => a < b));
  const choice = count < 3 ? null :
                             el('label', {}, 'Plane ',
                                el('select', {
                                  'aria-label': 'plane',
                                  onchange: event => {
                                    build(...planes[Number(event.target.value)]);
                                    drawNew();
                                  }
                                },
                                   ...planes.map(([i, j], k) => el('option', {value: k}, `${names[i]}, ${names[j]}`))));
  build(timeRight ? 1 : 0, timeRight ? 0 : 1);
  return el(
      'div', {}, choice ? el('div', {class: 'sliders'}, choice) : null, body,
      count === 2 && time >= 0 ? profiles(fields, time, shown, space) : null);
}

// What spans the pictures, and where the other coordinates are fixed.
function planeOf(fields, data, fixed, I, J) {
  const names = fields.coordinates, sizes = fields.axes.map(a => a.length);
  const strides = stridesOf(sizes);
  const inPlane = array => (i, j) =>
      array()[fixed.reduce((sum, at, k) => k === I || k === J ? sum : sum + at * strides[k], 0) + i * strides[I] + j * strides[J]];
  return {
    nameI: names[I],
    nameJ: names[J],
    axisI: fields.axes[I],
    axisJ: fields.axes[J],
    outline: I === 0 && J === 1 && fields.outline || [],
    data: (data || []).flatMap(set => {
      const x = set.columns[names[I]], y = set.columns[names[J]];
      return x && y ? x.map((v, i) => [v, y[i]]) : [];
    }),
    sliced: names.length > 2,
    whole: name => fields.arrays[name],
    values: name => inPlane(() => fields.arrays[name]),
    physical: Object.keys(fields.physical || {}).map(name => ({name, of: inPlane(() => fields.physical[name])})),
    // Changes when the places of the physical coordinates do.
    mark: () => fixed.join() + fields.step
  };
}

// What spans the picture of a mapped plane: two physical coordinates, those that show most of it, or one of
// them and an unmapped coordinate. Null if the map does not affect this plane.
function physicalPair(plane) {
  const n = plane.axisI.length, m = plane.axisJ.length;
  const cellSum = f => {
    let sum = 0;
    for (let i = 0; i + 1 < n; ++i)
      for (let j = 0; j + 1 < m; ++j) {
        const v = f(i, j);
        if (finite(v)) sum += v;
      }
    return sum;
  };
  const apart = (a, b) => finite(a) && finite(b) ? b - a : NaN;
  const alongI = (p, i, j) => apart(p.of(i, j), p.of(i + 1, j)),
        alongJ = (p, i, j) => apart(p.of(i, j), p.of(i, j + 1));
  const all = plane.physical
                  .map(p => ({
                         name: p.name,
                         of: p.of,
                         mapped: true,
                         i: cellSum((i, j) => Math.abs(alongI(p, i, j))),
                         j: cellSum((i, j) => Math.abs(alongJ(p, i, j)))
                       }))
                  .filter(p => p.i > 0 || p.j > 0);
  if (!all.length) return null;
  const most = (list, f) => list.reduce((a, b) => f(b) > f(a) ? b : a);
  const plainI = {name: plane.nameI, of: i => plane.axisI[i], mapped: false},
        plainJ = {name: plane.nameJ, of: (_, j) => plane.axisJ[j], mapped: false};
  const mapsI = all.some(p => p.i > 0), mapsJ = all.some(p => p.j > 0);
  if (!mapsI) return {x: plainI, y: most(all, p => p.j)};
  if (!mapsJ || all.length === 1) return {x: most(all, p => p.i), y: plainJ};
  const pairs = all.flatMap((x, a) => all.slice(a + 1).map(y => ({x, y})));
  return most(
      pairs,
      ({x, y}) => cellSum((i, j) => Math.abs(alongI(x, i, j) * alongJ(y, i, j) - alongJ(x, i, j) * alongI(y, i, j))));
}

// A slider that can play.
function playable(name, axis, start, change) {
  const output = el('output', {}, number(axis[start]));
  const slider = el('input', {
    type: 'range',
    'aria-label': name,
    min: 0,
    max: axis.length - 1,
    value: start,
    oninput: () => {
      output.textContent = number(axis[Number(slider.value)]);
      change(Number(slider.value));
    }
  });
  let timer = null;
  const play =
      el('button', {
        type: 'button',
        class: 'play',
        'aria-label': 'play ' + name,
        onclick: () => {
          play.textContent = timer ? '▶' : '❚❚';
          if (timer) {
            clearInterval(timer);
            timer = null;
            return;
          }
          timer = setInterval(() => {
            if (!slider.isConnected) return clearInterval(timer);
            slider.value = (Number(slider.value) + 1) % axis.length;
            slider.dispatchEvent(new Event('input'));
          }, Math.max(40, 4000 / axis.length));
        }
      },
         '▶');
  return el('label', {}, name + ' ', play, ' ', slider, ' ', output);
}

function planeSliders(fields, fixed, I, J, draw) {
  const sliders =
      fields.coordinates.map((name, k) => k === I || k === J ? null : playable(name, fields.axes[k], fixed[k], at => {
                               fixed[k] = at;
                               draw();
                             }));
  return sliders.some(s => s) ? el('div', {class: 'sliders'}, 'at', ...sliders) : el('span', {});
}

// For one coordinate and time: the field over the coordinate, as time goes on.
function profiles(fields, time, shown, space) {
  const other = 1 - time, axis = fields.axes[other], times = fields.axes[time], n = axis.length, m = times.length;
  const at = (name, k) => axis.map((_, i) => fields.arrays[name][time === 1 ? i * m + k : k * n + i]);
  const start = m - 1, over = k => lineAxis(fields, other, time === 1 ? [0, k] : [k, 0], space);
  const series =
      (f, k) => [f, f + '.reference'].filter(name => fields.arrays[name]).map((name, i) => ({
                                                                                name: i ? 'reference' : 'prediction',
                                                                                color: categorical(i),
                                                                                dashed: i > 0,
                                                                                x: {axis: over(k).values},
                                                                                y: at(name, k)
                                                                              }));
  const cards = shown.map(f => {
    const values = fields.arrays[f].filter(finite), low = values.reduce((a, b) => Math.min(a, b), Infinity),
          high = values.reduce((a, b) => Math.max(a, b), -Infinity), pad = 0.06 * (high - low) || 1;
    const sharing = [];
    const node = lineChart({
      title: f,
      sub: 'as time goes on',
      axis: over(start).name,
      scaleX: over(start).scale,
      series: series(f, start),
      sharing,
      height: 210,
      yRange: [low - pad, high + pad]
    });
    return {
      node,
      set: k => sharing[0].series(
          {series: series(f, k), sub: 'at ' + fields.coordinates[time] + ' = ' + number(times[k]), log: false})
    };
  });
  return el(
      'div', {class: 'profiles'},
      el('div', {class: 'sliders', style: 'margin-top:1rem'},
         playable(fields.coordinates[time], times, start, k => cards.forEach(c => c.set(k)))),
      el('div', {class: 'cards small'}, ...cards.map(c => c.node)));
}

// Prediction, reference, error and residuals over one plane.
function planeCards(fields, plane, shared) {
  const {fields: shown, residuals} = fieldNames(fields), has = name => fields.arrays[name] !== undefined;
  const cards = shown.flatMap(f => {
    const family =
        [[f, 'prediction'], [f + '.reference', 'reference'], [f + '.error', 'error']].filter(([name]) => has(name));
    return [
      heatMap(
          {
            name: f,
            title: f,
            sub: 'prediction',
            array: f,
            with: has(f + '.reference') ? f + '.reference' : null,
            family
          },
          plane, shared),
      has(f + '.reference') ?
          heatMap(
              {name: f + '.reference', title: f, sub: 'reference', array: f + '.reference', with: f, family}, plane,
              shared) :
          null,
      has(f + '.error') ?
          heatMap(
              {name: f + '.error', title: f, sub: 'prediction − reference', array: f + '.error', signed: true, family},
              plane, shared) :
          null
    ];
  });
  residuals.forEach(
      r => cards.push(heatMap(
          {name: r, title: r.slice(9), sub: 'residual', array: r, signed: true, family: [[r, 'residual']]}, plane,
          shared)));
  return cards.filter(c => c);
}
