// Where the points of a plane through the grid lie in a picture: in the coordinates, cell by cell, or where a map takes
// them, as a mesh. All maps of a plane share one frame: it knows which part of the plane is visible.
//
// A frame: {nameX, nameY, ticksX(count), ticksY(count), proportional(), shape() width over height, zoomed(),
// seen(visit), paint(context, area, value, colour), place(a, b) of coordinates, placeOf(i, j), cellAt(u, v), edges(),
// where(i, j) in words, zoom(x, y), reset(), drawn()}. Places are fractions of the width and the height, from
// the lower left corner.

// ---- scales: values to places along an axis, and back

const linearScale = {
  of: v => v,
  back: v => v,
  ticks: linearTicks
};

// Logarithmic far from zero on both sides, linear within `width` of it.
function stretchedScale(width) {
  const of = v => Math.asinh(v / width), back = s => width * Math.sinh(s);
  const ticks = (low, high, count) => {
    const far = Math.max(Math.abs(back(low)), Math.abs(back(high)));
    const first = Math.ceil(Math.log10(width)), last = Math.floor(Math.log10(far) + 1e-9);
    const every = Math.max(1, Math.ceil((low < 0 && high > 0 ? 2 : 1) * (last - first + 1) / count));
    const list = low <= 0 && high >= 0 ? [[0, '0']] : [];
    for (let n = last - Math.floor((last - first) / every) * every; n <= last; n += every)
      for (const sign of [-1, 1]) {
        const at = sign * of(10 ** n), text = n === 0 ? '1' : n === 1 ? '10' : '10' + superscript(n);
        if (at >= low - 1e-9 && at <= high + 1e-9) list.push([at, (sign < 0 ? '−' : '') + text]);
      }
    return list.length > 2 ? list.sort((a, b) => a[0] - b[0]) :
                             linearTicks(back(low), back(high), count).map(([v, text]) => [of(v), text]);
  };
  return {of, back, ticks};
}

// For values most of which are tiny compared to the largest, a scale that shows them all; null for others.
function stretchedFor(values) {
  const sizes = values.filter(v => finite(v) && v !== 0).map(Math.abs).sort((a, b) => a - b);
  if (sizes.length < 3 || sizes[sizes.length - 1] < 30 * sizes[sizes.length >> 1]) return null;
  return stretchedScale(sizes[Math.floor(sizes.length / 50)]);
}

// Where `v` lies between the points of an axis: the index below, and how far beyond it.
function between(axis, v) {
  let k = 0;
  while (k + 2 < axis.length && (axis[k + 1] - v) * (axis[axis.length - 1] - axis[0]) < 0) ++k;
  return [k, (v - axis[k]) / (axis[k + 1] - axis[k])];
}

// ---- the plane in its coordinates

function gridFrame(plane) {
  const whole = () => ({i: [0, plane.axisI.length - 1], j: [0, plane.axisJ.length - 1]});
  let w = whole();
  const count = ([from, to]) => to - from + 1;
  const share = (axis, window, v) => {  // of the width of the cells
    const a = axis[window[0]], b = axis[window[1]], n = count(window);
    return n < 2 ? 0.5 : ((v - a) / (b - a) * (n - 1) + 0.5) / n;
  };
  const ticks = (axis, window, n) =>
      linearTicks(axis[window[0]], axis[window[1]], n).map(([v, text]) => [share(axis, window, v), text]);
  const cut = (window, part, size) => {
    if (!part) return window;
    const low = Math.max(0, Math.round(window[0] + part[0] * count(window))),
          high = Math.min(size - 1, Math.round(window[0] + part[1] * count(window)) - 1);
    return high - low < 3 ? window : [low, high];
  };
  const frame = {
    nameX: plane.nameI,
    nameY: plane.nameJ,
    ticksX: n => ticks(plane.axisI, w.i, n),
    ticksY: n => ticks(plane.axisJ, w.j, n),
    proportional: () => plane.outline.length > 0,
    shape: () =>
        Math.abs(plane.axisI[w.i[1]] - plane.axisI[w.i[0]]) / Math.abs(plane.axisJ[w.j[1]] - plane.axisJ[w.j[0]]),
    zoomed: () => count(w.i) < plane.axisI.length || count(w.j) < plane.axisJ.length,
    seen: visit => {
      for (let i = w.i[0]; i <= w.i[1]; ++i)
        for (let j = w.j[0]; j <= w.j[1]; ++j) visit(i, j);
    },
    paint: (c, area, value, colour) => {
      const n = count(w.i), m = count(w.j), image = new ImageData(n, m);
      frame.seen((i, j) => {
        const v = value(i, j), at = 4 * ((m - 1 - j + w.j[0]) * n + i - w.i[0]);
        if (!finite(v)) return;
        image.data.set(colour(v), at);
        image.data[at + 3] = 255;
      });
      const grid = Object.assign(document.createElement('canvas'), {width: n, height: m});
      grid.getContext('2d').putImageData(image, 0, 0);
      c.imageSmoothingEnabled = area.width / n < 12;
      c.imageSmoothingQuality = 'high';
      c.drawImage(grid, area.left, area.top, area.width, area.height);
    },
    drawn: () => count(w.i) + 'x' + count(w.j),
    place: (a, b) => [share(plane.axisI, w.i, a), share(plane.axisJ, w.j, b)],
    placeOf: (i, j) => [(i - w.i[0] + 0.5) / count(w.i), (j - w.j[0] + 0.5) / count(w.j)],
    cellAt: (u, v) => ({
      i: Math.min(w.i[1], w.i[0] + Math.floor(u * count(w.i))),
      j: Math.min(w.j[1], w.j[0] + Math.floor(v * count(w.j)))
    }),
    edges: () => [],
    where: (i, j) => `${plane.nameI} ${number(plane.axisI[i])}, ${plane.nameJ} ${number(plane.axisJ[j])}`,
    zoom: (x, y) => {
      w = {i: cut(w.i, x, plane.axisI.length), j: cut(w.j, y, plane.axisJ.length)};
    },
    reset: () => {
      w = whole();
    }
  };
  return frame;
}

