// Fields: heat maps over a plane with sliders for the rest, lines where there is one coordinate, profiles in time.

function fieldNames(fields) {
  const names = Object.keys(fields.arrays);
  return {
    fields: names.filter(n => !n.startsWith('residual.') && !/\.(reference|error)$/.test(n)),
    residuals: names.filter(n => n.startsWith('residual.'))
  };
}

// Which coordinates span the picture: time goes to the right if there is one other, the first two otherwise.
function fieldMaps(fields, data) {
  const names = fields.coordinates, sizes = fields.axes.map(a => a.length), count = names.length;
  const has = name => fields.arrays[name] !== undefined;
  const {fields: shown, residuals} = fieldNames(fields);
  if (count === 1) {
    const x = {axis: fields.axes[0]};
    return el(
        'div', {class: 'cards'},
        ...shown.flatMap(
            f =>
                [lineChart({
                   title: f,
                   sub: has(f + '.reference') ? 'prediction and reference' : 'prediction',
                   axis: names[0],
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
                   axis: names[0],
                   log: true,
                   series:
                       [{name: f + ' error', color: categorical(3), x, y: fields.arrays[f + '.error'].map(Math.abs)}]
                 }) :
                                     null]),
        ...residuals.map(
            r => lineChart({
              title: r.replace('residual.', 'residual of '),
              sub: 'magnitude',
              axis: names[0],
              log: true,
              series:
                  [{name: r, color: categorical(2), x, y: fields.arrays[r].map(v => v === null ? null : Math.abs(v))}]
            })));
  }
  const body = el('div', {});
  const build = (I, J) => {
    const shared = {window: {i: [0, sizes[I] - 1], j: [0, sizes[J] - 1]}, maps: []};
    maps.clear();
    body.replaceChildren(
        planeSliders(fields, fixed, I, J, () => shared.maps.forEach(m => m.draw())),
        el('div', {class: 'cards small'}, ...planeCards(fields, planeOf(fields, data, fixed, I, J), shared)));
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
      count === 2 && time >= 0 ? profiles(fields, time, shown) : null);
}

// What spans the pictures, and where the rest is held.
function planeOf(fields, data, fixed, I, J) {
  const names = fields.coordinates, sizes = fields.axes.map(a => a.length);
  const strides = sizes.map((_, k) => sizes.slice(k + 1).reduce((a, b) => a * b, 1));
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
    values: name => {
      const array = fields.arrays[name],
            base = fixed.reduce((sum, at, k) => k === I || k === J ? sum : sum + at * strides[k], 0);
      return (i, j) => array[base + i * strides[I] + j * strides[J]];
    }
  };
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

// Of one coordinate and time: the field over the coordinate, as time goes on.
function profiles(fields, time, shown) {
  const other = 1 - time, axis = fields.axes[other], times = fields.axes[time], n = axis.length, m = times.length;
  const at = (name, k) => axis.map((_, i) => fields.arrays[name][time === 1 ? i * m + k : k * n + i]);
  const x = {axis}, start = m - 1;
  const series =
      (f, k) => [f, f + '.reference'].filter(name => fields.arrays[name]).map((name, i) => ({
                                                                                name: i ? 'reference' : 'prediction',
                                                                                color: categorical(i),
                                                                                dashed: i > 0,
                                                                                x,
                                                                                y: at(name, k)
                                                                              }));
  const cards = shown.map(f => {
    const values = fields.arrays[f].filter(finite), low = values.reduce((a, b) => Math.min(a, b), Infinity),
          high = values.reduce((a, b) => Math.max(a, b), -Infinity), pad = 0.06 * (high - low) || 1;
    const sharing = [];
    const node = lineChart({
      title: f,
      sub: 'as time goes on',
      axis: fields.coordinates[other],
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
