// One run: curves, diagnostics, tables, settings. The arrays of a run may grow: charts then show more when they are
// drawn again.

// ---- curves

const titles = {
  loss: 'Loss',
  residual: 'Residual',
  gradient_norm: 'Gradient norm',
  step_norm: 'Step length',
  evaluations: 'Evaluations',
  tau: 'τ, mean over layers',
  basis_updates: 'Basis updates',
  stage: 'Stage'
};
function titleOf(column) {
  if (titles[column]) return titles[column];
  const dot = column.indexOf('.'), kind = column.slice(0, dot), name = column.slice(dot + 1);
  const words = {
    loss: 'Loss of ',
    weight: 'Weight of ',
    residual: 'Residual of ',
    l2: 'L² error of ',
    h1: 'H¹ error of ',
    unknown: 'Unknown '
  }[kind];
  return words ? words + name : column;
}
// Short, for a chart whose title says the rest.
function labelOf(column) {
  const dot = column.indexOf('.'), name = column.slice(dot + 1);
  if (dot < 0)
    return {loss: 'total', residual: 'all equations', gradient_norm: 'gradient', step_norm: 'step'}[column] || column;
  return ({l2: 'L² of ', h1: 'H¹ of '}[column.slice(0, dot)] || '') + name;
}
const recorded = (run, column) => (run.history[column] || []).some(finite);
const clocks = run => ({step: run.history.step, seconds: run.history.seconds});
const wantsLog = lists => {
  const values = lists.flat().filter(finite);
  const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), 0);
  return low > 0 && high > 30 * low;
};
const constant = list => {
  const v = list.filter(finite);
  return v.length === 0 || v.every(x => x === v[0]);
};

function detailCharts(run) {
  const columns = Object.keys(run.history).filter(c => recorded(run, c));
  const lines = list => list.map((c, i) => ({
                                   name: c,
                                   label: labelOf(c),
                                   color: categorical(i),
                                   x: clocks(run),
                                   y: run.history[c],
                                   thin: i > 0 && c.includes('.')
                                 }));
  const group = (title, sub, list, log, more) =>
      list.length ? lineChart({title, sub, log, series: lines(list), ...more}) : null;
  const of = kind => columns.filter(c => c.startsWith(kind + '.'));
  const weights = of('weight').filter(c => !constant(run.history[c]));
  return [
    group('Loss', 'weighted mean squares, with its terms', columns.filter(c => c === 'loss').concat(of('loss')), true),
    group(
        'Residual', 'root mean square at held-out points', columns.filter(c => c === 'residual').concat(of('residual')),
        true),
    group('Error', 'relative, against the reference', of('l2').concat(of('h1')), true),
    group(
        'Gradient and step', 'Euclidean norms', columns.filter(c => c === 'gradient_norm' || c === 'step_norm'), true),
    weights.length ? group('Weights', 'of the terms', weights, true) : null,
    group('Unknowns', knownValues(run).length ? 'dashed: the known value' : '', of('unknown'), false, {
      levels: knownValues(run).map(([name, value]) => ({
                                     label: name + ' ' + number(value, 6),
                                     value,
                                     color: categorical(Math.max(0, of('unknown').indexOf('unknown.' + name)))
                                   }))
    }),
  ].filter(c => c);
}

// For unknowns whose value the problem file gives.
const knownValues = run => Object.entries(run.summary && run.summary.unknowns || {})
                               .filter(([, u]) => u && finite(u.known))
                               .map(([name, u]) => [name, u.known]);

const quantityWords = {
  tau: ['τ', 'self-scaling factor per layer'],
  rho: ['ρ', 'per layer'],
  gamma: ['γ', 'per layer'],
  basis_changed: ['Basis updates', 'counted over the recorded steps'],
  c: ['c', 'per layer'],
  a: ['a', 'per layer'],
  gradient_cosine: ['Gradient cosine', 'of successive gradients'],
  lambda: ['λ', 'damping'],
  alpha: ['α', 'step length']
};
const firstQuantities = ['tau', 'rho', 'basis_changed', 'gamma'];

