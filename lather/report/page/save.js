// Pictures and numbers of a chart as files.

function saveAs(name, type, content) {
  const link = el('a', {href: URL.createObjectURL(new Blob([content], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
const fileName = text =>
    (text.normalize('NFKD').replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '') || 'chart').toLowerCase();
const csvText = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;

// A standalone SVG: the style sheet's styles are written into it, with a title and the names of the lines.
function standalone(picture, title, names = []) {
  const box = picture.viewBox.baseVal, copy = picture.cloneNode(true), above = 26,
        perRow = Math.max(1, Math.floor(box.width / 190));
  const height = box.height + above + 18 * Math.ceil(names.length / perRow) + 8;
  const mine = [picture, ...picture.querySelectorAll('*')], theirs = [copy, ...copy.querySelectorAll('*')];
  mine.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const key
             of ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray',
                 'stroke-linejoin', 'opacity', 'font-size', 'font-family', 'font-weight'])
      theirs[i].style[key] = style.getPropertyValue(key);
    theirs[i].removeAttribute('class');
  });
  const probe = el('span', {style: 'display:none'});
  document.body.append(probe);
  const plain = colour => {  // without variables, which exist only on this page
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const text = (x, y, words, style) =>
      svg('text', {x, y, style: `font:12px sans-serif;fill:${plain('var(--ink)')};${style || ''}`}, words);
  const whole = svg('svg', {width: box.width, height, viewBox: `0 0 ${box.width} ${height}`});
  whole.append(
      svg('rect', {width: box.width, height, fill: plain('var(--card)')}), text(10, 18, title, 'font-weight:600'));
  const inner = svg('g', {transform: `translate(0,${above})`});
  inner.append(...copy.childNodes);
  whole.append(inner);
  names.forEach(([name, colour], i) => {
    const x = 12 + (i % perRow) * 190, y = above + box.height + 12 + 18 * Math.floor(i / perRow);
    whole.append(
        svg('line', {x1: x, x2: x + 16, y1: y - 4, y2: y - 4, style: `stroke:${plain(colour)};stroke-width:2.5`}),
        text(x + 22, y, name));
  });
  probe.remove();
  return {text: new XMLSerializer().serializeToString(whole), width: box.width, height};
}

function svgToPng(picture, done) {
  const image = new Image();
  image.onload = () => {
    const canvas =
        Object.assign(document.createElement('canvas'), {width: 2 * picture.width, height: 2 * picture.height});
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(done, 'image/png');
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(picture.text);
}

// what: {name(), svg(): {text, width, height}, csv(): text}
function saveButtons(what) {
  const button = (kind, act) =>
      el('button', {type: 'button', 'data-save': kind, title: 'save as ' + kind, onclick: act}, kind);
  const named = ending => fileName(what.name()) + '.' + ending;
  return el(
      'span', {class: 'save'}, button('SVG', () => saveAs(named('svg'), 'image/svg+xml', what.svg().text)),
      button('PNG', () => svgToPng(what.svg(), blob => saveAs(named('png'), 'image/png', blob))),
      button('CSV', () => saveAs(named('csv'), 'text/csv', what.csv())));
}
