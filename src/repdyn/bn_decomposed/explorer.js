"use strict";
// Nachum, Bondaschi, Gastpar and Khina, Batch Normalization Decomposed: a random network, layer by layer, over its limit of infinite width.
(repdyn => {
  // Theory and network; its own text runs in the worker too, so it uses nothing from outside but the kernel.
  function engine(tools) {
    const DEGREES = 180 / Math.PI, EPS = 2 ** -52;

    // As arccos_kernel in repdyn.bn_decomposed.theory.kernel.
    function arccosKernel(rho) {
      const x = Math.max(-1, Math.min(1, rho));
      return (Math.sqrt((1 - x) * (1 + x)) + (Math.PI - Math.acos(x)) * x) / Math.PI;
    }

    // sin(theta) - theta cos(theta): its series below one radian, where the difference would cancel.
    function thirdOrder(theta) {
      if (theta >= 1) return Math.sin(theta) - theta * Math.cos(theta);
      let sum = 0;
      for (let k = 1, power = theta ** 3 / 6; k < 14; k += 1) {
        sum += (k % 2 ? 1 : -1) * 2 * k * power;
        power *= theta * theta / ((2 * k + 2) * (2 * k + 3));
      }
      return sum;
    }

    // 1 - kappa(cos theta).
    const arccosKernelComplement = theta => 2 * Math.sin(theta / 2) ** 2 - thirdOrder(theta) / Math.PI;

    // As odd_growth and odd_map in repdyn.bn_decomposed.theory.odd_cluster; angles in radians.
    function oddGrowth(theta, n) {
      const u = Math.max(1 + (n - 2) * Math.cos(theta), 0), a = (n - 1) * u;
      const q = Math.sqrt(a) * arccosKernel(-Math.sqrt(u / (n - 1))), cluster = 1 + (n - 2) * (1 - arccosKernelComplement(theta));
      return 1 - 2 * (q + cluster) / n + (a + (n - 1) * (2 * q + cluster)) / n ** 2;
    }

    function oddMap(theta, n) {
      const ratio = arccosKernelComplement(theta) / (2 * oddGrowth(theta, n));
      return 2 * Math.asin(Math.sqrt(Math.max(0, Math.min(1, ratio))));
    }

    const simplexAngle = n => Math.acos(arccosKernel(-1 / (n - 1)));

    // Square matrices are lists of rows.
    const matrix = (n, entry) => Array.from({ length: n }, (_, i) => Float64Array.from({ length: n }, (__, j) => entry(i, j)));
    const trace = G => G.reduce((sum, row, i) => sum + row[i], 0);
    const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length;

    function centered(G) {
      const rows = G.map(mean), all = mean(rows);
      return matrix(G.length, (i, j) => G[i][j] - rows[i] - rows[j] + all);
    }

    function reluGram(C) {
      const length = C.map((row, i) => Math.sqrt(Math.max(row[i], 0)));
      return matrix(C.length, (i, j) => {
        const product = length[i] * length[j];
        return product > 0 ? product * (i === j ? 1 : arccosKernel(C[i][j] / product)) : 0;
      });
    }

    // Eigenvalues and eigenvectors (columns) of a symmetric matrix: rotations of Jacobi.
    function eigen(A) {
      const n = A.length, D = A.map(row => row.slice()), V = matrix(n, (i, j) => Number(i === j));
      for (let sweep = 0; sweep < 40; sweep += 1) {
        let off = 0, size = 0;
        for (let p = 0; p < n; p += 1) for (let q = 0; q < n; q += 1) { if (p !== q) off += D[p][q] ** 2; size += D[p][q] ** 2; }
        if (off <= (1e-17 * n) ** 2 * size) break;
        for (let p = 0; p < n; p += 1) for (let q = p + 1; q < n; q += 1) if (D[p][q] !== 0) rotate(D, V, p, q, n);
      }
      return { values: D.map((row, i) => row[i]), vectors: V };
    }

    function rotate(D, V, p, q, n) {
      const tau = (D[q][q] - D[p][p]) / (2 * D[p][q]), t = (tau >= 0 ? 1 : -1) / (Math.abs(tau) + Math.hypot(1, tau));
      const c = 1 / Math.hypot(1, t), s = t * c;
      for (let k = 0; k < n; k += 1) {
        const row = D[k], turned = V[k], x = row[p], y = turned[p];
        row[p] = c * x - s * row[q];
        row[q] = s * x + c * row[q];
        turned[p] = c * y - s * turned[q];
        turned[q] = s * y + c * turned[q];
      }
      for (let k = 0, up = D[p], low = D[q]; k < n; k += 1) {
        const x = up[k];
        up[k] = c * x - s * low[k];
        low[k] = s * x + c * low[k];
      }
    }

    // Nodes and weights in log s of the integral over s, with the determinant in the weight.
    function scaleNodes(mu, aboutMean) {
      const STEP = 0.25, nodes = [];
      for (let k = 0; k < 540; k += 1) {
        const x = -45 + STEP * k, s = Math.exp(x), log = x - mu.reduce((sum, value) => sum + Math.log1p(2 * s * value), 0) / 2;
        nodes.push({ s, log, size: aboutMean ? log : log - Math.log1p(2 * s) });
      }
      const top = Math.max(...nodes.map(node => node.size));
      return nodes.filter(node => node.size > top - 42).map(({ s, log }) => [s, STEP * Math.exp(log)]);
    }

    function rescaledGram(C, aboutMean, relu) {
      const n = C.length, unit = trace(C) / n, { values, vectors } = eigen(C.map(row => row.map(value => value / unit)));
      let root = vectors.map(row => row.map((value, k) => value * Math.sqrt(Math.max(values[k], 0)))), mu = values;
      if (aboutMean) {
        const means = root[0].map((_, k) => mean(root.map(row => row[k])));
        const inner = matrix(n, (k, l) => root.reduce((sum, row) => sum + (row[k] - means[k]) * (row[l] - means[l]), 0));
        const turned = eigen(inner);
        root = root.map(row => row.map((_, k) => row.reduce((sum, value, l) => sum + value * turned.vectors[l][k], 0)));
        mu = turned.values;
      }
      mu = mu.map(value => Math.max(value, 0));
      const rank = mu.filter(value => value > 1e-12 * n).length;
      if (rank === 0 || (aboutMean && rank < 3)) return null;
      const total = matrix(n, () => 0), lengths = new Float64Array(n), scaled = new Float64Array(n);
      const inner = (u, v) => { let sum = 0; for (let k = 0; k < n; k += 1) sum += u[k] * v[k]; return sum; };
      scaleNodes(mu, aboutMean).forEach(([s, weight]) => {
        for (let i = 0; i < n; i += 1) {
          for (let k = 0; k < n; k += 1) scaled[k] = root[i][k] / (1 + 2 * s * mu[k]);
          const square = Math.max(inner(scaled, root[i]), 0);
          lengths[i] = Math.sqrt(square);
          total[i][i] += n * weight * square;
          for (let j = 0; j < i; j += 1) {
            const product = lengths[i] * lengths[j], value = inner(scaled, root[j]);
            total[i][j] += n * weight * (!relu ? value : product > 0 ? product * arccosKernel(value / product) : 0);
          }
        }
      });
      return matrix(n, (i, j) => total[Math.max(i, j)][Math.min(i, j)]);
    }

    // As expected_gram_step in theory.kernel, rescale "off", "RMS" or "sigma"; null where there is no scale to divide by.
    function expectedGramStep(G, { recenter, rescale, relu }) {
      const C = recenter === "on" ? centered(G) : G;
      if (!(trace(C) > 1e-14 * trace(G))) return null;
      if (rescale === "off") return relu === "on" ? reluGram(C) : C;
      return rescaledGram(C, rescale === "sigma" && recenter === "off", relu === "on");
    }

    function median(values) {
      const sorted = Float64Array.from(values).sort(), half = sorted.length >> 1;
      return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
    const span = values => [Math.min(...values), median(values), Math.max(...values)];

    // From norms and angles (degrees; point by point): least, median and largest angle to the longest point and among the
    // others, norm of the others over the longest, and `theta`, the median among the others in the batch that is recentered.
    function summary(norms, angle, recentered, fromCenter) {
      const odd = norms.indexOf(Math.max(...norms)), others = norms.map((_, i) => i).filter(i => i !== odd);
      const pairs = others.flatMap((i, k) => others.slice(k + 1).map(j => [i, j]));
      return {
        odd, norms: norms.map(norm => norm / norms[odd]), center: norms.map((_, i) => fromCenter(i, others)),
        with: span(others.map(i => angle(odd, i))), among: span(pairs.map(([i, j]) => angle(i, j))),
        other: span(others.map(i => norms[i] / norms[odd])), theta: median(pairs.map(([i, j]) => recentered(i, j))),
      };
    }

    // `summary` of a Gram matrix. Angles below 1e-6 degree are lost in round-off.
    function gramLook(G, recenter) {
      const C = recenter === "on" ? centered(G) : G, norms = G.map((row, i) => Math.sqrt(row[i]));
      const angles = M => (i, j) => DEGREES * Math.acos(Math.max(-1, Math.min(1, M[i][j] / Math.sqrt(M[i][i] * M[j][j]))));
      const cosine = (i, j) => G[i][j] / (norms[i] * norms[j]);
      return summary(norms, angles(G), angles(C), (i, others) => {
        const to = others.reduce((sum, j) => sum + cosine(i, j), 0), own = others.reduce((sum, j) => sum + others.reduce((part, k) => part + cosine(j, k), 0), 0);
        return DEGREES * Math.acos(Math.max(-1, Math.min(1, to / Math.sqrt(own))));
      });
    }

    // `summary` of a batch, its points by rows: angles from 2 atan2(|u - v|, |u + v|), which keeps all digits.
    function batchLook(rows, recenter) {
      const length = row => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)), unit = (row, size) => row.map(value => value / size);
      const middle = rows[0].map((_, k) => mean(rows.map(row => row[k])));
      const moved = recenter === "on" ? rows.map(row => row.map((value, k) => value - middle[k])) : rows;
      const norms = rows.map(length), units = rows.map((row, i) => unit(row, norms[i])), other = moved.map(row => unit(row, length(row)));
      function between(u, v) {
        let apart = 0, together = 0;
        for (let k = 0; k < u.length; k += 1) { apart += (u[k] - v[k]) ** 2; together += (u[k] + v[k]) ** 2; }
        return 2 * DEGREES * Math.atan2(Math.sqrt(apart), Math.sqrt(together));
      }
      let center = null;
      return summary(norms, (i, j) => between(units[i], units[j]), (i, j) => between(other[i], other[j]), (i, others) => {
        if (!center) { center = units[0].map((_, k) => others.reduce((sum, j) => sum + units[j][k], 0)); center = unit(center, length(center)); }
        return between(units[i], center);
      });
    }

    // Points by rows: Gaussian, the first one longer; or Definition 12 with a cluster of an angle in place of its point.
    function batch({ start, n, inputs, longer, angle }, generator) {
      if (start === "Gaussian points") {
        return Array.from({ length: n }, (_, i) => Float64Array.from({ length: inputs }, () => (i ? 1 : longer) * generator.normal()));
      }
      const m = n - 1, spread = Math.min(1, Math.sqrt((1 - Math.cos(angle / DEGREES)) * (m - 1) / m)), along = Math.sqrt(1 - spread * spread);
      const side = Math.sqrt(m / (m - 1));
      return Array.from({ length: n }, (_, i) => Float64Array.from({ length: m + 2 }, (__, k) => {
        if (!i) return Number(k === 0);
        return (k === 0 ? 0 : k === 1 ? along : spread * side * (Number(k - 2 === i - 1) - 1 / m)) / m;
      }));
    }

    // A random network as propagate in theory.layers, all weights N(0, 1) drawn layer by layer and thrown away. `layer`
    // is a generator that returns whether there was a scale to divide by.
    function network(settings, weights = tools.random(settings.seed + 1e6)) {
      const { n, width } = settings, recenter = settings.recenter === "on", relu = settings.relu === "on", rescale = settings.rescale;
      let rows = batch(settings, tools.random(settings.seed));
      function* layer() {
        const k = rows[0].length, next = rows.map(() => new Float64Array(width)), w = new Float64Array(k), z = new Float64Array(n);
        const longest = Math.sqrt(Math.max(...rows.map(row => row.reduce((sum, value) => sum + value * value, 0))));
        let top = 0;
        for (let neuron = 0; neuron < width; neuron += 1) {
          let square = 0;
          for (let i = 0; i < k; i += 1) { w[i] = weights.normal(); square += w[i] * w[i]; }
          for (let p = 0; p < n; p += 1) {
            const row = rows[p];
            let sum = 0;
            for (let i = 0; i < k; i += 1) sum += w[i] * row[i];
            z[p] = sum;
          }
          const middle = mean(z), shift = recenter ? middle : 0;
          let divisor = 1;
          if (rescale !== "off") {
            const about = rescale === "sigma" ? middle : shift;
            divisor = Math.sqrt(mean(z.map(value => (value - about) ** 2)));
            if (divisor <= EPS * k * Math.sqrt(square) * longest) {
              if (!recenter) return false;
              divisor = Infinity;
            }
          }
          for (let p = 0; p < n; p += 1) {
            const value = (z[p] - shift) / divisor, out = relu && value < 0 ? 0 : value;
            next[p][neuron] = out;
            top = Math.max(top, Math.abs(out));
          }
          if (neuron % 50 === 49) yield;
        }
        if (!(top > 0) || next.some(row => row.every(value => value === 0))) return false;
        const unit = 2 ** -(Math.floor(Math.log2(top)) + 1);  // changes no angle, in no bit
        rows = next.map(row => row.map(value => value * unit));
        return true;
      }
      return { layer, look: () => batchLook(rows, settings.recenter), rows: () => rows };
    }

    // One layer at infinite width on equivalent points, beside an odd one where recentering keeps it: angle -> angle, degrees.
    function angleMap(degrees, settings) {
      const { n, recenter, rescale, relu } = settings, theta = degrees / DEGREES, r = Math.cos(theta);
      if (recenter === "on" && rescale === "off" && relu === "on") return DEGREES * oddMap(theta, n);
      const u = 1 + (n - 2) * r, odd = recenter === "on";
      const G = matrix(n, (i, j) => (odd && i === 0 && j === 0 ? (n - 1) * u : odd && (i === 0 || j === 0) ? -u : i === j ? 1 : r));
      const next = expectedGramStep(G, settings);
      if (!next) return null;
      const C = odd ? centered(next) : next;
      return DEGREES * Math.acos(Math.max(-1, Math.min(1, C[1][2] / C[1][1])));
    }

    function start(settings) {
      const own = { ...settings };
      // The path at infinite width from the network's own start, and the map of an angle.
      function* prepare() {
        const first = batch(own, tools.random(own.seed)), theory = [], curve = [];
        const scaled = M => { const size = M && trace(M); return M && M.map(row => row.map(value => value / size)); };
        let rests = false, G = scaled(matrix(own.n, (i, j) => first[i].reduce((sum, value, k) => sum + value * first[j][k], 0)));
        for (let layer = 0; G && layer <= own.layers; layer += 1) {
          theory.push(rests ? theory.at(-1) : gramLook(G, own.recenter));
          const next = rests ? G : scaled(expectedGramStep(G, own));
          rests = Boolean(next) && next.every((row, i) => row.every((value, j) => Math.abs(value - G[i][j]) < 1e-14));
          G = next;
          yield;
        }
        const top = own.recenter === "on" ? DEGREES * Math.acos(-1 / (own.n - 1)) : 90, cells = own.rescale === "off" ? 180 : 24;
        const shares = [0.1, 0.3, 0.6, ...Array.from({ length: cells - 1 }, (_, cell) => cell + 1), cells - 0.1, cells - 0.001].map(cell => cell / cells);
        for (const share of shares) {
          const theta = top * share, next = angleMap(theta, own);
          if (next !== null) curve.push([theta, next - theta]);
          yield;
        }
        return { theory, curve, top };
      }
      function* records() {
        const one = network(own);
        for (let layer = 0; layer <= own.layers; layer += 1) {
          yield { layer, ...one.look() };
          if (layer === own.layers) return;
          const work = one.layer();
          let step = work.next();
          while (!step.done) { yield null; step = work.next(); }
          if (!step.value) return;
        }
      }
      return { prepare, records };
    }
    start.theory = { arccosKernel, arccosKernelComplement, oddGrowth, oddMap, simplexAngle, expectedGramStep, angleMap, gramLook };
    start.network = network;
    return start;
  }
  const { theory, network } = engine(repdyn.training.kernel);

  const RING = 1 / 60;  // between two corners of a ring, in turns

  const within = ({ among }) => among[1], isOdd = ({ other }) => other[2] < 0.5;
  const third = looks => looks.slice(Math.floor(looks.length * 2 / 3));
  const average = looks => looks.reduce((sum, look) => sum + within(look), 0) / looks.length;

  // Where the curve of theta' - theta against theta passes zero: angles, and whether points rest there.
  // Where nothing else rests and all angles grow, it is the largest angle there is, all points alike.
  function crossings({ curve, top }, { relu }) {
    if (relu === "off" || !curve.length) return [];
    const found = curve.slice(1).flatMap(([theta, change], k) => {
      const [before, last] = curve[k];
      return (last > 0) === (change > 0) ? [] : [{ theta: before + (theta - before) * last / (last - change), stable: last > 0 }];
    });
    return found.length || curve.at(-1)[1] < 0 ? found : [{ theta: top, stable: true }];
  }

  function build(root) {
    const { COLORS, Panel, panels } = repdyn.tools, box = panels(root), OTHERS = COLORS.corrected, LONGEST = COLORS.printed;
    box.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(100%, 340px), 1fr))";
    const sphere = new Panel(box, { title: "The batch on a sphere: angle to the middle of the blue points; area: norm. Rings: predicted", label: "Angle of every point to the middle of all but the longest, and its norm", x: [-1, 1], y: [-1, 1], height: 250, square: true, axes: false });
    const angles = new Panel(box, { title: "Angles by layer, theory and network (dots): to the longest point (orange-red), among the others (blue)", label: "Angles in degrees against layers: bands theory, dots network", x: [0, 1], y: [0, 1], xlabel: "layer", height: 250 });
    const norms = new Panel(box, { title: "Norms of the others over the longest: theory and network (dots)", x: [0, 1], y: [0, 1.05], xlabel: "layer" });
    const map = new Panel(box, { title: "What a layer adds to an angle \u03b8 among the blue points: \u03b8\u2032 \u2212 \u03b8; network (green)", label: "Change of the angle in one layer against the angle: line theory, dots network", x: [0, 1], y: [-1, 1], xlabel: "\u03b8 (degrees)" });
    const SERIES = [[angles, "with", LONGEST], [angles, "among", OTHERS], [norms, "other", OTHERS]];
    let points = [], series = [], moves = null;

    const reach = state => (state.relu === "on" ? 105 : 180);
    const ring = radius => repdyn.tools.grid(0, 1 + RING, Math.round(1 / RING) + 2).map(turn => [radius * Math.cos(2 * Math.PI * turn), radius * Math.sin(2 * Math.PI * turn)]);

    function clearSphere({ state, prepared }) {
      const far = reach(state);
      sphere.range([-far, far], [-far, far]);
      sphere.clear();
      const scale = sphere.px(1) - sphere.px(0);  // pixels per degree
      for (let angle = 30; angle < far; angle += state.relu === "on" ? 30 : 60) {
        sphere.line(ring(angle), COLORS.line, { width: 1 });
        sphere.words([-15 / scale, -angle], `${angle}\u00b0`);
      }
      if (prepared) {
        const end = prepared.theory.at(-1), others = end.center.filter((_, i) => i !== end.odd), [low, high] = [Math.min(...others), Math.max(...others)];
        const wide = Math.max(6, (high - low) / 2 * scale);
        sphere.line(ring((low + high) / 2), OTHERS, { width: 2 * wide, opacity: 0.18 });
        sphere.line(ring(end.center[end.odd]), LONGEST, { width: 2, dash: "6 4" });
      }
      points = Array.from({ length: state.n }, () => sphere.dot([0, 0], OTHERS, 0, 0.9));
    }

    function clear(view) {
      const { prepared, state } = view;
      [angles, norms, map].forEach(panel => panel.clear());
      clearSphere(view);
      series = [];
      moves = null;
      if (!prepared) return;
      const { theory } = prepared, ceiling = Math.max(95, ...theory.map(look => Math.max(look.with[2], look.among[2])));
      angles.range([0, state.layers], [0, 1.04 * ceiling]);
      norms.range([0, state.layers], [0, 1.05]);
      series = SERIES.map(([panel, name, color]) => {
        const path = place => theory.map((look, layer) => [layer, look[name][place]]);
        panel.line([...path(0), ...path(2).reverse()], "none", { fill: color, opacity: 0.18 });
        panel.line(path(1), color);
        return { name, panel, bars: panel.line([[0, 0]], color, { width: 1, opacity: 0.3 }), dots: panel.dots(color, 1.8) };
      });
      clearMap(state, prepared);
      draw(view);
    }

    function clearMap(state, prepared) {
      const { curve, top } = prepared;
      const changes = curve.map(([, change]) => change), scatter = 3 * 180 / Math.PI / Math.sqrt(state.width);
      map.xlabel = state.recenter === "on" ? "\u03b8, recentered (degrees)" : "\u03b8 (degrees)";
      map.range([0, top], [Math.min(-scatter, 1.1 * Math.min(...changes)), Math.max(scatter, 1.1 * Math.max(...changes))]);
      map.line([[0, 0], [top, 0]], COLORS.soft, { width: 1 });
      moves = map.dots("#009e73", 1.8);
      map.line(curve, OTHERS);
      crossings(prepared, state).forEach(({ theta, stable }) => {
        const mark = map.dot([theta, 0], stable ? OTHERS : "#fff", 4.5);
        mark.setAttribute("stroke", OTHERS);
        mark.setAttribute("stroke-width", 2);
        if (stable && theta < top) map.words([theta, 0], `${theta.toFixed(0)}\u00b0`, OTHERS);
        else if (stable) map.words([theta, 0.2 * map.y[0]], `${theta.toFixed(0)}\u00b0`, OTHERS, "end");
      });
    }

    function draw({ records, state, prepared }) {
      if (!prepared) return;
      const last = records.at(-1) || prepared.theory[0], far = reach(state);
      points.forEach((dot, i) => {
        const turn = 2 * Math.PI * i / state.n + Math.PI / 2, radius = Math.min(last.center[i], far);
        const odd = i === last.odd;
        Object.entries({ cx: sphere.px(radius * Math.cos(turn)), cy: sphere.py(radius * Math.sin(turn)), r: Math.max(1.5, 10 * Math.sqrt(last.norms[i])), fill: odd ? LONGEST : OTHERS }).forEach(([name, value]) => dot.setAttribute(name, value));
      });
      series.forEach(({ name, panel, bars, dots }) => {
        const high = look => panel.py(Math.min(look[name][2], panel.y[1])).toFixed(1);
        bars.setAttribute("d", records.map(one => `M${panel.px(one.layer).toFixed(1)} ${panel.py(one[name][0]).toFixed(1)}V${high(one)}`).join(""));
        dots(records.map(one => [one.layer, one[name][1]]));
      });
      const clip = value => Math.max(map.y[0], Math.min(map.y[1], value));
      moves(records.slice(1).map((one, k) => [records[k].theta, clip(one.theta - records[k].theta)]));
    }
    return { clear, draw };
  }

  const degrees = value => `${value < 10 ? value.toFixed(1) : value.toFixed(0)}\u00b0`;
  const longer = ({ other }) => (other[2] > 0.995 ? "no longer than the next" : `${repdyn.tools.short(1 / other[2])} times as long as the next`);
  const describes = look => `the other points are ${degrees(within(look))} from each other and ${degrees(look.with[1])} from the longest, which is ${longer(look)}`;

  // What the paper says of this combination, against what the network has done.
  function verdict({ state, records, prepared }) {
    const end = records.at(-1), rests = average(third(records)), { recenter, rescale, relu, n } = state;
    if (relu === "off") return "Without ReLU there is no odd point.";
    if (rescale !== "off") {
      if (recenter === "off" && rescale === "sigma") return "Divided by the paper's sigma, which is measured from the mean that is not subtracted, the batch collapses; Figure 5(a) of the paper has about 60\u00b0.";
      return `Figure 5(${recenter === "on" ? "b" : "a"}) of the paper has about ${recenter === "on" ? 75 : 60}\u00b0, of a batch of unknown size; this batch of ${n} has ${degrees(rests)}, its theory ${degrees(average(third(prepared.theory)))}.`;
    }
    if (recenter === "off") return "Without recentering no point leaves: all directions approach each other, with norms as at the start.";
    if (!isOdd(end)) return n < 7 ? "The paper's picture fails here: there is no odd point. With fewer than seven points none can stay." : "There is no odd point after these layers.";
    return `The odd point is there. The cluster of the paper fails: it does not shrink to a point, but stays ${degrees(rests)} wide (average of the last third).`;
  }

  function compares({ state, records, prepared }) {
    if (prepared.theory.length < records.length) return "";
    const end = records.at(-1), limit = prepared.theory.at(-1), [ours, theirs] = [records, prepared.theory].map(looks => average(third(looks)));
    const ratio = ours / theirs, scatter = 180 / Math.PI / Math.sqrt(state.width);  // of a right angle in one layer
    const agrees = isOdd(end) === isOdd(limit) && (Math.abs(ours - theirs) < scatter || (ratio < 1.5 && ratio > 1 / 1.5));
    return `The theory of infinite width ${agrees ? "holds" : "fails"} here: ${isOdd(limit) ? "an" : "no"} odd point predicted, ${isOdd(end) ? "one" : "none"} seen; ${degrees(theirs)} between the others predicted, ${degrees(ours)} seen, averages of the last third of the layers (it holds within a factor of 1.5, or within ${degrees(scatter)}, the scatter of one layer of this width).`;
  }

  function says(view) {
    const { state, prepared, records, finished } = view;
    const known = prepared && prepared.theory.length - 1;
    const who = `${state.n} points, ${state.width} neurons per layer, recentering ${state.recenter}, rescaling ${state.rescale}, ReLU ${state.relu}, seed ${state.seed}. `;
    if (!prepared) return `${who}Computing the theory.`;
    const rest = crossings(prepared, state).find(({ stable }) => stable);
    const text = `${who}Predicted at infinite width for layer ${known}${known < state.layers ? " (no expectation is finite after it)" : ""}: ${describes(prepared.theory[known])}. ${rest ? `The angle \u03b8 rests at ${degrees(rest.theta)}. ` : ""}`;
    if (records.length < 2) return `${text}Press Play to run the network.`;
    const last = records.at(-1), now = `Layer ${last.layer}: ${describes(last)}. `;
    if (!finished && last.layer < state.layers) return text + now;
    if (last.layer < state.layers) return `${text}${now}Here the network ends: a neuron has no scale left to divide by, or a point is zero. ${verdict(view)}`;
    return `${text}${now}${compares(view)} ${verdict(view)}`;
  }

  const FIRST = { n: 20, layers: 100, recenter: "on", rescale: "off", relu: "on", width: 500, start: "Gaussian points", inputs: 20, longer: 2, angle: 4 };
  const presets = [
    { label: "Odd point appears: 20 points", values: {} },
    { label: "No odd point: 5 points", values: { n: 5, start: "odd point and cluster" } },
    { label: "Recentering off", values: { recenter: "off" } },
    { label: "ReLU off", values: { relu: "off" } },
    { label: "The paper's 60 degrees", values: { n: 9, layers: 30, recenter: "off", rescale: "RMS", longer: 1 } },
    { label: "The paper's sigma instead: collapse", values: { n: 9, layers: 30, recenter: "off", rescale: "sigma", longer: 1 } },
    { label: "The paper's 75 degrees", values: { n: 9, layers: 30, rescale: "sigma", longer: 1 } },
    { label: "Show me the failure: the cluster widens", values: { start: "odd point and cluster", layers: 150 } },
  ];
  const controls = [
    { name: "recenter", label: "recentering", choices: ["on", "off"] },
    { name: "rescale", label: "rescaling", choices: ["off", "RMS", "sigma"] },
    { name: "relu", label: "ReLU", choices: ["on", "off"] },
    { name: "n", label: "points", low: 3, high: 40, step: 1 },
    { name: "layers", label: "layers", low: 5, high: 200, step: 5 },
    { name: "width", label: "neurons per layer", choices: [50, 100, 200, 500, 1000, 2000] },
    { name: "start", label: "start", choices: ["Gaussian points", "odd point and cluster"] },
    { name: "inputs", label: "dimension of Gaussian points", low: 1, high: 100, step: 1 },
    { name: "longer", label: "factor on the first Gaussian point", low: 1, high: 5, step: 0.1 },
    { name: "angle", label: "angle within the cluster at the start", low: 1, high: 90, step: 1 },
  ];

  repdyn.theory.bn_decomposed = { ...theory, network };
  repdyn.widgets.bn_decomposed = root => repdyn.stage(root, { name: "bn_decomposed", defaults: FIRST, controls, presets, engine, build, says });
})(window.repdyn);