function diagnosticCharts(run) {
  const blocks = Object.keys(run.diagnostics.blocks),
        quantities = [...new Set(blocks.flatMap(b => Object.keys(run.diagnostics.blocks[b])))];
  let seconds = [];
  const x = {
    step: run.diagnostics.step,
    get seconds() {
      if (seconds.length !== run.diagnostics.step.length) {
        const at = new Map(run.history.step.map((s, i) => [s, run.history.seconds[i]]));
        seconds = run.diagnostics.step.map(s => at.has(s) ? at.get(s) : null);
      }
      return seconds;
    }
  };
  const hidden = new Set(), sharing = [];
  const chart = q => {
    const having = blocks.filter(b => run.diagnostics.blocks[b][q]);
    const series = having.map(b => ({
                                name: b || 'all',
                                color: ordinal(blocks.indexOf(b), blocks.length),
                                x,
                                y: run.diagnostics.blocks[b][q],
                                thin: true
                              }));
    const [title, sub] = quantityWords[q] || [q.replaceAll('_', ' '), 'per layer'];
    return lineChart({title, sub, log: wantsLog(series.map(s => s.y)), series, hidden, sharing, height: 220});
  };
  const first = firstQuantities.filter(q => quantities.includes(q));
  const rest = quantities.filter(q => !first.includes(q));
  return {
    first: (first.length ? first : rest).map(chart),
    rest: first.length ? () => rest.map(chart) : null,
    restCount: first.length ? rest.length : 0
  };
}

// ---- tables and settings

function dataTable(t) {
  const wordy = t.header.map((_, k) => k > 0 && t.rows.some(r => /[a-z]{3}/.test(r[k] || '')));
  const pre = el('pre', {hidden: true});
  const show = (kind, text) =>
      el('button', {
        type: 'button',
        onclick: () => {
          const same = !pre.hidden && pre.dataset.kind === kind;
          pre.hidden = same;
          pre.dataset.kind = kind;
          pre.textContent = text;
          if (!same && navigator.clipboard) navigator.clipboard.writeText(text).catch(() => {});
        }
      },
         kind);
  return el(
      'div', {'data-table': t.name}, el('h3', {}, t.title),
      el('div', {class: 'scroll'},
         el('table', {class: 'data'},
            el('thead', {}, el('tr', {}, ...t.header.map((h, k) => el('th', {class: wordy[k] ? 'words' : null}, h)))),
            el('tbody', {},
               ...t.rows.map(
                   r => el('tr', {}, ...r.map((c, k) => el('td', {class: wordy[k] ? 'words' : null}, c || '–'))))))),
      el('div', {class: 'copy'}, 'show and copy as', show('Markdown', t.markdown), show('CSV', t.csv),
         show('LaTeX', t.latex)),
      pre);
}

function pairs(object, prefix = '') {
  if (object === null || typeof object !== 'object') return [];
  return Object.entries(object).flatMap(
      ([key, value]) =>
          value !== null && typeof value === 'object' && !Array.isArray(value) ? pairs(value, prefix + key + '.') : [[
            prefix + key,
            Array.isArray(value) ? value.map(v => typeof v === 'object' ? JSON.stringify(v) : String(v)).join(', ') :
                value === null || value === '' ? '–' :
                                                 String(value)
          ]]);
}
const pairList = (title, list) => list.length ?
    el('div', {}, el('h3', {}, title),
       el('dl', {class: 'pairs'}, ...list.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))) :
    null;

function settings(run) {
  const c = run.config;
  if (!c) return el('p', {}, 'config.json could not be read.');
  const {problem, optimizer, training, format, ...general} = c;
  const {text, overrides, ...about} = problem || {};
  return el(
      'div', {},
      el('div', {class: 'columns'}, pairList('Run', pairs({...about, ...general})),
         pairList('Optimizer', pairs(optimizer)), pairList('Training', pairs(training)),
         pairList(
             'Changed in the problem file',
             (Array.isArray(overrides) ? overrides : []).map(o => [String(o.path), String(o.value)]))),
      text ? el('details', {}, el('summary', {}, 'The problem file'), el('pre', {}, text)) : null);
}

