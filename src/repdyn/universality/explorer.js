"use strict";
// van Rossem and Saxe, When Representations Align: a network trained on two points, and the closed form of equation (7).
(repdyn => {
  // Theory, fit and network; its own text runs in the worker too, so it uses nothing from outside but the kernel.
  function engine(tools) {
    // (1 - e^{-x})/x, 1 at x = 0.
    const phi = x => (x === 0 ? 1 : -Math.expm1(-x) / x);

    // e^{-x} (cosh x + sinh(x) m/lam), fall = e^{-2x}, without cancellation where m is negative.
    function diagonal(m, D, lam, fall) {
      const small = lam > 0 ? D * D / (lam * (lam + Math.abs(m))) : 1;
      const up = m < 0 ? small : 2 - small;
      return (up + (2 - up) * fall) / 2;
    }

    // As effective_solution in repdyn.universality.theory.effective: [h, y, w] at time t.
    function effectiveSolution(t, h0, y0, w0, etaH, etaY, dx2, dy2) {
      const D = Math.sqrt(dy2), a = Math.sqrt(etaH * dx2), b = Math.sqrt(etaY), g = a * b / 2, s = Math.sqrt(h0) / a;
      const p = D > 0 ? (y0 - w0) / D : 0, r = p / (b * Math.sqrt(h0)), q2 = Math.max(y0 - p * p, 0) / (h0 * etaY);
      const m = g * (s * s - r * r - q2), lam = Math.hypot(D, m);
      const fall = Math.exp(-2 * g * lam * t), grown = g * t * phi(2 * g * lam * t);
      const S = diagonal(m, D, lam, fall) * s + grown * D * r, R = diagonal(-m, D, lam, fall) * r + grown * D * s;
      const down = m < 0 ? Math.exp(2 * g * (Math.abs(m) - lam) * t) : fall;
      const O2 = q2 * Math.exp(-2 * g * (lam + m) * t);
      const integral = (s * s + r * r) * t * phi(4 * g * lam * t) + grown ** 2 / g * (m * (s * s - r * r) + 2 * D * s * r)
        + q2 * t * down * phi(2 * g * Math.abs(m) * t);
      const n = fall + 2 * g * g * integral, h = a * a * S * S / n, y = h * etaY * (R * R + O2) / n;
      return [h, y, y - D * a * b * S * R / n];
    }

    // Equation (9) without the mean output: (w + (dy2 - y)/2)/4.
    const effectiveLoss = (y, w, dy2) => (w + (dy2 - y) / 2) / 4;

    // As final_distance in repdyn.universality.theory.final, dx and dy not squared: A_high/2 + sqrt(A_high^2/4 + A_low^2).
    function finalDistance(h0, y0, dx, dy, rho) {
      const high = h0 - rho * dx * dx * y0 / h0, low = Math.sqrt(rho) * dx * dy;
      const root = Math.sqrt(high * high / 4 + low * low);
      return high < 0 ? low * low / (root - high / 2) : high / 2 + root;
    }

    // Which of its two lengths the final distance (10) comes from: the targets', the start's, or neither.
    function regime(h0, y0, dx, dy, rho) {
      const high = h0 - rho * dx * dx * y0 / h0, low = Math.sqrt(rho) * dx * dy;
      return Math.abs(high) <= low ? "rich" : high > 0 ? "lazy" : "collapsing";
    }

    // As explained_variance in methods.fit: 1 - residual over spread.
    function explainedVariance(measured, theory) {
      const mean = measured.reduce((sum, value) => sum + value, 0) / measured.length;
      const sum = values => values.reduce((total, value) => total + value * value, 0);
      return 1 - sum(measured.map((value, k) => theory[k] - value)) / sum(measured.map(value => value - mean));
    }

    // As fit_effective_rates in methods.fit: rates etaH, etaY that minimize (49) over frames [h, y, w], and whether they
    // lie on the border of the search, where no rates fit; from the best cells of a grid, polished by Levenberg and Marquardt in the logarithms.
    function fitRates(frames, dx2, dy2, every) {
      const [h0, y0, w0] = frames[0], last = frames.length - 1, FAILED = 1e3, BOX = Math.log(1e4);
      const root = Math.sqrt(every);
      const residual = (logs, places) => places.flatMap(k => {
        const at = effectiveSolution(k * every, h0, y0, w0, Math.exp(logs[0]), Math.exp(logs[1]), dx2, dy2);
        return at.map((value, part) => {
          const off = root * (value - frames[k][part]);
          return Number.isNaN(off) ? FAILED : Math.max(-FAILED, Math.min(FAILED, off));
        });
      });
      const squares = values => values.reduce((sum, value) => sum + value * value, 0);
      const all = frames.map((_, k) => k), few = [...new Set(Array.from({ length: 50 }, (_, k) => Math.floor(k * last / 49)))];
      const length = Math.sqrt(dx2 * dy2), ratio = Math.max(frames[last][0] ** 2 / length ** 2, 1e-12);
      const tilts = [1, 0.03, 0.2, 5, 30].map(factor => Math.log(ratio * factor) / 2);
      const means = Array.from({ length: 40 }, (_, k) => Math.log(2 * 0.3 * 1e4 ** (k / 39) / (last * every * length)));
      const cells = means.flatMap((mean, r) => tilts.map((tilt, c) => ({ r, c, logs: [mean + tilt, mean - tilt] })));
      cells.forEach(cell => { cell.cost = squares(residual(cell.logs, few)); });
      const middle = means.reduce((sum, value) => sum + value, 0) / means.length, center = [middle + tilts[0], middle - tilts[0]];
      let best = null, left = cells;
      for (let start = 0; start < 4; start += 1) {
        const cell = left.reduce((least, one) => (one.cost < least.cost ? one : least));
        left = left.filter(one => one.c !== cell.c || Math.abs(one.r - cell.r) > 2);
        const found = polish(cell.logs);
        if (!best || found.cost < best.cost) best = found;
      }
      const [etaH, etaY] = best.logs.map(Math.exp);
      return { etaH, etaY, atBound: best.logs.some((value, k) => Math.abs(value - center[k]) > BOX - 0.01) };

      function polish(start) {
        const NUDGE = 1e-5;
        let logs = start, off = residual(logs, all), cost = squares(off), damping = 1e-3;
        for (let round = 0; round < 100; round += 1) {
          const slopes = [0, 1].map(part => {
            const [up, down] = [NUDGE, -NUDGE].map(nudge => residual(logs.map((value, k) => (k === part ? value + nudge : value)), all));
            return up.map((value, k) => (value - down[k]) / (2 * NUDGE));
          });
          const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0), [p, q] = slopes;
          const [pp, pq, qq, gp, gq] = [dot(p, p), dot(p, q), dot(q, q), dot(p, off), dot(q, off)];
          let better = false;
          while (!better && damping <= 1e8) {
            const a = pp + damping * Math.max(pp, 1e-300), d = qq + damping * Math.max(qq, 1e-300), det = a * d - pq * pq;
            const step = [-(d * gp - pq * gq) / det, -(a * gq - pq * gp) / det];
            const tried = logs.map((value, k) => Math.max(center[k] - BOX, Math.min(center[k] + BOX, value + Math.max(-2, Math.min(2, step[k])))));
            const newOff = residual(tried, all), newCost = squares(newOff);
            better = newCost < cost;
            if (!better) { damping *= 4; continue; }
            const gain = cost - newCost;
            [logs, off, cost, damping] = [tried, newOff, newCost, damping / 5];
            if (gain <= 1e-13 * cost) return { logs, cost };
          }
          if (!better) break;
        }
        return { logs, cost };
      }
    }

    // The data of section B.1: inputs -1 and -1 + dx, targets 0.6 and 0.6 + dy. As train_two_points measures: h at the
    // hidden layer halfway, y and w of the outputs, loss of equation (1).
    function network({ hidden, units, nonlinearity, connections, gain, rate, dx2, dy2, side }, seed) {
      const X = Float64Array.of(-1, -1 + Math.sqrt(dx2)), Y = Float64Array.of(0.6, 0.6 + Math.sqrt(dy2)), derivative = new Float64Array(2);
      const sizes = [1, ...Array(hidden).fill(units), 1], net = tools.perceptron(sizes, nonlinearity, 2, { skip: connections === "skip" }), D = Y[1] - Y[0];
      net.draw(gain, tools.random(seed));
      const drawn = net.forward(X);
      if (side !== "as drawn" && (drawn[1] - drawn[0] > 0) !== (side === "along the target")) {
        const end = net.weights.at(-1);
        for (let i = 0; i < end.length; i += 1) end[i] = -end[i];
      }
      function look() {
        const out = net.forward(X), dy = out[1] - out[0], middle = net.after[Math.floor(hidden / 2) + 1];
        let h = 0;
        for (let i = 0; i < units; i += 1) h += (middle[units + i] - middle[i]) ** 2;
        return { h, y: dy * dy, w: dy * dy - dy * D, loss: ((out[0] - Y[0]) ** 2 + (out[1] - Y[1]) ** 2) / 4 };
      }
      function step() {
        const out = net.forward(X);
        derivative[0] = (out[0] - Y[0]) / 2;
        derivative[1] = (out[1] - Y[1]) / 2;
        net.backward(derivative);
        net.descend(rate);
      }
      return { net, look, step };
    }

    const LIMIT = 6000, LEARNED = 1e-4, LOOKS = 200;  // epochs at most; loss at which a run counts as over; records
    function start(settings) {
      let every = 1, epochs = 1;
      function* prepare() {
        const other = settings.rates === "another network", rehearsed = network(settings, settings.seed + (other ? 1000 : 0));
        const frames = [], bounds = { low: 0, high: settings.dy2, loss: 0 };  // of what the network will show
        let over = LIMIT;
        for (let epoch = 0; epoch <= Math.min(LIMIT, 1.3 * over); epoch += 1) {
          const { h, y, w, loss } = rehearsed.look();
          if (!Number.isFinite(loss) || loss > 1e6) return { diverged: true, epochs: epoch };
          frames.push([h, y, w]);
          Object.assign(bounds, { low: Math.min(bounds.low, w), high: Math.max(bounds.high, h, y), loss: Math.max(bounds.loss, effectiveLoss(y, w, settings.dy2)) });
          if (loss < LEARNED && over === LIMIT) over = Math.max(epoch, 20);
          rehearsed.step();
          yield;
        }
        epochs = frames.length - 1;
        every = Math.max(1, Math.ceil(epochs / LOOKS));
        const { h: h0, y: y0, w: w0 } = network(settings, settings.seed).look();
        if (!(h0 > 0)) return { dead: true };
        const fit = fitRates(frames.filter((_, k) => k % every === 0), settings.dx2, settings.dy2, every), end = frames.at(-1);
        const converged = 2 * end[2] - end[1] + settings.dy2 <= 0.16 * Math.max(2 * frames[0][2] - frames[0][1] + settings.dy2, settings.dy2);
        return { h0, y0, w0, ...fit, every, epochs, converged, bounds };
      }
      function* records() {
        const trained = network(settings, settings.seed);
        for (let epoch = 0; epoch <= epochs; epoch += 1) {
          yield epoch % every === 0 ? { epoch, ...trained.look() } : null;
          trained.step();
        }
      }
      return { prepare, records };
    }
    start.theory = { effectiveSolution, effectiveLoss, finalDistance, regime, fitRates, explainedVariance };
    start.network = network;
    return start;
  }
  const { theory, network } = engine(repdyn.training.kernel);
  const { effectiveSolution, effectiveLoss, finalDistance, regime, explainedVariance } = theory;
  const PARTS = ["h", "y", "w"];

  function predicted({ state, prepared }, t) {
    return effectiveSolution(t, prepared.h0, prepared.y0, prepared.w0, prepared.etaH, prepared.etaY, state.dx2, state.dy2);
  }

  // Explained variance of h, y, w over the records so far.
  function agreement(view) {
    const curves = view.records.map(({ epoch }) => predicted(view, epoch));
    return PARTS.map((name, part) => explainedVariance(view.records.map(one => one[name]), curves.map(curve => curve[part])));
  }

  function build(root) {
    const { COLORS, Panel, panels } = repdyn.tools, box = panels(root), xlabel = "epoch";
    const distances = new Panel(box, { title: "h (blue), y (orange-red), w (green): lines theory, dots network", label: "Squared distances against epochs, theory and network", x: [0, 1], y: [0, 1], xlabel });
    const losses = new Panel(box, { title: "Error of the pair: line theory, dots network", x: [0, 1], y: [0, 1], xlabel });
    let dots = [];
    function clear(view) {
      const { prepared, state } = view, bounds = prepared && prepared.bounds;
      [distances, losses].forEach(panel => panel.clear());
      dots = [];
      if (!prepared || !(prepared.etaH > 0)) return;
      const times = repdyn.tools.grid(0, prepared.epochs, 240), states = times.map(t => predicted(view, t));
      const low = Math.min(bounds.low, ...states.map(one => one[2])), high = Math.max(bounds.high, ...states.map(one => Math.max(...one)));
      const loss = states.map(([, y, w]) => effectiveLoss(y, w, state.dy2));
      distances.range([0, prepared.epochs], [1.15 * low, 1.1 * high]);
      losses.range([0, prepared.epochs], [0, 1.1 * Math.max(bounds.loss, ...loss)]);
      PARTS.forEach((name, part) => distances.line(times.map((t, k) => [t, states[k][part]]), COLORS[name], { dash: ["", "6 3", "2 3"][part] }));
      losses.line(times.map((t, k) => [t, loss[k]]), COLORS.soft);
      dots = PARTS.map(name => distances.dots(COLORS[name]));
      dots.push(losses.dots(COLORS.soft));
    }
    function draw({ records, state }) {
      const shown = records.filter((_, k) => k % 4 === 0 || k === records.length - 1);  // the line stays visible between
      PARTS.forEach((name, part) => dots[part] && dots[part](shown.map(one => [one.epoch, one[name]])));
      if (dots[3]) dots[3](shown.map(({ epoch, y, w }) => [epoch, effectiveLoss(y, w, state.dy2)]));
    }
    return { clear, draw };
  }

  function says(view) {
    const { state, prepared, records, finished } = view, short = repdyn.tools.short;
    const joined = state.connections === "skip" ? " with skip connections" : "";
    const who = `${state.hidden} hidden layer${state.hidden > 1 ? "s" : ""} of ${state.units}${joined}, ${state.nonlinearity}, gain ${short(state.gain)}, seed ${state.seed}`;
    if (!prepared) return `${who}: fitting the two rates of the theory.`;
    if (prepared.diverged) return `${who}: training diverges after ${prepared.epochs} epochs; lower the learning rate.`;
    if (prepared.dead) return `${who}: both inputs have the same representation (no unit is active), so there is nothing to predict.`;
    const rho = prepared.etaH / prepared.etaY, lengths = [prepared.h0, prepared.y0, Math.sqrt(state.dx2), Math.sqrt(state.dy2), rho];
    const final = finalDistance(...lengths), ways = { rich: "rich, set by the targets", lazy: "lazy, as it started", collapsing: "below its start, neither rich nor lazy" };
    const from = state.rates === "this run" ? "this run, computed ahead" : "another network";
    const text = `${who}. The lines are the closed form from this start; its two rates, ${short(prepared.etaH)} and ${short(prepared.etaY)} per epoch, are fitted to ${from}, equation (49)${prepared.atBound ? ", which ends at the border of its search: no rates fit" : ""}. `
      + `Predicted final h: ${short(final)}, ${short(final / prepared.h0)} times the start (${ways[regime(...lengths)]}). `;
    if (records.length < 3) return `${text}Press Play to train.`;
    const last = records.at(-1), shares = agreement(view), worst = shares.indexOf(Math.min(...shares));
    const now = `Epoch ${last.epoch}: h = ${short(last.h)}, y = ${short(last.y)}, w = ${short(last.w)}, loss ${short(last.loss)}. Explained variance so far: h ${short(shares[0])}, y ${short(shares[1])}, w ${short(shares[2])}. `;
    if (!finished) return text + now;
    if (!prepared.converged) return `${text}${now}The run is still on its plateau, where a fit means nothing: undecided.`;
    return `${text}${now}The theory explains ${PARTS[worst]} least${shares[worst] < 0.5 ? ": less than half of its variance" : ""}.`;
  }

  const DEEP = { hidden: 6, units: 30, nonlinearity: "leaky relu", connections: "dense", gain: 1, rate: 0.01, dx2: 1, dy2: 0.5, side: "as drawn", rates: "this run" };
  const presets = [
    { label: "Rich: six layers", values: {} },
    { label: "Rich: small gain, two layers", values: { hidden: 2, units: 50, gain: 0.35, seed: 2 } },
    { label: "Lazy: large gain, a seed that fits (1 and 2 fail)", values: { hidden: 2, units: 50, gain: 3, rate: 0.001, nonlinearity: "tanh", seed: 3 } },
    { label: "Opposed start: h through 0 (seed 2 of 3)", values: { hidden: 1, units: 1, gain: 0.5, rate: 0.05, nonlinearity: "none", side: "against the target", seed: 2 } },
    { label: "Show me the failure: gain 1.5", values: { hidden: 4, units: 50, gain: 1.5, rate: 0.002 } },
    { label: "Skip connections, small gain", values: { hidden: 12, connections: "skip", gain: 0.2 } },
    { label: "Failure of w alone: linear", values: { nonlinearity: "none" } },
  ];
  const controls = [
    { name: "nonlinearity", label: "activation", choices: ["none", "relu", "leaky relu", "tanh", "elu", "swish"] },
    { name: "connections", label: "connections", choices: ["dense", "skip"] },
    { name: "hidden", label: "hidden layers", low: 1, high: 20, step: 1 },
    { name: "units", label: "units per layer", low: 1, high: 60, step: 1 },
    { name: "gain", label: "gain of the initial weights", low: 0.05, high: 3, logarithmic: true },
    { name: "rate", label: "learning rate", low: 0.0002, high: 0.2, logarithmic: true },
    { name: "dx2", label: "squared input distance", low: 0.1, high: 4, logarithmic: true },
    { name: "dy2", label: "squared target distance", low: 0.1, high: 4, logarithmic: true },
    { name: "side", label: "start of the outputs", choices: ["as drawn", "along the target", "against the target"] },
    { name: "rates", label: "rates fitted to", choices: ["this run", "another network"] },
  ];

  repdyn.theory.universality = { ...theory, network };
  repdyn.widgets.universality = root => repdyn.stage(root, { name: "universality", defaults: DEEP, controls, presets, engine, build, says });
})(window.repdyn);