// ---- the plane where a map takes it

// Fills a triangle of places (in pixels) and values, row by row, by calling `set(x, y, value)`.
function fillTriangle(p, q, r, width, height, set) {
  const area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
  if (!(Math.abs(area) > 1e-12)) return;
  const low = Math.max(0, Math.ceil(Math.min(p[1], q[1], r[1]) - 0.5)),
        high = Math.min(height - 1, Math.floor(Math.max(p[1], q[1], r[1]) - 0.5));
  for (let y = low; y <= high; ++y) {
    let from = Infinity, to = -Infinity;
    for (const [a, b] of [[p, q], [q, r], [r, p]]) {  // where the edges cross the middle of this row
      const t = (y + 0.5 - a[1]) / (b[1] - a[1]);
      if (a[1] === b[1] || t < 0 || t > 1) continue;
      const x = a[0] + t * (b[0] - a[0]);
      from = Math.min(from, x);
      to = Math.max(to, x);
    }
    for (let x = Math.max(0, Math.ceil(from - 0.5)); x <= Math.min(width - 1, Math.ceil(to - 0.5)); ++x) {
      const dx = x + 0.5 - p[0], dy = y + 0.5 - p[1];
      const s = Math.min(1, Math.max(0, (dx * (r[1] - p[1]) - (r[0] - p[0]) * dy) / area)),
            t = Math.min(1 - s, Math.max(0, ((q[0] - p[0]) * dy - dx * (q[1] - p[1])) / area));
      set(x, y, p[2] + s * (q[2] - p[2]) + t * (r[2] - p[2]));
    }
  }
}