function keyFigures(run) {
  const s = run.summary;
  if (!s) return null;
  const end = s.final || {}, best = s.best || s.final || {},
        worst = o => Math.max(...Object.values(o || {}).filter(finite));
  const item = (name, value, small) =>
      el('div', {}, el('dt', {}, name), el('dd', {}, value, small ? el('small', {}, small) : null));
  return el(
      'dl', {class: 'figures'},
      item('Residual (root mean square)', number(best.residual), 'best step, ' + number(best.step, 9)),
      item('Mean square residual', number(best.mean_square_residual)),
      best.l2 ? item('Relative L² error', number(worst(best.l2))) : null,
      best.h1 ? item('Relative H¹ error', number(worst(best.h1))) : null,
      item('Last residual', number(end.residual), 'step ' + number(end.step, 9)),
      item('Steps', number(s.step, 9), finite(s.parameters) ? s.parameters + ' parameters' : null),
      item(
          'Time', duration(s.seconds), finite(s.steps_per_second) ? number(s.steps_per_second, 3) + ' steps/s' : null));
}

function problemTitle(run) {
  const found = run.config && run.config.problem && /^\s*title\s*=\s*"([^"]*)"/m.exec(run.config.problem.text || '');
  return found ? found[1] : '';
}

// ---- stages

// Windows, or values of a parameter, as far as the history has them; null if there is only one.
function stageTable(run) {
  const h = run.history, stages = [];
  (h.stage || []).forEach((stage, i) => {
    if (!finite(stage)) return;
    const at = stages.length && stages[stages.length - 1].stage === stage ? stages[stages.length - 1] : null;
    const now = at || {stage, first: h.step[i], began: i ? h.seconds[i - 1] : 0};
    now.last = h.step[i];
    now.ended = h.seconds[i];
    if (h.residual && finite(h.residual[i])) now.residual = h.residual[i];
    if (!at) stages.push(now);
  });
  if (stages.length < 2) return null;
  const known = run.summary && Array.isArray(run.summary.stages) ? run.summary.stages : [];
  return el(
      'div', {class: 'scroll'},
      el('table', {class: 'data', 'data-stages': stages.length},
         el('thead', {}, el('tr', {}, ...['stage', 'steps', 'seconds', 'residual', ''].map(t => el('th', {}, t)))),
         el('tbody', {},
            ...stages.map(
                s =>
                    el('tr', {}, el('td', {}, known[s.stage - 1] ? known[s.stage - 1].name : String(s.stage)),
                       el('td', {}, `${s.first} – ${s.last}`),
                       el('td', {}, finite(s.ended) && finite(s.began) ? number(s.ended - s.began, 3) : '–'),
                       el('td', {}, number(s.residual)),
                       el('td', {class: 'words'}, known[s.stage - 1] ? known[s.stage - 1].ended || '' : ''))))));
}

// ---- all of it

const hint = () => el(
    'p', {class: 'hint'},
    'Drag to zoom, pinch or Ctrl + wheel to zoom at the pointer, double-click to go back. Click a name to switch it off, double-click to see it alone.');

// Sections about one run: [id, title, small, children].
function detail(run, hinted) {
  const parts = [], add = (id, title, small, ...children) => parts.push([id, title, small, children]);
  const curves = detailCharts(run);
  if (curves.length) add('curves', 'Curves', '', el('div', {class: 'cards'}, ...curves), hinted ? hint() : null);
  const stages = stageTable(run);
  if (stages) add('stages', 'Stages', '', stages);
  if (run.fields)
    add('fields', 'Fields', finite(run.fields.step) ? 'best network, step ' + run.fields.step : '',
        fieldMaps(run.fields, run.data));
  if (run.diagnostics.step.length) {
    const d = diagnosticCharts(run);
    const more = d.restCount ? el('details', {
      ontoggle: event => {
        if (event.target.open && !more.dataset.filled) {
          more.dataset.filled = 'yes';
          more.append(el('div', {class: 'cards small', style: 'margin-top:.8rem'}, ...d.rest()));
          drawNew();
        }
      }
    },
                                  el('summary', {}, `${d.restCount} more quantities`)) :
                               null;
    add('optimizer', 'Optimizer', run.optimizer + ', layer by layer', el('div', {class: 'cards'}, ...d.first), more);
  }
  add('settings', 'Settings', '', settings(run));
  if (run.environment)
    add('environment', 'Environment', '', el('div', {class: 'columns'}, pairList('', pairs(run.environment))));
  return parts;
}
