// The report: one run, or several side by side and one of them in detail.

const single = data.runs.length === 1;
const optimizers = [...new Set(data.runs.map(r => r.optimizer || r.name))];
const groupNames = [...new Set(data.runs.map(r => r.group))];
const colourOf = run => single ? categorical(0) :
    groupNames.length > 1      ? categorical(groupNames.indexOf(run.group)) :
                                 categorical(data.runs.indexOf(run));
// Runs that differ only in their seed, in order of appearance.
const groups = [...data.runs.reduce((map, r) => map.set(r.group, [...(map.get(r.group) || []), r]), new Map())];
let bands = groups.length < data.runs.length && groups.every(([, runs]) => runs.length > 1);
const refillers = [];  // of the charts, when bands are switched

function comparisonCharts() {
  const hidden = new Set(), sharing = [];
  const columns = [...new Set(
      data.runs.flatMap(r => Object.keys(r.history).filter(c => c !== 'step' && c !== 'seconds' && recorded(r, c))))];
  const content = column => {
    const having = data.runs.filter(r => recorded(r, column));
    return {
      series: bands ?
          groups
              .map(([name, runs]) => ({
                     name,
                     color: colourOf(runs[0]),
                     seeds: runs.filter(r => having.includes(r)).map(r => ({x: clocks(r), y: r.history[column]}))
                   }))
              .filter(s => s.seeds.length) :
          having.map(
              r => ({name: r.name, color: colourOf(r), x: clocks(r), y: r.history[column], thin: having.length > 4})),
      log: /^(loss|residual|l2|h1)/.test(column) || wantsLog(having.map(r => r.history[column])),
      sub: {loss: 'weighted mean squares', residual: 'root mean square at held-out points'}[column] ||
          (/^(l2|h1)/.test(column) ? 'relative' : '')
    };
  };
  const wanted = [
    'loss', 'residual', columns.find(c => c.startsWith('l2.')),
    columns.find(c => c.startsWith('h1.')) || 'gradient_norm'
  ].filter(c => columns.includes(c));
  return wanted.map(column => {
    const figures = {};
    const choice =
        el('select', {'aria-label': 'quantity', onchange: event => figures.change(content(event.target.value))},
           ...columns.map(c => el('option', {value: c, selected: c === column}, titleOf(c))));
    const node = lineChart({title: titleOf(column), choice, ...content(column), hidden, sharing});
    const chart = sharing[sharing.length - 1];
    figures.change = next => chart.series(next);
    refillers.push(() => chart.series(content(choice.value)));
    return node;
  });
}

const notes = data.runs.flatMap(r => r.notes.map(n => single ? n : `${r.name}: ${n}`));
document.getElementById('bar-title').textContent = data.title;
// Steps of different cost are not comparable: runs of very different lengths are shown over the wall clock.
const lengths = data.runs.map(r => r.history.step[r.history.step.length - 1] || 0);
if (Math.max(...lengths) > 2 * Math.min(...lengths) && data.runs.every(r => r.history.seconds.some(finite)))
  clock = 'seconds';
addClockSwitch();
const subtitle = [...new Set(data.runs.map(problemTitle).filter(t => t))].join(' · ');
const ended = single && data.runs[0].summary && data.runs[0].summary.message;
main.append(
    el('header', {class: 'top'}, el('h1', {}, data.title),
       el('p', {},
          [subtitle, single ? data.runs[0].name : optimizers.join(', '), ended ? 'ended: ' + ended : '']
              .filter(t => t)
              .join('  ·  ')),
       single ? keyFigures(data.runs[0]) : null),
    ...(notes.length ?
            [el('div', {class: 'notes'}, 'Notes on the files', el('ul', {}, ...notes.map(n => el('li', {}, n))))] :
            []));

const tables = () => section('tables', 'Tables', '', ...data.tables.map(dataTable));
if (single) {
  const parts = detail(data.runs[0], true), at = parts.findIndex(([id]) => id === 'settings');
  parts.slice(0, at).forEach(([id, title, small, children]) => section(id, title, small, ...children));
  tables();
  parts.slice(at).forEach(([id, title, small, children]) => section(id, title, small, ...children));
} else {
  const seeds = groups.length < data.runs.length ?
      el('div', {class: 'sliders'}, 'Seeds as',
         switchOf(
             'seeds', [['lines', 'lines'], ['bands', 'mean and range']], bands ? 'bands' : 'lines',
             value => {
               bands = value === 'bands';
               refillers.forEach(refill => refill());
             })) :
      null;
  const compared =
      section('comparison', 'Comparison', '', seeds, el('div', {class: 'cards'}, ...comparisonCharts()), hint());
  compared.dataset.runs = data.runs.length;
  tables();
  const body = el('div', {});
  const choose = run => {
    charts.forEach(c => {
      if (!comparing.has(c)) charts.delete(c);
    });
    maps.clear();
    body.replaceChildren(
        ...detail(run, false)
            .map(
                ([id, title, small, children]) =>
                    el('section', {id: 'run-' + id},
                       el('h3', {}, title,
                          small ? el('small', {style: 'font-weight:400;color:var(--soft);margin-left:.6rem'}, small) :
                                  null),
                       ...children)));
    drawNew();
  };
  const comparing = new Set(charts);
  const figure = r => {
    const shown = r.summary && (r.summary.best || r.summary.final) || {};
    const errors = Object.values(shown.l2 || {}).filter(finite);
    return errors.length ? Math.max(...errors) : finite(shown.residual) ? shown.residual : Infinity;
  };
  const best = data.runs.reduce((a, b) => figure(b) < figure(a) ? b : a);
  section(
      'run', 'One run', '',
      el('select',
         {id: 'choose-run', 'aria-label': 'run', onchange: event => choose(data.runs[Number(event.target.value)])},
         ...data.runs.map((r, i) => el('option', {value: i, selected: r === best}, r.name))),
      body);
  choose(best);
}
finishPage();