// pair: {x: {name, of(i, j), mapped}, y: …} says what spans the picture; stretched: scales that show far places.
function meshFrame(plane, pair, stretched) {
  const n = plane.axisI.length, m = plane.axisJ.length;
  const all = one => Array.from({length: n * m}, (_, k) => one.of(Math.floor(k / m), k % m));
  const scaleOf = one => stretched && one.mapped && stretchedFor(all(one)) || linearScale;
  const scaleX = scaleOf(pair.x), scaleY = scaleOf(pair.y);
  let mesh = null, mark = null, view = null;
  const points = () => {  // recomputed when a slider has moved
    if (mesh && mark === plane.mark()) return mesh;
    mark = plane.mark();
    const ends = list =>
        list.reduce(([a, b], v) => finite(v) ? [Math.min(a, v), Math.max(b, v)] : [a, b], [Infinity, -Infinity]);
    const X = all(pair.x).map(v => finite(v) ? scaleX.of(v) : NaN),
          Y = all(pair.y).map(v => finite(v) ? scaleY.of(v) : NaN);
    const wide = ([a, b]) => a < b ? [a, b] : a === b ? [a - 0.5, a + 0.5] : [0, 1];
    return mesh = {X, Y, x: wide(ends(X)), y: wide(ends(Y))};
  };
  const range = axis => view && view[axis] || points()[axis];
  const shareOf = (axis, v) => (v - range(axis)[0]) / (range(axis)[1] - range(axis)[0]);
  const at = (i, j) => [shareOf('x', points().X[i * m + j]), shareOf('y', points().Y[i * m + j])];
  const cells = visit => {
    for (let i = 0; i + 1 < n; ++i)
      for (let j = 0; j + 1 < m; ++j) visit(i, j);
  };
  const inside = (corners, u, v) => {
    let odd = false;
    corners.forEach(([ax, ay], k) => {
      const [bx, by] = corners[(k + 1) % 4];
      if ((ay > v) !== (by > v) && u < ax + (v - ay) / (by - ay) * (bx - ax)) odd = !odd;
    });
    return odd;
  };
  const cornersOf = (i, j) => [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
  const linearBoth = scaleX === linearScale && scaleY === linearScale && pair.x.mapped && pair.y.mapped;
  const frame = {
    nameX: pair.x.name,
    nameY: pair.y.name,
    ticksX: count => scaleX.ticks(...range('x'), count).map(([v, text]) => [shareOf('x', v), text]),
    ticksY: count => scaleY.ticks(...range('y'), count).map(([v, text]) => [shareOf('y', v), text]),
    proportional: () => linearBoth && frame.shape() > 0.1 && frame.shape() < 10,
    shape: () => (range('x')[1] - range('x')[0]) / (range('y')[1] - range('y')[0]),
    zoomed: () => view !== null,
    seen: visit => {
      for (let i = 0; i < n; ++i)
        for (let j = 0; j < m; ++j) {
          const [u, v] = at(i, j);
          if (u >= 0 && u <= 1 && v >= 0 && v <= 1) visit(i, j);
        }
    },
    paint: (c, area, value, colour) => {
      const ratio = Math.max(1, Math.min(2, devicePixelRatio || 1)), width = Math.round(area.width * ratio),
            height = Math.round(area.height * ratio), image = new ImageData(width, height);
      const corner = (i, j) => {
        const [u, v] = at(i, j);
        return [u * width, (1 - v) * height, value(i, j)];
      };
      const set = (x, y, v) => {
        image.data.set(colour(v), 4 * (y * width + x));
        image.data[4 * (y * width + x) + 3] = 255;
      };
      cells((i, j) => {
        const four = cornersOf(i, j).map(([a, b]) => corner(a, b));
        if (!four.every(p => p.every(finite))) return;
        fillTriangle(four[0], four[1], four[2], width, height, set);
        fillTriangle(four[0], four[2], four[3], width, height, set);
      });
      const picture = Object.assign(document.createElement('canvas'), {width, height});
      picture.getContext('2d').putImageData(image, 0, 0);
      c.drawImage(picture, area.left, area.top, area.width, area.height);
    },
    drawn: () => n + 'x' + m + ' mapped',
    place: (a, b) => {  // of a point given by its coordinates
      if (n < 2 || m < 2) return [NaN, NaN];
      const [i, s] = between(plane.axisI, a), [j, t] = between(plane.axisJ, b);
      const [p, q, r, o] = cornersOf(i, j).map(([k, l]) => at(k, l));
      return [0, 1].map(d => (1 - s) * (1 - t) * p[d] + s * (1 - t) * q[d] + s * t * r[d] + (1 - s) * t * o[d]);
    },
    placeOf: at,
    cellAt: (u, v) => {
      let found = null;
      cells((i, j) => {
        if (!found && inside(cornersOf(i, j).map(([a, b]) => at(a, b)), u, v)) found = [i, j];
      });
      if (!found) return null;
      const far = ([i, j]) => Math.hypot(at(i, j)[0] - u, at(i, j)[1] - v);
      const [i, j] = cornersOf(...found).reduce((a, b) => far(b) < far(a) ? b : a);
      return {i, j};
    },
    // The rim of the mesh, without the seam of a coordinate that closes on itself.
    edges: () => {
      const along = (count, point) => Array.from({length: count}, (_, k) => point(k));
      const same = (a, b) => a.every((p, k) => Math.hypot(p[0] - b[k][0], p[1] - b[k][1]) < 1e-6);
      const pairs = [
        [along(n, i => at(i, 0)), along(n, i => at(i, m - 1))], [along(m, j => at(0, j)), along(m, j => at(n - 1, j))]
      ];
      return pairs.filter(([a, b]) => !same(a, b)).flat().map(line => line.filter(p => p.every(finite)));
    },
    where: (i, j) => `${pair.x.name} ${number(pair.x.of(i, j))}, ${pair.y.name} ${number(pair.y.of(i, j))} (${
        plane.nameI} ${number(plane.axisI[i])}, ${plane.nameJ} ${number(plane.axisJ[j])})`,
    zoom: (x, y) => {
      const part = (r, p) => p ? [r[0] + p[0] * (r[1] - r[0]), r[0] + p[1] * (r[1] - r[0])] : r;
      const within = (axis, p) => {  // no farther out than the mesh
        const whole = points()[axis], r = part(range(axis), p);
        return [Math.max(whole[0], r[0]), Math.min(whole[1], r[1])];
      };
      const next = {x: within('x', x), y: within('y', y)};
      const all = ['x', 'y'].every(axis => next[axis].every((v, k) => v === points()[axis][k]));
      view = all ? null : next;
    },
    reset: () => {
      view = null;
    }
  };
  return frame;
}
