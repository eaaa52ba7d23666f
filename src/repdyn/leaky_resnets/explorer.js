"use strict";
// Hamiltonian Mechanics of Feature Learning: a path to drag, a leaky ResNet that starts on it and trains, the geodesic of least cost.
(repdyn => {
  // Theory and network; its own text runs in the worker too, so it uses nothing from outside but the kernel.
  function engine(tools) {
    // As scalar_path in repdyn.leaky_resnets.theory.scalar_geodesic: [A_p, B_p].
    function scalarPath(u, end, depth, p) {
      const A = end * Math.exp(depth * (u - 1) * (p - 1));
      return [A, u / A];
    }

    // lam of the penalty (lam / 2 Lt) sum rho |W|^2; as lam in methods.recipe.
    const lam = ({ penalty, inputs, depth }) => penalty * inputs / depth;

    // One direction, from 1 to a target: u = A B of the scalar geodesic that costs least, from
    // (target - A_1)^2 / N + lam Lt u^2 / 2, A_1 = e^{Lt (u - 1)}. There may be two minima: kept and lost.
    function cheapest(target, depth, strength, points) {
      const end = u => Math.exp(depth * (u - 1)), CELLS = 800;
      const cost = u => (target - end(u)) ** 2 / points + strength * depth * u * u / 2;
      const slope = u => strength * u - 2 / points * (target - end(u)) * end(u);
      const low = -12, high = 0.5 + Math.max(0, target > 0 ? 1 + Math.log(target) / depth : 0);
      const places = Array.from({ length: CELLS + 1 }, (_, k) => low + (high - low) * k / CELLS);
      const best = places.reduce((least, u) => (cost(u) < cost(least) ? u : least));
      let [left, right] = [best - (high - low) / CELLS, best + (high - low) / CELLS];
      for (let round = 0; round < 60; round += 1) {
        const middle = (left + right) / 2;
        if (slope(middle) > 0) right = middle; else left = middle;
      }
      const u = (left + right) / 2;
      return { u, end: end(u), cost: cost(u), kept: target > 0 && end(u) > target / 2 };
    }

    // Targets of the directions: those kept, each smaller than the one before by a ratio, then zeros.
    const targets = ({ inputs, kept, target, ratio }) => Array.from({ length: inputs }, (_, i) => (i < kept ? target * ratio ** i : 0));

    // Logarithm (base 10) of what a reader has drawn: from 1, straight between handles at 1/3, 2/3 and 1.
    function drawn(state, i, p) {
      const name = i < state.kept ? "b" : "o", heights = [0, state[`${name}1`], state[`${name}2`], state[`${name}3`]];
      const place = Math.min(3 * p, 3), low = Math.min(Math.floor(place), 2);
      return heights[low] + (place - low) * (heights[low + 1] - heights[low]);
    }

    // |M|^2_{K + gamma I} of matrices (w, N) in one array each, K = S'S with S = relu(A): M solved against Cholesky's factor.
    function stableNorms(A, matrices, width, points, gamma) {
      const R = new Float64Array(points * points), row = new Float64Array(points);
      for (let i = 0; i < points; i += 1) for (let j = 0; j <= i; j += 1) {
        let sum = i === j ? gamma : 0;
        for (let k = 0; k < width; k += 1) sum += Math.max(A[k * points + i], 0) * Math.max(A[k * points + j], 0);
        for (let k = 0; k < j; k += 1) sum -= R[i * points + k] * R[j * points + k];
        R[i * points + j] = i === j ? Math.sqrt(sum) : sum / R[j * points + j];
      }
      return matrices.map(M => {
        let total = 0;
        for (let k = 0; k < width; k += 1) for (let i = 0; i < points; i += 1) {
          let sum = M[k * points + i];
          for (let j = 0; j < i; j += 1) sum -= R[i * points + j] * row[j];
          row[i] = sum / R[i * points + i];
          total += row[i] * row[i];
        }
        return total;
      });
    }

    // As stable_energies in theory.hamiltonian, without bias; kinetic, potential and total in units of Lt / 2.
    function energies(A, next, width, points, step, depth, gamma) {
      const speed = next.map((value, k) => (value - A[k]) / step);
      const [moved, cost] = stableNorms(A, [speed, A], width, points, gamma), kinetic = moved / depth ** 2;
      return { kinetic, potential: -cost, total: kinetic - cost };
    }

    // A leaky ResNet without bias, of equal steps, as methods.networks has it: its inputs are one-hot points, padded with
    // spare neurons, its outputs the first neurons. Weights: those of the drawn path, and noise on all of them.
    function network(settings) {
      const { inputs: N, layers: L, depth, noise, gamma } = settings, w = N + settings.spare, step = 1 / L, leak = 1 - step * depth;
      const strength = lam(settings), Y = targets(settings), generator = tools.random(settings.seed), make = n => new Float64Array(n);
      const W = Array.from({ length: L }, () => make(w * w).map(() => noise * depth * Math.sqrt(2 / w) * generator.normal()));
      const A = Array.from({ length: L + 1 }, () => make(w * N)), E = Array.from({ length: L + 1 }, () => make(w * N));  // E = lam B
      const active = make(N);
      for (let i = 0; i < N; i += 1) {
        A[0][i * N + i] = 1;
        for (let l = 0; l < L; l += 1) W[l][i * w + i] += depth + (10 ** (drawn(settings, i, (l + 1) / L) - drawn(settings, i, l / L)) - 1) / step;
      }

      function forward() {
        for (let l = 0; l < L; l += 1) {
          const [from, to, V] = [A[l], A[l + 1], W[l]];
          for (let o = 0; o < w; o += 1) {
            active.fill(0);
            for (let i = 0; i < w; i += 1) {
              const weight = V[o * w + i];
              for (let p = 0; p < N; p += 1) { const value = from[i * N + p]; if (value > 0) active[p] += weight * value; }
            }
            for (let p = 0; p < N; p += 1) to[o * N + p] = leak * from[o * N + p] + step * active[p];
          }
        }
      }

      // The cost |Y - f|^2 / N, and lam times the momenta, -dC/dA of every layer.
      function backward() {
        forward();
        let cost = 0;
        E[L].fill(0);
        for (let o = 0; o < N; o += 1) for (let p = 0; p < N; p += 1) {
          const error = (o === p ? Y[o] : 0) - A[L][o * N + p];
          cost += error * error / N;
          E[L][o * N + p] = 2 / N * error;
        }
        for (let l = L - 1; l >= 0; l -= 1) {
          const [below, above, V, from] = [E[l], E[l + 1], W[l], A[l]];
          for (let i = 0; i < w; i += 1) for (let p = 0; p < N; p += 1) {
            let sum = 0;
            if (from[i * N + p] > 0) for (let o = 0; o < w; o += 1) sum += V[o * w + i] * above[o * N + p];
            below[i * N + p] = leak * above[i * N + p] + step * sum;
          }
        }
        return cost;
      }

      // lam B S' of a layer, entry by entry: what its weights, times lam / Lt, are equal to at a critical point.
      function aligned(l, o, i) {
        let sum = 0;
        for (let p = 0; p < N; p += 1) { const value = A[l][i * N + p]; if (value > 0) sum += E[l + 1][o * N + p] * value; }
        return sum;
      }

      // Gradient descent; the rate is per layer, over its step 1 / L.
      function descend(rate) {
        backward();
        for (let l = 0; l < L; l += 1) for (let o = 0; o < w; o += 1) for (let i = 0; i < w; i += 1) {
          W[l][o * w + i] += rate * (aligned(l, o, i) - strength / depth * W[l][o * w + i]);
        }
      }

      // By layers: sizes of the directions, energies of the path, energy from the momenta -(2 / Lt) H (A_{l-1}, B_l); objective; distance.
      function look() {
        const cost = backward(), path = [], momenta = [];
        let off = 0, size = 0;
        for (let l = 0; l < L; l += 1) {
          path.push(energies(A[l], A[l + 1], w, N, step, depth, gamma));
          let product = 0, square = 0;
          for (let k = 0; k < w * N; k += 1) product += A[l][k] * E[l + 1][k] / strength;
          for (let o = 0; o < w; o += 1) for (let i = 0; i < w; i += 1) {
            const pulled = aligned(l, o, i) / strength, weight = W[l][o * w + i];
            square += pulled * pulled;
            off += (weight - depth * pulled) ** 2;
            size += weight * weight;
          }
          momenta.push(square - 2 * product);
        }
        const of = name => path.map(one => one[name]);
        return {
          cost, objective: cost + strength / (2 * depth) * step * size, distance: Math.sqrt(off / size), momenta,
          kinetic: of("kinetic"), potential: of("potential"), total: of("total"),
          sizes: Array.from({ length: N }, (_, i) => A.map(one => one[i * N + i])),
        };
      }
      return { W, A, E, look, descend };
    }

    const LOOKS = 200;
    function start(settings) {
      const every = Math.max(1, Math.round(settings.steps / LOOKS));
      function* prepare() { return { every, first: network({ ...settings, noise: 0 }).look(), objective: network(settings).look().objective }; }
      function* records() {
        const trained = network(settings);
        for (let done = 0; done <= settings.steps; done += 1) {
          if (done % every === 0) {
            const seen = trained.look();
            if (!(seen.objective < 1e6)) return;  // diverged
            yield { step: done, ...seen };
          } else yield null;
          trained.descend(settings.rate);
        }
      }
      return { prepare, records };
    }
    start.theory = { scalarPath, cheapest, targets, drawn, stableNorms, energies, lam };
    start.network = network;
    return start;
  }
  const { theory, network } = engine(repdyn.training.kernel);
  const { scalarPath, cheapest, targets, drawn, lam } = theory;

  const GREEN = "#009e73", PURPLE = "#9a4f96", BLACK = "#1a1e24", PARTS = { kinetic: GREEN, potential: PURPLE, total: BLACK };
  const HANDLES = ["b1", "b2", "b3", "o1", "o2", "o3"], PLACES = [1 / 3, 2 / 3, 1], CRITICAL = 0.1;
  const fixed = value => value.toFixed(2).replace("-", "\u2212");
  const directions = count => `${count} direction${count === 1 ? "" : "s"}`;

  // The geodesics of a state, one for each direction, and their sums.
  function predicted(state) {
    const ways = targets(state).map(target => cheapest(target, state.depth, lam(state), state.inputs));
    const sum = value => ways.reduce((total, way) => total + value(way), 0);
    return { ways, total: sum(({ u }) => u * u - 2 * u), kept: sum(({ kept }) => Number(kept)), objective: sum(({ cost }) => cost) };
  }

  // Energies of the geodesics at a place, in units of Lt / 2: stable ones, and the total, which is exact.
  function predictedEnergies({ ways, total }, { depth, gamma }, p) {
    let cost = 0, kinetic = 0;
    ways.forEach(({ u, end }) => {
      const square = scalarPath(u, end, depth, p)[0] ** 2, share = square / (square + gamma);
      cost += share;
      kinetic += (u - 1) ** 2 * share;
    });
    return { kinetic, potential: -cost, total };
  }

  // What a reader has drawn, without noise: sizes of the directions and energies at every layer.
  function start(state) {
    const { inputs: n, layers: L } = state, make = l => Float64Array.from({ length: n * n }, (_, k) => (k % (n + 1) ? 0 : 10 ** drawn(state, k / (n + 1), l / L)));
    const A = Array.from({ length: L + 1 }, (_, l) => make(l));
    const all = A.slice(1).map((next, l) => theory.energies(A[l], next, n, n, 1 / L, state.depth, state.gamma));
    return { sizes: Array.from({ length: n }, (_, i) => A.map(one => one[i * (n + 1)])), ...Object.fromEntries(Object.keys(PARTS).map(name => [name, all.map(one => one[name])])) };
  }

  function build(root) {
    const { COLORS, Panel, panels, grid } = repdyn.tools, box = panels(root), KEPT = COLORS.corrected, LOST = COLORS.printed, height = 250;
    box.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(100%, 340px), 1fr))";
    const path = new Panel(box, { title: "The path: log\u2081\u2080 of the directions to keep (blue) and to forget (orange-red). Wide: geodesic", label: "Sizes of the directions along the network: geodesic, network, handles to drag", x: [0, 1], y: [-3.5, 1], xlabel: "position p", height });
    const energy = new Panel(box, { title: "Kinetic (green) + potential (purple) = total energy (black), in dimensions. Wide: geodesic", label: "Energies along the network in units of half the effective depth: geodesic and network", x: [0, 1], y: [-4.6, 4], xlabel: "position p", height });
    const totals = new Panel(box, { title: "Total energy of all layers: one value if conserved. Wide: predicted", label: "Largest and least total energy over layers against training steps", x: [0, 1], y: [-4.6, 1], xlabel: "thousands of training steps", height });
    const losses = new Panel(box, { title: "Objective, loss plus weight decay. Wide: predicted least", x: [0, 1], y: [0, 1], xlabel: "thousands of training steps", height });
    const wide = { width: 8, opacity: 0.28 };
    const places = HANDLES.map((name, k) => path.handle([PLACES[k % 3], 0], k < 3 ? KEPT : LOST, `Path of the directions to ${k < 3 ? "keep" : "forget"} at ${["one third", "two thirds", "the end"][k % 3]}`, point => {
      const value = Number(Math.max(path.y[0], Math.min(path.y[1], point[1])).toFixed(3));
      root.training.change({ [name]: value });
      return [PLACES[k % 3], root.training.state[name]];
    }));
    path.handles.childNodes.forEach((ring, k) => {  // rings: what lies below stays visible
      Object.entries({ "fill-opacity": 0.15, stroke: k < 3 ? KEPT : LOST, r: 8 }).forEach(([name, value]) => ring.setAttribute(name, value));
    });
    let own = [], bars = null, dots = null;

    function clear({ state, prepared }) {
      const theoryNow = predicted(state), at = grid(0, 1, 160), n = state.inputs;
      path.range([0, 1], [Math.min(-2.2, -0.4343 * state.depth - 0.4, ...HANDLES.map(name => state[name] - 0.3)), 1]);
      [path, energy, totals, losses].forEach(panel => panel.clear());
      theoryNow.ways.forEach(({ u, end }, i) => path.line(at.map(p => [p, Math.log10(scalarPath(u, end, state.depth, p)[0])]), i < state.kept ? KEPT : LOST, wide));
      places.forEach((place, k) => place([PLACES[k % 3], state[HANDLES[k]]]));
      energy.range([0, 1], [-n - 0.6, n]);
      const curves = at.map(p => predictedEnergies(theoryNow, state, p));
      Object.entries(PARTS).forEach(([name, color]) => energy.line(at.map((p, k) => [p, clip(energy, curves[k][name])]), color, wide));
      totals.range([0, state.steps / 1000], [-n - 0.6, Math.max(1, theoryNow.total + 0.5)]);
      totals.line([[0, theoryNow.total], [state.steps / 1000, theoryNow.total]], BLACK, wide);
      bars = totals.line([[0, totals.y[0]]], BLACK, { width: 1.5, opacity: 0.4 });
      losses.range([0, state.steps / 1000], [0, Math.max(1.15 * (prepared ? Math.min(prepared.objective, 4) : 0), 1.6 * theoryNow.objective)]);
      losses.line([[0, theoryNow.objective], [state.steps / 1000, theoryNow.objective]], COLORS.soft, wide);
      dots = losses.dots(BLACK, 1.5);
      own = [];
      drawNetwork(state, start(state));
    }

    const clip = (panel, value) => Math.max(panel.y[0], Math.min(panel.y[1], value));

    function drawNetwork(state, { sizes, ...parts }) {
      const L = state.layers;
      own.forEach(one => one.remove());
      own = sizes.map((size, i) => path.line(size.map((value, l) => [l / L, clip(path, Math.log10(Math.max(value, 1e-300)))]), i < state.kept ? KEPT : LOST, { width: 1.5 }));
      Object.entries(PARTS).forEach(([name, color]) => own.push(energy.line(parts[name].map((value, l) => [(l + 0.5) / L, clip(energy, value)]), color, { width: 1.8 })));
    }

    function draw({ state, records }) {
      if (!records.length) return;
      drawNetwork(state, records.at(-1));
      const height = value => totals.py(clip(totals, value)).toFixed(1);
      bars.setAttribute("d", records.map(({ step, total }) => `M${totals.px(step / 1000).toFixed(1)} ${height(Math.min(...total))}V${height(Math.max(...total))}`).join("") || "M0 0");
      dots(records.map(one => [one.step / 1000, one.objective]));
    }
    return { clear, draw };
  }

  const range = values => [Math.min(...values), Math.max(...values)];
  const between = ([low, high]) => (high - low < 0.01 ? fixed(low) : `${fixed(low)} to ${fixed(high)}`);
  const percent = value => (value < 0.001 ? "below 0.1 %" : `${Number((100 * value).toPrecision(2))} %`);

  // How many directions the network has kept: at its end above half of their targets.
  const keptBy = (state, { sizes }) => targets(state).filter((target, i) => target > 0 && sizes[i].at(-1) > target / 2).length;

  // Largest distance of a layer's total energy from the geodesic's with the same regularizer at the same place.
  const offGeodesic = (state, { total }, now) => Math.max(...total.map((value, l) => {
    const { kinetic, potential } = predictedEnergies(now, state, l / state.layers);
    return Math.abs(value - kinetic - potential);
  }));

  function verdict({ state, records }, now) {
    const last = records.at(-1), kept = keptBy(state, last), off = offGeodesic(state, last, now);
    const near = `The distance from a critical point, |W \u2212 L\u0303BS\u1d40|/|W|, is ${percent(last.distance)}.`;
    if (kept !== now.kept && last.distance < CRITICAL) {
      return `${near} The prediction fails here: training ends in another minimum, which keeps ${kept} instead of ${now.kept} and costs ${repdyn.tools.short(last.objective)} instead of ${repdyn.tools.short(now.objective)}. The theory holds for each minimum; it does not say which one training finds.`;
    }
    if (last.distance >= CRITICAL) {
      return `${near} Training has not come to rest: the data are fitted (loss ${repdyn.tools.short(last.cost)}), but the path is no geodesic yet, and its energy is not conserved. Weight decay, which straightens it, acts at a rate in proportion to the penalty; train longer.`;
    }
    const conserved = Math.max(...last.total.map(value => Math.abs(value - now.total))), least = value => fixed(Math.max(value, 0.01));
    return `${near} The network keeps ${kept}, as predicted. Its total energy is at most ${least(conserved)} from the conserved value, the wide line, which is that of \u03b3 = 0, and at most ${least(off)} from the geodesic's at its own \u03b3.`;
  }

  function says(view) {
    const { state, prepared, records, finished } = view, now = predicted(state), drawnNow = start(state), short = repdyn.tools.short;
    const text = `Predicted from the geodesics, before training: of ${directions(state.inputs)} the network keeps ${now.kept}; its total energy is ${fixed(now.total)} at every layer, objective ${short(now.objective)}. `
      + `The path drawn: total energy ${between(range(drawnNow.total))} over layers${prepared ? `, objective ${short(prepared.first.objective)}` : ""}. `;
    if (!records.length && !finished) return `${text}Press Play: a network that starts on this path, with noise on its weights, descends.`;
    if (!records.length) return `${text}Training diverges at once; lower the learning rate.`;
    const last = records.at(-1), moment = `Step ${last.step}: loss ${short(last.cost)}, objective ${short(last.objective)}; total energy of the path ${between(range(last.total))}, from the momenta ${between(range(last.momenta))}. `;
    if (!finished) return text + moment;
    if (last.step < state.steps - prepared.every) return `${text}${moment}Training diverges; lower the learning rate.`;
    return text + moment + verdict(view, now);
  }

  const FIRST = {
    inputs: 4, kept: 2, target: 1, ratio: 1, depth: 7, layers: 20, penalty: 0.02, rate: 1, steps: 6000, noise: 0.1, spare: 2, gamma: 0.01,
    b1: -0.4, b2: 0.4, b3: 0, o1: 0.2, o2: -0.5, o3: -1,
  };
  const presets = [
    { label: "Bottleneck: four directions in, two kept", values: {} },
    { label: "Shallow: nothing is forgotten in time", values: { depth: 2 } },
    { label: "Rank jump: a weak target is dropped", values: { ratio: 0.4, penalty: 0.1 } },
    { label: "Show me the failure: the paper's penalty", values: { penalty: 0.001 } },
    { label: "Another minimum: one too many kept", values: { ratio: 0.25 } },
    { label: "Another minimum: started too low, all lost", values: { b1: -0.8, b2: -1.7, b3: -2.6 } },
  ];
  const controls = [
    { name: "depth", label: "effective depth", low: 0.5, high: 9, step: 0.1 },
    { name: "penalty", label: "penalty: lam times the effective depth", low: 0.0001, high: 0.3, logarithmic: true },
    { name: "inputs", label: "directions of the inputs", low: 2, high: 6, step: 1 },
    { name: "kept", label: "directions of the outputs", low: 1, high: 6, step: 1 },
    { name: "target", label: "size of the first output", low: 0.1, high: 1.5, step: 0.05 },
    { name: "ratio", label: "each next output, over the one before", low: 0.1, high: 1, step: 0.05 },
    { name: "layers", label: "layers", choices: [10, 20, 40] },
    { name: "steps", label: "training steps", choices: [2000, 6000, 20000, 100000] },
    { name: "rate", label: "learning rate of a layer, over its step", low: 0.05, high: 2, logarithmic: true },
    { name: "noise", label: "noise on the weights at the start", low: 0, high: 0.5, step: 0.01 },
    { name: "spare", label: "spare neurons", low: 0, high: 6, step: 1 },
    { name: "gamma", label: "regularizer \u03b3 of the energies", low: 0.0001, high: 1, logarithmic: true },
  ];

  // As scalar_geodesic in repdyn.leaky_resnets.theory.scalar_geodesic: scaled Hamiltonian, least cost of identity, length of the path, c = sup B^2.
  function scalarGeodesic(u, end, depth, gamma) {
    const [first, last] = [0, 1].map(p => scalarPath(u, end, depth, p)[0]), least = Math.min(first, last) ** 2;
    return {
      scaledHamiltonian: 2 * u - u * u,
      leastCost: least / (least + gamma),
      length: Math.abs(Math.asinh(last / Math.sqrt(gamma)) - Math.asinh(first / Math.sqrt(gamma))),
      c: u * u / least,
    };
  }

  // Theorem 4 for the geodesic: what is bounded, the upper bound, the lower one as printed and with the root over c too.
  function theoremFour(u, end, depth, gamma) {
    const { scaledHamiltonian, leastCost, length, c } = scalarGeodesic(u, end, depth, gamma);
    const lower = term => -((length / depth + term) ** 2);
    return { quantity: scaledHamiltonian - leastCost, upper: gamma * c, lowerAsPrinted: lower(Math.sqrt(gamma) * c), lower: lower(Math.sqrt(gamma * c)) };
  }

  function closedForm(root) {
    const { COLORS, Panel, sliders, panels, said, grid, short } = repdyn.tools;
    const values = sliders(root, [
      { name: "u", label: "conserved product u = A B", low: -3, high: 3, value: -1, step: 0.05 },
      { name: "depth", label: "effective depth", low: 0.02, high: 20, value: 0.05, logarithmic: true },
      { name: "end", label: "end of the path A₁", low: 0.1, high: 100, value: 10, logarithmic: true },
      { name: "gamma", label: "regularizer γ", low: 0.001, high: 1000, value: 100, logarithmic: true },
    ], draw);
    const box = panels(root), say = said(root);
    const path = new Panel(box, { title: "log₁₀ A (blue) and log₁₀ |B| (orange-red)", x: [0, 1], y: [-2, 2], xlabel: "position p" });
    const bounds = new Panel(box, { title: "Room above the lower bound: printed (orange-red), corrected (blue)", x: [-1.7, 1.3], y: [-1, 1], xlabel: "log₁₀ effective depth" });

    function draw() {
      const { u, depth, end, gamma } = values, places = grid(0, 1, 120), log = number => Math.log10(Math.abs(number));
      const pairs = places.map(p => scalarPath(u, end, depth, p)), logs = pairs.flat().filter(number => number !== 0).map(log);
      path.range([0, 1], [Math.min(...logs) - 0.3, Math.max(...logs) + 0.3]);
      path.clear();
      path.line(places.map((p, k) => [p, log(pairs[k][0])]), COLORS.h);
      if (u) path.line(places.map((p, k) => [p, log(pairs[k][1])]), COLORS.y, { dash: "6 3" });
      const depths = grid(-1.7, 1.3, 150), all = depths.map(exponent => theoremFour(u, end, 10 ** exponent, gamma)), now = theoremFour(u, end, depth, gamma);
      const room = bound => all.map(one => one.quantity - one[bound]), highest = 3 * Math.max(Math.abs(now.quantity - now.lower), Math.abs(now.quantity - now.lowerAsPrinted), 1e-6);
      bounds.range([-1.7, 1.3], [-highest, highest]);
      bounds.clear();
      bounds.line([[-1.7, -highest], [1.3, -highest], [1.3, 0], [-1.7, 0]], "none", { fill: COLORS.y, opacity: 0.1 });
      bounds.words([1.3, -0.95 * highest], "violated", COLORS.soft, "end");
      bounds.line(depths.map((exponent, k) => [exponent, room("lowerAsPrinted")[k]]), COLORS.printed, { dash: "6 3" });
      bounds.line(depths.map((exponent, k) => [exponent, room("lower")[k]]), COLORS.corrected);
      bounds.dot([Math.log10(depth), now.quantity - now.lowerAsPrinted], COLORS.printed, 5);
      bounds.dot([Math.log10(depth), now.quantity - now.lower], COLORS.corrected, 5);
      const verdict = bound => `${short(bound)}, which ${now.quantity >= bound ? "holds" : "is violated"}`;
      say(`Energy minus least cost of identity: ${short(now.quantity)}. Lower bound as printed: ${verdict(now.lowerAsPrinted)}; corrected: ${verdict(now.lower)}. Upper bound: ${short(now.upper)}.`);
    }
    draw();
  }

  function widget(root) {
    repdyn.stage(root, { name: "leaky_resnets", defaults: FIRST, controls, handles: HANDLES.map(name => ({ name, low: -10, high: 1 })), presets, engine, build, says });
    const below = root.appendChild(document.createElement("div"));
    below.className = "beside";
    below.appendChild(document.createElement("h3")).textContent = "One neuron in closed form: what Theorem 4 bounds";
    closedForm(below);
  }

  repdyn.theory.leaky_resnets = { ...theory, scalarGeodesic, theoremFour, predicted, predictedEnergies, start, network };
  repdyn.widgets.leaky_resnets = widget;
})(window.repdyn);
