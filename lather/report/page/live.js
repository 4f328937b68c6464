// The page of `lather watch`: a list of runs, and one of them in detail, fed by server-sent events. Rows are added to
// arrays that the charts already have; the page is rebuilt only when there is something to draw that was not
// there before.

const board = new Map();  // status of the runs, by id, in the order of the list
let chosen = decodeURIComponent(location.hash.slice(1)) || null, source = null, run = null, layout = '',
    pending = false;

const connection = el('span', {class: 'state', style: 'white-space:nowrap'}, 'connecting');
const heading = el('h1', {}, 'Runs'), about = el('p', {}), figures = el('dl', {class: 'figures'});
const filter = el('input', {
  class: 'filter',
  type: 'search',
  placeholder: 'filter by name, problem, optimizer, state',
  'aria-label': 'filter',
  oninput: () => listRuns()
});
const list = el('div', {class: 'runs', id: 'runs'}), files = el('div', {class: 'files'}),
      body = el('div', {id: 'detail'});
const kMostListed = 200;
const kFiles =
    ['config.json', 'summary.json', 'history.csv', 'history.jsonl', 'timing.csv', 'diagnostics.jsonl', 'fields.json'];

main.append(el('header', {class: 'top'}, heading, about, figures), el('h2', {}, 'Runs'), filter, list, body, files);
document.getElementById('bar-title').textContent = 'Lather';
document.getElementById('axis-switch').before(connection);
addClockSwitch();

// ---- the list

const share = s => s.steps > 0 ? Math.min(1, s.step / s.steps) : 0;
const value = (name, text) => el('span', {class: 'value'}, el('small', {}, name), text);

function listRuns() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(w => w);
  const fitting = [...board.values()].filter(s => {
    const text = [s.name, s.problem, s.optimizer, s.state].join(' ').toLowerCase();
    return words.every(w => text.includes(w));
  });
  filter.hidden = board.size < 8;
  list.replaceChildren(
      ...fitting.slice(0, kMostListed)
          .map(
              s =>
                  el('button', {
                    type: 'button',
                    class: 'run',
                    'data-run': s.id,
                    'aria-pressed': String(s.id === chosen),
                    title: s.message || s.folder,
                    onclick: () => choose(s.id)
                  },
                     el('span', {class: 'name'}, s.name), el('span', {class: 'state ' + s.state}, s.state),
                     el('span', {class: 'bar'}, el('i', {style: `width:${(100 * share(s)).toFixed(1)}%`})),
                     value('loss', number(s.loss, 3)), value('residual', number(s.residual, 3)),
                     value('L²', number(s.l2, 3)), value('time', duration(s.seconds)),
                     s.state === 'running' ? value('left', duration(s.seconds_left)) : el('span', {}))),
      ...(fitting.length > kMostListed ?
              [el('div', {class: 'none'}, `${fitting.length - kMostListed} more: filter to see them`)] :
              fitting.length ? [] :
                               [el('div', {class: 'none'}, board.size ? 'none fits the filter' : 'no run yet')]));
}

function showStatus() {
  const s = board.get(chosen);
  if (!s) return;
  heading.textContent = `${s.problem} with ${s.optimizer}`;
  document.title = (s.state === 'running' ? Math.floor(100 * share(s)) + ' % · ' : '') + s.name + ' · Lather';
  about.textContent = [run && problemTitle(run), s.name, s.message].filter(t => t).join('  ·  ');
  const item = (name, text, small) =>
      el('div', {}, el('dt', {}, name), el('dd', {}, text, small ? el('small', {}, small) : null));
  const at = (name, unknown) =>
      el('div', {}, el('dt', {}, name),
         el('dd', {}, s.step.toLocaleString('en'),
            el('small', {}, s.steps ? 'of ' + s.steps.toLocaleString('en') : unknown),
            el('span', {class: 'bar', style: 'margin-top:.3rem'},
               el('i', {style: `width:${(100 * share(s)).toFixed(1)}%`}))));
  figures.replaceChildren(
      ...[el('div', {}, el('dt', {}, 'State'), el('dd', {class: 'state ' + s.state}, s.state)), at('Step', ''),
          run && Math.max(...(run.history.stage || []).filter(finite), 1) > 1 ? item('Stage', String(s.stage)) : null,
          item('Loss', number(s.loss)), item('Residual', number(s.residual)),
          finite(s.l2) ? item('Relative L² error', number(s.l2)) : null,
          item(
              'Time', duration(s.seconds),
              finite(s.steps_per_second) ? number(s.steps_per_second, 3) + ' steps/s' : null),
          s.state === 'running' ? item('Left', duration(s.seconds_left)) : null]
          .filter(c => c));
}

function takeRuns({all, runs}) {
  if (all) board.clear();
  runs.forEach(s => board.set(s.id, s));
  listRuns();
  if (chosen && !board.has(chosen)) chosen = null;
  if (!chosen && board.size) return choose(board.keys().next().value);
  showStatus();
}

