"use strict";
// Chen, effective gradient flow: a ReLU layer in the plane descends beside the flow of Theorem 3.2, as printed and as corrected.
(repdyn => {
  // Theory and layer; its own text runs in the worker too, so it uses nothing from outside but the kernel.
  function engine(tools) {
    const FREE = "weights and biases, free", TIME = 8, LOOKS = 240, FINE = 7 * LOOKS;  // flow time, records, steps of the theory
    const rotation = turn => [[Math.cos(turn), -Math.sin(turn)], [Math.sin(turn), Math.cos(turn)]];
    const apply = (A, x) => [A[0][0] * x[0] + A[0][1] * x[1], A[1][0] * x[0] + A[1][1] * x[1]];
    const back = (A, x) => [A[0][0] * x[0] + A[1][0] * x[1], A[0][1] * x[0] + A[1][1] * x[1]];
    const determinant = A => A[0][0] * A[1][1] - A[0][1] * A[1][0];
    function inverse(A) {
      const d = determinant(A);
      return [[A[1][1] / d, -A[0][1] / d], [-A[1][0] / d, A[0][0] / d]];
    }

    // As truncation_map_of_weights in repdyn.truncation_flow.theory.truncation: a layer pulled back by invertible weights.
    function truncationOfWeights(x, W, beta) {
      const u = apply(W, [x[0] + beta[0], x[1] + beta[1]]), image = apply(inverse(W), [Math.max(u[0], 0), Math.max(u[1], 0)]);
      return [image[0] - beta[0], image[1] - beta[1]];
    }

    // As truncation_map there, R given by its angle.
    const truncationMap = (x, turn, beta) => truncationOfWeights(x, rotation(turn), beta);

    // As effective_gradient in repdyn.truncation_flow.theory.separated, in the plane: dR/ds = Omega R is turn' = Omega_21.
    // M = (u b' + b u' - u u')/2; the printed one lacks u u'.
    function effectiveGradient(X, turn, beta, label, formula) {
      const c = Math.cos(turn), s = Math.sin(turn), n = X.length, missing = formula === "corrected" ? 1 : 0;
      const p = beta[0] + label[0], q = beta[1] + label[1], b0 = c * p - s * q, b1 = s * p + c * q;
      let omega = 0, cost = 0, J0 = 0, J1 = 0;
      for (let k = 0; k < n; k += 1) {
        const x = X[k][0] + beta[0], y = X[k][1] + beta[1], u0 = c * x - s * y, u1 = s * x + c * y;
        const H0 = u0 > 0 ? 1 : 0, H1 = u1 > 0 ? 1 : 0;
        omega += (H1 - H0) * (u1 * b0 + b1 * u0 - missing * u1 * u0) / 2 / n;
        J0 += H0 / n;
        J1 += H1 / n;
        cost += ((H0 * u0 - b0) ** 2 + (H1 * u1 - b1) ** 2) / 2 / n;
      }
      const f0 = (1 - J0) * b0, f1 = (1 - J1) * b1;
      return { beta: [-(c * f0 + s * f1), -(-s * f0 + c * f1)], turn: omega, cost };
    }

    // The flow from a start by the midpoint rule: states [{ time, turn, beta, cost }], as many as asked for, evenly spaced.
    function flow(X, turn, beta, label, formula, { time = TIME, steps = FINE, looks = LOOKS } = {}) {
      const path = [], step = time / steps, every = steps / looks;
      for (let k = 0; k <= steps; k += 1) {
        const here = effectiveGradient(X, turn, beta, label, formula);
        if (k % every === 0) path.push({ time: k * step, turn, beta, cost: here.cost });
        const middle = effectiveGradient(X, turn + step / 2 * here.turn, [beta[0] + step / 2 * here.beta[0], beta[1] + step / 2 * here.beta[1]], label, formula);
        turn += step * middle.turn;
        beta = [beta[0] + step * middle.beta[0], beta[1] + step * middle.beta[1]];
      }
      return path;
    }

    // How many points have the pattern 1[u > 0] = (1, 1), which the cone holds; one of (1, 0) and (0, 1); (0, 0).
    function sectors(X, W, beta) {
      const counts = { inside: 0, partly: 0, truncated: 0 };
      X.forEach(x => {
        const u = apply(W, [x[0] + beta[0], x[1] + beta[1]]);
        counts[u[0] > 0 && u[1] > 0 ? "inside" : u[0] > 0 || u[1] > 0 ? "partly" : "truncated"] += 1;
      });
      return counts;
    }

    // Points uniform in a disc, and what else an experiment starts from.
    function experiment({ points, spread, turn, seed, cx, cy, lx, ly, ax, ay }) {
      const generator = tools.random(seed), RADIUS = 0.36;  // of size 1
      const X = Array.from({ length: points }, () => {
        const length = spread * RADIUS * Math.sqrt(generator.uniform()), angle = 2 * Math.PI * generator.uniform();
        return [cx + length * Math.cos(angle), cy + length * Math.sin(angle)];
      });
      return { X, turn: turn * Math.PI / 180, beta: [-ax, -ay], label: [lx, ly] };
    }

    // x -> R'relu(R (x + beta)) - beta, differentiated through its two products; a step ends on the nearest rotation.
    function alignedLayer({ X, turn, beta, label }) {
      let R = rotation(turn), offset = [...beta];
      function step(rate) {
        const G = [[0, 0], [0, 0]], g = [0, 0];
        X.forEach(x => {
          const m = [x[0] + offset[0], x[1] + offset[1]], u = apply(R, m), a = u.map(value => (value > 0 ? value : 0));
          const out = back(R, a), error = out.map((value, i) => (value - offset[i] - label[i]) / X.length);
          const raised = apply(R, error), passed = raised.map((value, k) => (u[k] > 0 ? value : 0)), low = back(R, passed);
          for (let k = 0; k < 2; k += 1) {
            for (let i = 0; i < 2; i += 1) G[k][i] += a[k] * error[i] + passed[k] * m[i];
            g[k] += low[k] - error[k];
          }
        });
        const A = (k, i) => G[k][0] * R[i][0] + G[k][1] * R[i][1], omega = (A(0, 1) - A(1, 0)) / 2;  // of G R'
        const moved = R.map((row, k) => row.map((value, i) => value + rate * (k === 0 ? -omega * R[1][i] : omega * R[0][i])));
        R = rotation(Math.atan2(moved[1][0] - moved[0][1], moved[0][0] + moved[1][1]));
        offset = offset.map((value, i) => value - rate * g[i]);
      }
      return { step, now: () => ({ W: R, beta: offset }) };
    }

    // x -> W^-1 (relu(W x + b) - b) with all entries of W and b free, as gradient descent on a layer has it.
    function freeLayer({ X, turn, beta, label }) {
      let W = rotation(turn), b = apply(W, beta);
      function step(rate) {
        const G = [[0, 0], [0, 0]], g = [0, 0], V = inverse(W);
        X.forEach(x => {
          const u = apply(W, x).map((value, k) => value + b[k]), out = apply(V, u.map((value, k) => (value > 0 ? value : 0) - b[k]));
          const f = back(V, out.map((value, i) => (value - label[i]) / X.length)), passed = f.map((value, k) => (u[k] > 0 ? value : 0));
          for (let k = 0; k < 2; k += 1) {
            for (let i = 0; i < 2; i += 1) G[k][i] += passed[k] * x[i] - f[k] * out[i];
            g[k] += passed[k] - f[k];
          }
        });
        W = W.map((row, k) => row.map((value, i) => value - rate * G[k][i]));
        b = b.map((value, k) => value - rate * g[k]);
      }
      return { step, now: () => ({ W, beta: apply(inverse(W), b) }) };
    }

    // What is seen of a layer: cost, turn of the rotation nearest to W, angle between the edges of the cone (radians).
    function look({ X, label }, { W, beta }, before) {
      let cost = 0;
      X.forEach(x => {
        const image = truncationOfWeights(x, W, beta);
        cost += ((image[0] - label[0]) ** 2 + (image[1] - label[1]) ** 2) / 2 / X.length;
      });
      const turn = Math.atan2(W[1][0] - W[0][1], W[0][0] + W[1][1]), full = 2 * Math.PI;
      const rows = W[0][0] * W[1][0] + W[0][1] * W[1][1];
      return { W, beta, cost, turn: turn + full * Math.round((before - turn) / full), opening: Math.atan2(determinant(W), -rows) };
    }

    function network(settings) {
      const start = experiment(settings), layer = (settings.layer === FREE ? freeLayer : alignedLayer)(start);
      let turn = start.turn;
      return { step: layer.step, look() { const seen = look(start, layer.now(), turn); turn = seen.turn; return seen; } };
    }

    function start(settings) {
      const steps = Math.ceil(TIME / settings.rate - 1e-9), every = Math.max(1, Math.ceil(steps / LOOKS));
      function* records() {
        const trained = network(settings);
        for (let step = 0; step <= steps; step += 1) {
          const seen = trained.look();
          if (!(seen.cost < 1e6) || determinant(seen.W) < 1e-6) return;  // W has become singular
          yield step % every === 0 || step === steps ? { step, time: step * settings.rate, ...seen } : null;
          trained.step(settings.rate);
        }
      }
      function* prepare() {  // the axes: what the layer will show
        const all = [];
        for (const seen of records()) { if (seen) all.push(seen); yield; }
        const range = name => [Math.min(...all.map(one => one[name])), Math.max(...all.map(one => one[name]))];
        return { steps, every, bounds: { cost: range("cost"), turn: range("turn"), opening: range("opening") } };
      }
      return { prepare, records };
    }
    start.theory = { truncationMap, truncationOfWeights, effectiveGradient, flow, sectors };
    Object.assign(start, { network, experiment, rotation, inverse, FREE, TIME });
    return start;
  }
  const { theory, network, experiment, rotation, inverse, FREE, TIME } = engine(repdyn.training.kernel);
  const { truncationOfWeights, effectiveGradient, flow, sectors } = theory;
  const ALIGNED = "rotation and bias, aligned", FORMULAS = ["printed", "corrected"], BLACK = "#1a1e24";
  const ENOUGH = 0.05;  // distance to a predicted cost, over the cost at the start, that counts as followed

  // Both flows from the start of a state; kept for the state seen last.
  const kept = { key: "", value: null };
  function predicted(state) {
    const key = repdyn.training.write({ ...state, rate: 0, speed: 0, at: 0, layer: "" });
    if (kept.key !== key) {
      const start = experiment(state), from = [start.X, start.turn, start.beta, start.label];
      const paths = Object.fromEntries(FORMULAS.map(formula => [formula, flow(...from, formula)]));
      const resting = Object.fromEntries(FORMULAS.map(formula => {
        const { beta, turn } = effectiveGradient(...from, formula);
        return [formula, Math.hypot(...beta, turn) < 1e-9];
      }));
      Object.assign(kept, { key, value: { start, paths, resting, patterns: sectors(start.X, rotation(start.turn), start.beta) } });
    }
    return kept.value;
  }

  // A path's value at a time, linear between its states.
  function at(path, time, name) {
    const place = Math.min(time / TIME * (path.length - 1), path.length - 1), low = Math.min(Math.floor(place), path.length - 2);
    return path[low][name] + (place - low) * (path[low + 1][name] - path[low][name]);
  }

  // Largest distance of the layer's cost so far from each predicted one, over the cost at the start.
  function distances({ state, records }) {
    const { paths } = predicted(state), scale = Math.max(paths.corrected[0].cost, 1e-12);
    return Object.fromEntries(FORMULAS.map(formula => [formula, Math.max(...records.map(one => Math.abs(one.cost - at(paths[formula], one.time, "cost")))) / scale]));
  }

  function build(root) {
    const { COLORS, Panel, panels } = repdyn.tools, box = panels(root), xlabel = "flow time", height = 270;
    const costs = new Panel(box, { title: "Cost: printed (orange-red), corrected (blue), layer (black)", label: "Cost against flow time: printed flow, corrected flow, layer", x: [0, TIME], y: [0, 1], xlabel, height });
    const plane = new Panel(box, { title: "Inputs: layer's cone (gray), ends of both flows (lines)", label: "The plane of inputs: cluster, label, the layer's cone, cones and apexes that the flows predict", x: [-1.3, 1.9], y: [-1.75, 1.05], square: true, height });
    const turns = new Panel(box, { title: "Turn of the cone", x: [0, TIME], y: [0, 1], xlabel, height });
    const title = turns.root.parentNode.querySelector("p");
    const marks = { c: ["#7f868d", "the cluster"], l: ["#009e73", "the label"], a: ["#9a4f96", "the apex at the start"] };
    const places = Object.entries(marks).map(([name, [color, words]]) => [name, plane.handle([0, 0], color, words, point => {
      const within = (value, [low, high]) => Number(Math.max(low, Math.min(high, value)).toFixed(3));
      root.training.change({ [`${name}x`]: within(point[0], plane.x), [`${name}y`]: within(point[1], plane.y) });
      return ["x", "y"].map(axis => root.training.state[name + axis]);
    })]);
    plane.handles.childNodes.forEach((ring, k) => {  // rings: what lies below stays visible
      Object.entries({ "fill-opacity": 0.15, stroke: Object.values(marks)[k][0], r: 9 }).forEach(([name, value]) => ring.setAttribute(name, value));
    });
    const dash = formula => (formula === "printed" ? "6 3" : "");
    let dots = [], own = [];

    function corner(W, apex) {
      const V = inverse(W), edge = k => [apex[0] + 9 * V[0][k] / Math.hypot(V[0][k], V[1][k]), apex[1] + 9 * V[1][k] / Math.hypot(V[0][k], V[1][k])];
      return [edge(0), apex, edge(1)];
    }

    // Turn of the cone, or its opening where only free weights change it.
    function drawTurns(state, paths, bounds) {
      const free = state.layer === FREE, degrees = 180 / Math.PI, curve = formula => paths[formula].map(one => [one.time, free ? 90 : one.turn * degrees]);
      title.textContent = free ? "Opening of the cone in degrees: aligned keeps 90" : "Turn of the cone, clockwise, in degrees";
      const all = [...FORMULAS.flatMap(curve).map(point => point[1]), ...(bounds ? bounds[free ? "opening" : "turn"].map(value => value * degrees) : [])];
      const low = Math.min(...all), high = Math.max(...all), half = Math.max(0.55 * (high - low), 20);
      turns.range([0, TIME], [(low + high) / 2 - half, (low + high) / 2 + half]);
      turns.clear();
      FORMULAS.forEach(formula => turns.line(curve(formula), COLORS[formula], { dash: dash(formula) }));
    }

    function clear({ state, prepared }) {
      const { start, paths, resting, patterns } = predicted(state), bounds = prepared && prepared.bounds;
      const all = [...FORMULAS.flatMap(formula => paths[formula].map(one => one.cost)), ...(bounds ? bounds.cost : [])];
      costs.range([0, TIME], [0, 1.12 * Math.max(...all, 1e-6)]);
      costs.clear();
      FORMULAS.forEach(formula => costs.line(paths[formula].map(one => [one.time, one.cost]), COLORS[formula], { dash: dash(formula) }));
      drawTurns(state, paths, bounds);
      plane.clear();
      FORMULAS.forEach(formula => {
        const end = paths[formula].at(-1), look = { dash: dash(formula), width: 1.5 };
        plane.line(corner(rotation(end.turn), end.beta.map(value => -value)), COLORS[formula], look);
        plane.line(paths[formula].map(one => one.beta.map(value => -value)), COLORS[formula], { ...look, width: 2.5 });
      });
      if (resting.corrected && resting.printed) plane.words([plane.x[0], plane.y[1] - 0.25], patterns.inside === start.X.length ? "At rest: all points are inside" : "At rest", BLACK);
      places.forEach(([name, place]) => place([state[`${name}x`], state[`${name}y`]]));
      plane.words([state.cx, state.cy - 0.38], "cluster");
      plane.words([state.lx, state.ly + 0.1], "label");
      plane.words([state.ax - 0.1, state.ay - 0.1], "apex", COLORS.soft, "end");
      dots = [costs.dots(BLACK), turns.dots(BLACK)];
      own = [];
      drawLayer(state, null);
    }

    // The layer's cone and what it makes of the points, at the last record or at the start.
    function drawLayer(state, last) {
      const { start } = predicted(state), W = last ? last.W : rotation(start.turn), beta = last ? last.beta : start.beta;
      own.forEach(one => one.remove());
      own = [plane.line(corner(W, beta.map(value => -value)), BLACK, { width: 1, fill: BLACK, opacity: 0.16 })];
      start.X.forEach(x => {
        const image = truncationOfWeights(x, W, beta);
        own.push(plane.line([x, image], "#7f868d", { width: 1 }), plane.dot(x, "#7f868d", 2.5), plane.dot(image, BLACK, 4));
      });
    }

    function draw({ state, prepared, records }) {
      if (!prepared || !records.length) return;
      const free = state.layer === FREE, degrees = 180 / Math.PI, apart = Math.max(1, Math.round(prepared.steps / prepared.every / 32));
      const shown = records.filter((_, k) => k % apart === 0 || k === records.length - 1);
      dots[0](shown.map(one => [one.time, one.cost]));
      dots[1](shown.map(one => [one.time, (free ? one.opening : one.turn) * degrees]));
      drawLayer(state, records.at(-1));
    }
    return { clear, draw };
  }

  const few = value => (Math.abs(value) >= 1e-3 ? String(Number(value.toPrecision(3))).replace("-", "\u2212") : repdyn.tools.short(value));
  const percent = value => `${Number((100 * value).toPrecision(2))} %`;

  // Where the points are, and what follows from it.
  function sectorSaid({ patterns, resting, start }) {
    const all = start.X.length, who = all === 1 ? "The point lies" : `All ${all} points lie`, them = all === 1 ? "it" : "them";
    if (patterns.inside === all) {
      return `${who} inside the cone, the positive sector with pattern (1, 1). The layer leaves ${them} in place whatever its rotation and bias, so the cost does not depend on these and everything rests (Proposition 4.1, case 1). Turn the cone or drag the cluster to set it in motion. `;
    }
    if (patterns.truncated === all) {
      return `${who} opposite to the cone, in the negative sector with pattern (0, 0): the layer sends ${them} to its apex whatever the rotation. While that is so, both flows agree: the rotation rests and the apex ${resting.corrected ? "is at the label already" : "runs straight to the label"}. `;
    }
    if (patterns.partly === all) return `${who} beside the cone (pattern (1, 0) or (0, 1)), pushed onto an edge. ${falselyResting(resting, start)}`;
    const parts = [[patterns.inside, "inside the cone"], [patterns.partly, "beside it"], [patterns.truncated, "opposite to it"]];
    return `Of ${all} points ${parts.map(([count, where]) => `${count} lie ${where}`).join(", ")}. ${falselyResting(resting, start)}`;
  }

  function falselyResting({ printed, corrected }, { beta, label }) {
    if (printed && corrected) return "The cost is stationary here, so everything rests. ";
    if (!printed || Math.hypot(beta[0] + label[0], beta[1] + label[1]) > 1e-9) return "";
    return "The apex is at the label, which makes the printed flow zero: it rests where the cost can fall. ";
  }

  function verdict(view, { paths, resting }) {
    const { state, records } = view, off = distances(view), free = state.layer === FREE, last = records.at(-1);
    if (resting.printed && resting.corrected) return "Nothing has moved, as predicted.";
    const degrees = value => (value * 180 / Math.PI).toFixed(0);
    const lost = !free ? "" : Math.abs(last.opening - Math.PI / 2) > 0.01
      ? `Alignment is lost: the cone, at right angles at the start, ends with an opening of ${degrees(last.opening)} degrees, which no rotation has. `
      : "The weights end aligned: the cone has its right angle. ";
    const rises = last.cost < paths.printed[0].cost && paths.printed.at(-1).cost > paths.printed[0].cost ? ": its cost rises, the layer's falls" : "";
    const [printed, corrected] = FORMULAS.map(formula => off[formula] <= ENOUGH);
    const judged = corrected && printed ? "The layer follows both flows: here they agree."
      : corrected ? `The printed flow fails here${rises}. The layer follows the corrected flow to within ${percent(ENOUGH)}.`
        : free ? `Free weights do not follow the corrected flow, which keeps them aligned${printed ? "" : `. The printed flow fails here, too${rises}`}.`
          : "The layer leaves the corrected flow; a smaller step shows whether its step is the reason.";
    return `The layer's cost differs from the corrected flow's by at most ${percent(off.corrected)} of the cost at the start, from the printed flow's by ${percent(off.printed)}. ${lost}${judged}`;
  }

  function says(view) {
    const { state, prepared, records, finished } = view, now = predicted(state), { paths } = now;
    const [printed, corrected] = FORMULAS.map(formula => few(paths[formula].at(-1).cost));
    const text = `${sectorSaid(now)}Predicted cost at time ${TIME}, from ${few(paths.printed[0].cost)} at the start: printed ${printed}, corrected ${corrected}. `;
    if (!prepared || (records.length < 2 && !finished)) return `${text}Press Play: the layer descends in ${state.layer === FREE ? "all its weights and biases" : "its rotation and bias"}, ${few(state.rate)} of flow time per step.`;
    const last = records.at(-1), [p, c] = FORMULAS.map(formula => few(at(paths[formula], last.time, "cost")));
    const moment = `Time ${few(last.time)}, step ${last.step}: cost of the layer ${few(last.cost)}, printed ${p}, corrected ${c}. `;
    if (!finished) return text + moment;
    const broken = last.step < prepared.steps ? "Training stops here: the free weights become singular. " : "";
    return text + moment + broken + verdict(view, now);
  }

  const START = { layer: ALIGNED, points: 10, spread: 0.5, turn: 0, rate: 0.02, cx: 1, cy: -1, lx: 0.5, ly: 0, ax: 0, ay: 0 };
  const presets = [
    { label: "Show me the failure: the printed cost rises", values: {} },
    { label: "One point: printed rests, layer descends", values: { points: 1, spread: 0, lx: 0 } },
    { label: "Collapse: both agree", values: { spread: 1.2, cx: -0.8, cy: -0.8, lx: 0.8, ly: 0.6 } },
    { label: "At rest: all inside", values: { spread: 2, turn: 90 } },
    { label: "Free weights: alignment is lost", values: { layer: FREE } },
  ];
  const controls = [
    { name: "layer", label: "what the layer trains", choices: [ALIGNED, FREE] },
    { name: "spread", label: "size of the cluster", low: 0, high: 2, step: 0.05 },
    { name: "turn", label: "start of the cone, degrees clockwise", low: -180, high: 180, step: 1 },
    { name: "points", label: "points", low: 1, high: 40, step: 1 },
    { name: "rate", label: "flow time per step of the layer", low: 0.005, high: 1, logarithmic: true },
  ];
  const handles = ["cx", "cy", "lx", "ly", "ax", "ay"].map(name => ({ name, low: -2, high: 2 }));

  repdyn.theory.truncation_flow = { ...theory, experiment, network };
  repdyn.widgets.truncation_flow = root => repdyn.stage(root, { name: "truncation_flow", defaults: START, controls, handles, presets, engine, build, says });
})(window.repdyn);