function choose(id) {
  chosen = id;
  history.replaceState(null, '', '#' + encodeURIComponent(id));
  startOver();
  body.replaceChildren();
  files.replaceChildren(
      'download', ...kFiles.map(f => el('a', {href: `/run/${encodeURIComponent(id)}/${f}`, download: f}, f)));
  listRuns();
  connect();
}

// ---- the chosen run

function startOver() {
  const s = board.get(chosen) || {};
  run = {
    name: s.name || '',
    optimizer: s.optimizer || '',
    notes: [],
    config: run && run.id === chosen ? run.config : null,
    summary: run && run.id === chosen ? run.summary : null,
    environment: run && run.id === chosen ? run.environment : null,
    fields: run && run.id === chosen ? run.fields : null,
    history: {step: [], seconds: []},
    diagnostics: {step: [], blocks: {}},
    id: chosen
  };
  layout = '';
}

// Appends {name: value} to columns of equal length; null where a column has no value.
function addTo(columns, row, length) {
  for (const name of Object.keys(row))
    if (!columns[name]) columns[name] = Array(length).fill(null);
  for (const [name, column] of Object.entries(columns)) column.push(row[name] === undefined ? null : row[name]);
}

function takeHistory(rows) { rows.forEach(row => addTo(run.history, row, run.history.step.length)); }

function takeDiagnostics(rows) {
  for (const {step, blocks} of rows) {
    const length = run.diagnostics.step.length;
    for (const block of Object.keys(blocks)) run.diagnostics.blocks[block] = run.diagnostics.blocks[block] || {};
    for (const [block, columns] of Object.entries(run.diagnostics.blocks)) addTo(columns, blocks[block] || {}, length);
    run.diagnostics.step.push(step);
  }
}

function takeFields(next) {
  const now = run.fields,
        shape = f => JSON.stringify([f.coordinates, f.axes, Object.keys(f.arrays), Object.keys(f.physical || {})]);
  if (now && now.coordinates.length > 1 && shape(now) === shape(next)) {
    now.arrays = next.arrays;
    now.physical = next.physical;
    now.step = next.step;
    maps.forEach(m => m.draw());
    body.querySelectorAll('.profiles input').forEach(slider => slider.dispatchEvent(new Event('input')));
    const small = body.querySelector('#fields h2 small');
    if (small) small.textContent = 'best network, step ' + next.step;
  } else {
    run.fields = next;
    layout = '';
  }
}

// What determines which charts there are.
const layoutOf = () => JSON.stringify([
  Object.keys(run.history).filter(c => recorded(run, c) && !(c.startsWith('weight.') && constant(run.history[c]))),
  Object.entries(run.diagnostics.blocks).map(([block, columns]) => [block, Object.keys(columns)]), Boolean(run.fields),
  Boolean(run.config), run.summary && run.summary.step
]);

function draw() {
  pending = false;
  const next = layoutOf();
  showStatus();
  if (next !== layout) {
    layout = next;
    charts.clear();
    maps.clear();
    body.replaceChildren(...detail(run, true).map(
        ([id, title, small, children]) => el(
            'section', {id}, el('h2', {}, title, small ? el('small', {}, small) : null), ...children.filter(c => c))));
    drawNew();
  } else {
    charts.forEach(c => c.draw());
    const stages = stageTable(run), place = body.querySelector('#stages .scroll');
    if (stages && place) place.replaceWith(stages);
  }
  document.body.dataset.rows = run.history.step.length;
  document.body.dataset.ready = 'yes';
}
const drawSoon = () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(draw);
};

// ---- the connection

function connect() {
  if (source) source.close();
  source = new EventSource('/events' + (chosen ? '?run=' + encodeURIComponent(chosen) : ''));
  const mine = source, on = (name, take) => mine.addEventListener(name, event => {
    if (mine !== source) return;
    take(JSON.parse(event.data));
  });
  on('runs', takeRuns);
  on('reset', () => {
    startOver();
    drawSoon();
  });
  const forRun = take => content => {
    if (!run) startOver();
    take(content);
    drawSoon();
  };
  on('details', forRun(content => Object.assign(run, content)));
  on('history', forRun(takeHistory));
  on('diagnostics', forRun(takeDiagnostics));
  on('fields', forRun(takeFields));
  const say = (words, state) => {
    connection.textContent = words;
    connection.className = 'state ' + state;
    document.body.dataset.connection = words;
  };
  mine.onopen = () => say('live', 'running');
  mine.onerror = () => {
    if (mine !== source) return;
    const ended = mine.readyState === EventSource.CLOSED;
    say('no connection', 'stopped');
    if (ended)
      setTimeout(() => {  // the run is gone, or the server is a different one
        if (mine !== source) return;
        chosen = null;
        connect();
      }, 2000);
  };
}
connect();
