"use strict";
// Ma and Ying, A Riemannian Mean Field Formulation: networks with and without batch normalization train beside their limit of
// infinite width, at equal iteration or at equal loss; the ellipse b' Sigma b = 1 with the paper's metric.
(repdyn => {
  // Theory and networks; its own text runs in the worker too, so it uses nothing from outside but the kernel.
  function engine(tools) {
    const MODELS = ["BN", "plain"], LOOKS = 200, DIRECTIONS = 100, LIMIT = 1e8;  // records; directions of the limit; loss of a diverged run
    const finite = (loss, first) => loss <= LIMIT * Math.max(first, 1);  // false for NaN

    // Sigma = diag(variance, 1), y = w'x with w the unit vector at an angle to the x1 axis.
    const along = degrees => [Math.cos(degrees * Math.PI / 180), Math.sin(degrees * Math.PI / 180)];

    // As Population.velocity in repdyn.bn_mean_field.theory.velocity for ReLU in the plane and y = w'x: eqs. (21), (22).
    // a (m), b (2 m) by neurons; velocities in mean-field time and the loss.
    function populationVelocity(a, b, { variance, target }, model) {
      const m = a.length, n = m + 2, w = along(target), root = Math.sqrt(variance), make = () => new Float64Array(n);
      const [size, c, s, angle, charge, weight] = Array.from({ length: 6 }, make), norm = make(), dx = new Float64Array(m), dy = new Float64Array(2 * m);
      for (let k = 0; k < n; k += 1) {
        const student = k < m, sign = k === m ? 1 : -1;
        let x = student ? b[2 * k] : sign * w[0], y = student ? b[2 * k + 1] : sign * w[1];
        norm[k] = student && model === "BN" ? Math.sqrt(variance * x * x + y * y) : 1;
        x *= root / norm[k];
        y /= norm[k];
        size[k] = Math.sqrt(x * x + y * y);
        c[k] = x / size[k];
        s[k] = y / size[k];
        angle[k] = Math.atan2(y, x);
        charge[k] = student ? a[k] / m : -sign;
        weight[k] = charge[k] * size[k];
      }
      let loss = 0;
      for (let i = 0; i < n; i += 1) {
        let field = 0, slope = 0;
        for (let j = 0; j < n; j += 1) {
          const turn = Math.abs(angle[i] - angle[j]), rest = turn > Math.PI ? turn - Math.PI : Math.PI - turn;  // pi - |D|
          const sine = s[i] * c[j] - c[i] * s[j], cosine = c[i] * c[j] + s[i] * s[j];
          field += weight[j] * (Math.abs(sine) + rest * cosine);
          slope -= weight[j] * rest * sine;
        }
        field /= 2 * Math.PI;
        slope /= 2 * Math.PI;
        loss += charge[i] * size[i] * field / 2;
        if (i >= m) continue;
        dx[i] = -size[i] * field;
        const g = [root * (field * c[i] - slope * s[i]), field * s[i] + slope * c[i]], x = b[2 * i], y = b[2 * i + 1];
        const radial = model === "BN" ? (x * g[0] + y * g[1]) / norm[i] ** 2 : 0;
        dy[2 * i] = -a[i] / norm[i] * (g[0] - radial * variance * x);
        dy[2 * i + 1] = -a[i] / norm[i] * (g[1] - radial * y);
      }
      return { da: dx, db: dy, loss };
    }

    // Speed |(I - u u') b'|, u = b / |b|: as tangential_speed in theory.flows, the vertical axis of Figure 1.
    const tangentialSpeeds = (b, db) => Array.from({ length: b.length / 2 }, (_, k) => {
      const [x, y, p, q] = [b[2 * k], b[2 * k + 1], db[2 * k], db[2 * k + 1]];
      return Math.abs(x * q - y * p) / Math.sqrt(x * x + y * y);
    });

    // The limit's start: equispaced directions, each with both signs of a and every length.
    function limitStart({ longer }) {
      const lengths = longer === 1 ? [1] : [1, longer], n = DIRECTIONS / lengths.length, a = [], b = [];
      [1, -1].forEach(sign => {
        for (let k = 0; k < n; k += 1) {
          const turn = 2 * Math.PI * (k + 0.5) / n;
          lengths.forEach(size => { a.push(sign); b.push(size * Math.cos(turn), size * Math.sin(turn)); });
        }
      });
      return { a: Float64Array.from(a), b: Float64Array.from(b) };
    }

    // A network's own start and data: pairs of neurons of random direction and opposite sign, so that f = 0; Gaussian inputs,
    // centered (Assumption 1).
    function sample({ neurons, inputs, variance, target, longer, seed }) {
      const draw = tools.random(seed), a = new Float64Array(neurons), b = new Float64Array(2 * neurons), w = along(target);
      for (let k = 0, turn = 0; k < neurons; k += 1) {
        if (k % 2 === 0) turn = 2 * Math.PI * draw.uniform();
        const size = k % 4 < 2 ? 1 : longer;
        a[k] = k % 2 ? -1 : 1;
        b[2 * k] = size * Math.cos(turn);
        b[2 * k + 1] = size * Math.sin(turn);
      }
      const X = [0, 1].map(axis => {
        const column = Float64Array.from({ length: inputs }, () => (axis ? 1 : Math.sqrt(variance)) * draw.normal());
        const mean = column.reduce((sum, value) => sum + value, 0) / inputs;
        return column.map(value => value - mean);
      });
      return { a, b, X, y: X[0].map((value, p) => w[0] * value + w[1] * X[1][p]) };
    }

    // f(x) = sum_k a_k relu(z_k) / m, z_k = b_k'x, with BN normalized by its mean and spread over the batch; loss (f - y)^2 / 2,
    // differentiated layer by layer. Velocities are m times minus the gradient.
    function network(settings, model) {
      const start = sample(settings), a = start.a.slice(), b = start.b.slice(), [first, second] = start.X, y = start.y;
      const m = a.length, n = y.length, Z = new Float64Array(m * n), spread = new Float64Array(m).fill(1);
      const error = new Float64Array(n), da = new Float64Array(m), db = new Float64Array(2 * m);
      function gradient() {
        error.fill(0);
        for (let k = 0; k < m; k += 1) {
          const b0 = b[2 * k], b1 = b[2 * k + 1], from = k * n, share = a[k] / m;
          let mean = 0, square = 0;
          for (let p = 0; p < n; p += 1) { const z = b0 * first[p] + b1 * second[p]; Z[from + p] = z; mean += z; }
          if (model === "BN") {
            mean /= n;
            for (let p = 0; p < n; p += 1) { const z = Z[from + p] - mean; Z[from + p] = z; square += z * z; }
            spread[k] = Math.sqrt(square / n);
            for (let p = 0; p < n; p += 1) Z[from + p] /= spread[k];
          }
          for (let p = 0; p < n; p += 1) if (Z[from + p] > 0) error[p] += share * Z[from + p];
        }
        let loss = 0;
        for (let p = 0; p < n; p += 1) { error[p] -= y[p]; loss += error[p] * error[p] / 2 / n; error[p] /= n; }
        for (let k = 0; k < m; k += 1) {
          const from = k * n;
          let force = 0, g0 = 0, g1 = 0, mean = 0, along1 = 0;
          for (let p = 0; p < n; p += 1) {
            const z = Z[from + p];
            if (!(z > 0)) continue;
            force += error[p] * z;
            mean += error[p];
            g0 += error[p] * first[p];
            g1 += error[p] * second[p];
          }
          if (model === "BN") {  // back through mean and spread of the batch
            mean /= n;
            along1 = force / n;
            for (let p = 0; p < n; p += 1) {
              const off = mean + Z[from + p] * along1;
              g0 -= off * first[p];
              g1 -= off * second[p];
            }
          }
          da[k] = -force;
          db[2 * k] = -a[k] / spread[k] * g0;
          db[2 * k + 1] = -a[k] / spread[k] * g1;
        }
        return loss;
      }
      return { a, b, velocity: () => ({ da, db, loss: gradient() }) };
    }

    // What is seen of a state: loss, what is left of the first one, speeds, inner weights.
    function look(b, { db, loss }, first) {
      const speeds = tangentialSpeeds(b, db);
      return { loss, left: Math.max(loss / first, 0), largest: speeds.reduce((most, value) => Math.max(most, value), 0), speeds, b: [...b] };
    }

    // Gradient descent of both models by steps of mean-field time, from `make(model)`; a look every so often, null after a divergence.
    function* descend(make, { rate, iterations }, every) {
      const runs = MODELS.map(model => ({ ...make(model), first: null, over: null }));
      for (let iteration = 0; iteration <= iterations; iteration += 1) {
        const looks = runs.map(run => {
          if (run.over !== null) return null;
          const now = run.velocity();
          run.first = run.first ?? now.loss;
          if (!finite(now.loss, run.first)) { run.over = iteration; return null; }
          const seen = iteration % every === 0 || iteration === iterations ? look(run.b, now, run.first) : null;
          for (let k = 0; k < run.a.length; k += 1) run.a[k] += rate * now.da[k];
          for (let k = 0; k < run.b.length; k += 1) run.b[k] += rate * now.db[k];
          return seen;
        });
        const shown = iteration % every === 0 || iteration === iterations;
        yield shown ? { iteration, BN: looks[0], plain: looks[1], over: { BN: runs[0].over, plain: runs[1].over } } : null;
      }
    }

    const limit = settings => model => {
      const { a, b } = limitStart(settings);
      return { a, b, velocity: () => populationVelocity(a, b, settings, model) };
    };

    // Where a falling loss has a wanted value, as _iteration_of_loss in experiments.speed_ratio: linear in its logarithm.
    function iterationOfLoss(wanted, losses, iterations) {
      const TINY = 2.2250738585072014e-308, log = value => Math.log(Math.max(value, TINY)), goal = log(wanted);
      let least = Infinity, before = Infinity, place = -1;
      for (let k = 0; k < losses.length; k += 1) {
        before = least;
        least = Math.min(least, log(losses[k]));
        if (least < goal) {
          if (place < 0) return iterations[0];
          return iterations[place] + (before - goal) / (before - least) * (iterations[k] - iterations[place]);
        }
        place = k;
      }
      return iterations[losses.length - 1];
    }

    function start(settings) {
      const every = Math.max(1, Math.ceil(settings.iterations / LOOKS));
      function* prepare() {
        const theory = [];
        for (const seen of descend(limit(settings), settings, every)) { if (seen) theory.push(seen); yield; }
        return { theory, every };
      }
      return { prepare, records: () => descend(model => network(settings, model), settings, every) };
    }
    start.theory = { populationVelocity, tangentialSpeeds, iterationOfLoss };
    Object.assign(start, { network, sample, limitStart, limit, descend, MODELS, along });
    return start;
  }
  const { theory, network, sample, limitStart, limit, descend, MODELS, along } = engine(repdyn.training.kernel);
  const { iterationOfLoss } = theory;
  const EQUAL_ITERATION = "equal iteration", EQUAL_LOSS = "equal loss", GREEN = "#009e73", INK = "#1a1e24";

  // Both models at the moment that is compared, the last of some looks: at its iteration, or where both have the loss of the slower one.
  function moment(looks, compare) {
    const last = looks.at(-1);
    if (!last.BN || !last.plain) return null;
    const level = Math.max(last.BN.left, last.plain.left), iterations = looks.map(one => one.iteration);
    const read = model => {
      const seen = looks.map(one => one[model]);
      const iteration = compare === EQUAL_LOSS ? iterationOfLoss(level, seen.map(one => one.left), iterations) : last.iteration;
      const high = Math.max(1, iterations.findIndex(value => value >= iteration)), low = Math.min(high, looks.length - 1) - 1;
      if (low < 0) return { iteration, ...seen[0] };
      const share = (iteration - iterations[low]) / (iterations[low + 1] - iterations[low]);
      const mix = name => (1 - share) * seen[low][name] + share * seen[low + 1][name];
      return { ...seen[share < 0.5 ? low : low + 1], iteration, left: mix("left"), largest: mix("largest") };
    };
    const [BN, plain] = MODELS.map(read);
    return { BN, plain, ratio: BN.largest / plain.largest };
  }

  // Mean speed of neurons nearer to the x2 axis over that of those nearer to the x1 axis; NaN where either has none.
  function contrast({ b, speeds }) {
    const mean = near => {
      const own = speeds.filter((_, k) => Math.abs(b[2 * k + 1]) > Math.abs(b[2 * k]) === near);
      return own.reduce((sum, value) => sum + value, 0) / own.length;
    };
    return mean(true) / mean(false);
  }

  // Mean angle in degrees by which neurons of a length have turned since the start.
  function turned(before, after, size) {
    const all = [];
    for (let k = 0; k < before.length; k += 2) {
      const [x, y, p, q] = [before[k], before[k + 1], after[k], after[k + 1]];
      if (Math.abs(Math.hypot(x, y) - size) < 1e-9) all.push(Math.abs(Math.atan2(x * q - y * p, x * p + y * q)) * 180 / Math.PI);
    }
    return all.reduce((sum, value) => sum + value, 0) / all.length;
  }

  const apply = (cov, b) => [cov[0][0] * b[0] + cov[0][1] * b[1], cov[1][0] * b[0] + cov[1][1] * b[1]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

  // As in repdyn.bn_mean_field.theory.manifold, in two dimensions.
  const sigmaNorm = (b, cov) => Math.sqrt(dot(b, apply(cov, b)));
  const normalize = (b, cov) => b.map(entry => entry / sigmaNorm(b, cov));

  function angle(b1, b2) {
    const turn = Math.atan2(b1[1], b1[0]) - Math.atan2(b2[1], b2[0]);
    return Math.abs(turn - 2 * Math.PI * Math.round(turn / (2 * Math.PI)));
  }

  function smallestMetricEigenvalue(b, cov) {
    const image = apply(cov, b);
    return dot(b, image) ** 2 / (dot(b, b) * dot(image, image));
  }

  const kantorovichBound = k => 4 * k / (k + 1) ** 2;

  // ||b||^2 (I - b b' Sigma)(I - Sigma b b') grad at a point of the ellipse.
  function riemannianGradient(grad, b, cov) {
    const image = apply(cov, b), first = grad.map((entry, k) => entry - image[k] * dot(b, grad));
    return first.map((entry, k) => dot(b, b) * (entry - b[k] * dot(image, first)));
  }

  // Covariance with eigenvalues k and 1, the first along `turn` (radians).
  function covariance(k, turn) {
    const c = Math.cos(turn), s = Math.sin(turn);
    return [[k * c * c + s * s, (k - 1) * c * s], [(k - 1) * c * s, k * s * s + c * c]];
  }

  function build(root) {
    const { COLORS, Panel, panels } = repdyn.tools, box = panels(root), HUES = { BN: COLORS.corrected, plain: COLORS.printed };
    box.style.gridTemplateColumns = "repeat(auto-fit, minmax(min(100%, 340px), 1fr))";
    const FAR = 2.1, CUT = 1, square = { x: [-FAR, FAR], y: [-FAR, FAR], square: true, axes: false, height: 280 };

    // Vertical axis in powers of ten: y is log10.
    class Decades extends Panel {
      draw_axes() {
        super.draw_axes();
        this.back.querySelectorAll("text[text-anchor=end]").forEach(text => {
          if (Number(text.getAttribute("x")) < 44) text.textContent = repdyn.tools.short(Number((10 ** Number(text.textContent.replace("\u2212", "-"))).toPrecision(2)));
        });
      }
    }
    const speeds = new Decades(box, { title: "Speed of the fastest neuron: with BN (blue), without (orange-red)", label: "Largest speed of a neuron with and without batch normalization: lines theory, dots networks", x: [0, 1], y: [-3, 1], height: 250 });
    const losses = new Panel(box, { title: "Loss over its start: lines predicted, dots networks; green: compared", label: "Loss against iterations with and without batch normalization: lines theory, dots networks", x: [0, 1], y: [0, 1], xlabel: "iteration", height: 250 });
    [speeds, losses].forEach(panel => { panel.root.style.overflow = "visible"; });  // the last number of the axis
    const rings = {
      BN: new Panel(box, { title: "With BN: neurons on the ellipse b\u2032\u03a3b = 1. Spikes: speed", label: "Directions and speeds of neurons with batch normalization: pale predicted, dark network", ...square }),
      plain: new Panel(box, { title: "Without BN: directions of neurons. Spikes: speed, same scale", label: "Directions and speeds of neurons without batch normalization: pale predicted, dark network", ...square }),
    };
    const aim = rings.BN.handle([1, 0], GREEN, "the target's direction", ([x, y]) => {
      const turn = Math.round(Math.atan2(y, x) * 180 / Math.PI);
      root.training.change({ target: (turn + 360) % 180 });
      return along(root.training.state.target).map(value => 1.9 * value);
    });
    let dots = {}, spikes = {}, marks = null, factor = null, scale = 1, across = null;

    const onRing = (model, x, y, variance) => {
      const size = model === "BN" ? Math.sqrt(variance * x * x + y * y) : Math.hypot(x, y);
      return [x / size, y / size];
    };

    // One path: from each neuron's place outward, as long as it is fast.
    function spread(model, seen, variance) {
      const panel = rings[model], parts = [];
      for (let k = 0; k < seen.speeds.length; k += 1) {
        const [x, y] = onRing(model, seen.b[2 * k], seen.b[2 * k + 1], variance), out = 1 + Math.min(seen.speeds[k] / scale, CUT) / Math.hypot(x, y);
        parts.push(`M${panel.px(x).toFixed(1)} ${panel.py(y).toFixed(1)}L${panel.px(out * x).toFixed(1)} ${panel.py(out * y).toFixed(1)}`);
      }
      return parts.join("");
    }

    const known = (looks, model) => looks.filter(one => one[model]).map(one => ({ iteration: one.iteration, ...one[model] }));
    const log = value => Math.log10(Math.max(value, 1e-12)), within = (value, [low, high]) => Math.max(low, Math.min(high, value));
    const placeOfSpeed = one => [within(across(one), speeds.x), within(log(one.largest), speeds.y)];
    const placeOfLoss = one => [one.iteration, within(one.left, losses.y)];

    function clearRings(view, end) {
      const { state } = view, turns = repdyn.tools.grid(0, 2 * Math.PI, 181);
      scale = end ? Math.max(1.25 * end.BN.largest, 1.25 * end.plain.largest, 1e-9) : 1;
      MODELS.forEach(model => {
        const panel = rings[model];
        panel.clear();
        const target = along(state.target);
        panel.line([target.map(value => -1.9 * value), target.map(value => 1.9 * value)], GREEN, { width: 1.2, dash: "2 4" });
        panel.line(turns.map(turn => onRing(model, Math.cos(turn), Math.sin(turn), state.variance)), COLORS.soft, { width: 1.2 });
        const fan = panel.line([[0, 0]], HUES[model], { width: 4, opacity: 0.25 });
        fan.setAttribute("d", end ? spread(model, end[model], state.variance) : "");
        panel.words([-FAR, -FAR], end ? `pale: predicted for iteration ${Math.round(end[model].iteration)}` : "", HUES[model]);
        panel.words([-FAR, FAR - 0.35], "\u2195 x\u2082: data small");
        panel.words([FAR, FAR - 0.35], "\u2194 x\u2081: data large", COLORS.soft, "end");
        spikes[model] = { fan: panel.line([[0, 0]], HUES[model], { width: 1.4 }), dots: panel.dots(INK, 1.8) };
        spikes[model].fan.setAttribute("d", "");
      });
      if (along(state.target)[1] < 0.6) rings.BN.words([1.9 * along(state.target)[0], 1.9 * along(state.target)[1] + 0.15], "target", GREEN, "end");
      aim(along(state.target).map(value => 1.9 * value));
    }

    function clear(view) {
      const { state, prepared } = view, looks = prepared ? prepared.theory : [], byLoss = state.compare === EQUAL_LOSS;
      const end = prepared && moment(looks, state.compare);
      [speeds, losses].forEach(panel => panel.clear());
      clearRings(view, end);
      dots = {};
      marks = null;
      if (!prepared) return;
      const own = Object.fromEntries(MODELS.map(model => [model, known(looks, model)])), all = MODELS.flatMap(model => own[model]), logs = all.map(one => log(one.largest));
      across = byLoss ? one => 1 - one.left : one => one.iteration;
      speeds.xlabel = byLoss ? "share of the loss that is gone" : "iteration";
      speeds.range(byLoss ? [0, 1] : [0, state.iterations], [Math.max(Math.min(...logs), Math.max(...logs) - 5) - 0.3, Math.max(...logs) + 0.3]);
      losses.range([0, state.iterations], [0, 1.12 * Math.min(Math.max(...all.map(one => one.left)), 3)]);
      MODELS.forEach(model => {
        const dash = model === "plain" ? "6 3" : "";
        speeds.line(own[model].map(one => [across(one), log(one.largest)]).filter(point => point[1] >= speeds.y[0]), HUES[model], { dash });
        losses.line(own[model].map(placeOfLoss), HUES[model], { dash });
        dots[model] = [speeds.dots(HUES[model]), losses.dots(HUES[model])];
      });
      marks = [speeds, losses].map(panel => [panel.line([[0, 0]], GREEN, { width: 1.6 }), panel.dots(GREEN, 4)]);
      speeds.words([0, speeds.y[0]], "", GREEN);
      factor = speeds.front.lastChild;
      Object.entries({ x: speeds.px(0) + 10, y: speeds.py(speeds.y[0]) - 12 }).forEach(([name, value]) => factor.setAttribute(name, value));
      factor.style.fontSize = "14px";
      drawMarks(end);
      draw(view);
    }

    // The line through the two moments, and the two.
    function drawMarks(now) {
      if (!now || !marks) return;
      const pair = MODELS.map(model => now[model]);
      [[speeds, placeOfSpeed], [losses, placeOfLoss]].forEach(([panel, place], k) => {
        const ends = pair.map(place);
        marks[k][0].setAttribute("d", `M${panel.px(ends[0][0])} ${panel.py(ends[0][1])}L${panel.px(ends[1][0])} ${panel.py(ends[1][1])}`);
        marks[k][1](ends);
        if (panel !== speeds) return;
        factor.textContent = spent(now) ? "" : `BN over without: ${short(now.ratio)}`;
      });
    }

    function draw({ state, prepared, records }) {
      if (!prepared || !records.length) return;
      const apart = Math.max(1, Math.ceil(prepared.theory.length / 50)), now = moment(records, state.compare);
      MODELS.forEach(model => {
        const shown = known(records.filter((_, k) => k % apart === 0 || k === records.length - 1), model);
        dots[model][0](shown.map(placeOfSpeed));
        dots[model][1](shown.map(placeOfLoss));
        const seen = now ? now[model] : records.at(-1)[model];
        if (!seen) return;
        spikes[model].fan.setAttribute("d", spread(model, seen, state.variance));
        spikes[model].dots(seen.speeds.map((_, k) => onRing(model, seen.b[2 * k], seen.b[2 * k + 1], state.variance)));
      });
      drawMarks(now);
    }
    return { clear, draw };
  }

  const short = value => repdyn.tools.short(value);
  const share = left => (left < 1e-6 ? "0 %" : `${short(100 * left)} %`);

  function compared(now, compare) {
    const { BN, plain, ratio } = now, times = `${ratio > 1e4 ? "over 1e4" : short(ratio)} times as fast with BN as without`;
    const where = compare === EQUAL_LOSS
      ? `at equal loss, ${share(Math.max(BN.left, plain.left))} of the start (iteration ${Math.round(BN.iteration)} with BN, ${Math.round(plain.iteration)} without), the fastest neuron is ${times}`
      : `at iteration ${Math.round(BN.iteration)} the fastest neuron is ${times} (${short(BN.largest)} and ${short(plain.largest)}), the loss ${share(BN.left)} and ${share(plain.left)} of the start`;
    return where;
  }

  const percent = value => `${Number((100 * value).toPrecision(2))} %`;
  const spent = now => now.plain.left < 1e-4 || now.BN.left < 1e-4;  // a network that has finished has speeds near 0

  // Distances of the networks from their limit: of the losses, and of the ratio of speeds unless a network has finished.
  function follows({ state, prepared, records }) {
    const [withBN, without] = MODELS.map(model => percent(Math.max(...records.map((one, k) => Math.abs(one[model].left - prepared.theory[k][model].left)))));
    const [seen, wanted] = [records, prepared.theory].map(looks => moment(looks, state.compare)), factor = seen.ratio / wanted.ratio;
    const losses = `Largest distance of the losses from those predicted: ${withBN} of the start with BN, ${without} without. `;
    if (spent(seen) || spent(wanted)) return losses;
    return `${losses}The ratio of speeds is ${short(seen.ratio)}; ${short(wanted.ratio)} was predicted, ${short(Math.max(factor, 1 / factor))} times ${factor < 1 ? "as much" : "less"}. `;
  }

  // What the paper says of Figure 1 and of lengths, against what the networks have done.
  function verdict(view) {
    const { state, records } = view, now = moment(records, state.compare), logs = Math.log10(now.ratio), first = records[0], last = records.at(-1);
    const cause = logs >= 0.5 && state.compare === EQUAL_ITERATION && now.plain.left < 0.02 && now.BN.left > 0.1;
    const order = spent(now) ? "A network has finished: that it is slow says nothing of its metric. "
      : `Figure 1 draws BN's fastest neuron about ten times as fast: here it is ${short(now.ratio)} times as fast${cause ? ", and the network without BN is slow because it has finished: switch to equal loss" : ""}. `;
    const across2 = contrast(now.BN), place = state.variance === 1 || !Number.isFinite(across2) ? "" : `With BN neurons nearer to x\u2082, where data are small, are ${short(across2)} times as fast as the others; the paper calls them the faster ones. `;
    const grown = Math.max(...last.BN.b.map((_, k) => (k % 2 ? 1 : Math.hypot(last.BN.b[k], last.BN.b[k + 1]) / Math.hypot(first.BN.b[k], first.BN.b[k + 1])))) - 1;
    const lengths = `Lengths with BN, constant along the flow, have grown by at most ${short(100 * grown)} %. `;
    const longer = state.longer === 1 ? "" : `With BN neurons of length 1 have turned by ${short(turned(first.BN.b, last.BN.b, 1))} degrees on average, those of length ${short(state.longer)} by ${short(turned(first.BN.b, last.BN.b, state.longer))}. `;
    return `${order}${place}${longer}${lengths}`;
  }

  function says(view) {
    const { state, prepared, records } = view, finished = view.finished || (records.length > 1 && records.at(-1).iteration === state.iterations);
    const who = `${state.neurons} neurons, ${state.inputs} inputs of variance ${short(state.variance)} along x\u2081 and 1 along x\u2082, target at ${state.target}\u00b0 to x\u2081, seed ${state.seed}. `;
    if (!prepared) return `${who}Computing the theory.`;
    const line = moment(prepared.theory, state.compare), ends = prepared.theory.at(-1).over;
    const gone = over => MODELS.filter(model => over[model] !== null).map(model => `the network ${model === "BN" ? "with BN" : "without BN"} diverges at iteration ${over[model]}`).join(", ");
    const text = `${who}Predicted at infinite width: ${line ? compared(line, state.compare) : gone(ends)}. `;
    if (records.length < 2) return `${text}Press Play to train both networks.`;
    const now = moment(records, state.compare);
    if (!now) return `${text}Seen: ${gone(records.at(-1).over)}. ${finished ? `At this step there is no more to compare: ${line ? "the theory had predicted no divergence." : "the theory had predicted it."}` : ""}`;
    const told = `Seen: ${compared(now, state.compare)}. `;
    if (!finished) return text + told;
    return text + told + (line ? follows(view) : "The theory had predicted that training diverges. ") + verdict(view);
  }

  const FIRST = { compare: EQUAL_ITERATION, variance: 5, target: 0, neurons: 100, inputs: 500, longer: 1, rate: 0.002, iterations: 500 };
  const presets = [
    { label: "Figure 1: equal iteration", values: {} },
    { label: "Show me the failure: equal loss", values: { compare: EQUAL_LOSS } },
    { label: "Target along x\u2082", values: { target: 90 } },
    { label: "Isotropic data", values: { variance: 1 } },
    { label: "Two lengths (Figure 2)", values: { longer: 10, iterations: 1000, neurons: 200 } },
    { label: "Ten neurons: far from the limit", values: { neurons: 10 } },
  ];
  const controls = [
    { name: "compare", label: "Compare at", choices: [EQUAL_ITERATION, EQUAL_LOSS], keeps: true },
    { name: "target", label: "angle of the target to x\u2081 (degrees)", low: 0, high: 180, step: 1 },
    { name: "variance", label: "variance of the data along x\u2081", low: 1, high: 25, logarithmic: true },
    { name: "neurons", label: "neurons", low: 4, high: 200, step: 2 },
    { name: "inputs", label: "inputs", low: 20, high: 1000, step: 10 },
    { name: "longer", label: "length of every second pair of neurons", low: 1, high: 10, step: 0.5 },
    { name: "rate", label: "step: learning rate over neurons", low: 0.0005, high: 0.1, logarithmic: true },
    { name: "iterations", label: "iterations", low: 50, high: 2000, step: 50 },
  ];

  // The ellipse and the circle: two points to drag, distances by the metric.
  function surface(root) {
    const { COLORS, Panel, sliders, panels, said, grid, short } = repdyn.tools;
    const angles = { first: 0.4, second: 1.9 };
    const values = sliders(root, [
      { name: "k", label: "condition number of Σ", low: 1, high: 25, value: 6, logarithmic: true },
      { name: "turn", label: "direction of its large axis (degrees)", low: 0, high: 180, value: 30, step: 1 },
    ], draw);
    const box = panels(root), say = said(root), one = [-1.25, 1.25];
    const ellipse = new Panel(box, { title: "Inner weights: the ellipse", x: one, y: one, square: true, height: 280 });
    const circle = new Panel(box, { title: "The same points by the paper's metric: the circle", x: one, y: one, square: true, height: 280 });
    const unit = turn => [Math.cos(turn), Math.sin(turn)];
    const drags = Object.keys(angles).map((name, place) => [ellipse, circle].map(panel => panel.handle([1, 0], [COLORS.printed, COLORS.corrected][place], `${name} point`, point => {
      angles[name] = Math.atan2(point[1], point[0]);
      draw();
      return panel === circle ? unit(angles[name]) : normalize(unit(angles[name]), covariance(values.k, values.turn * Math.PI / 180));
    })));

    function draw() {
      const cov = covariance(values.k, values.turn * Math.PI / 180), turns = grid(0, 2 * Math.PI, 361);
      const points = Object.values(angles).map(turn => normalize(unit(turn), cov));
      const way = Math.atan2(Math.sin(angles.second - angles.first), Math.cos(angles.second - angles.first));
      const arc = grid(angles.first, angles.first + way, 181), onEllipse = arc.map(turn => normalize(unit(turn), cov));
      ellipse.clear();
      ellipse.line(turns.map(turn => normalize(unit(turn), cov)), COLORS.soft, { width: 1.3 });
      ellipse.line(onEllipse, "#1a1e24", { width: 3 });
      circle.clear();
      circle.line(turns.map(unit), COLORS.soft, { width: 1.3 });
      circle.line(arc.map(unit), "#1a1e24", { width: 3 });
      drags.forEach(([onFirst, onSecond], place) => { onFirst(points[place]); onSecond(unit(Object.values(angles)[place])); });
      const length = onEllipse.slice(1).reduce((sum, b, k) => sum + Math.hypot(b[0] - onEllipse[k][0], b[1] - onEllipse[k][1]), 0);
      const eigenvalue = smallestMetricEigenvalue(points[0], cov);
      say(`Distance by the metric: the angle, ${short(angle(...points))} radians; length of the arc on the ellipse: ${short(length)}. At the orange-red point the metric shrinks the normal direction to ${short(eigenvalue)}; no point of this ellipse goes below ${short(kantorovichBound(values.k))} (Kantorovich).`);
    }
    draw();
  }

  repdyn.theory.bn_mean_field = { sigmaNorm, normalize, angle, smallestMetricEigenvalue, kantorovichBound, riemannianGradient, ...theory, network, sample, limitStart, limit, descend };
  repdyn.widgets.bn_mean_field = root => {
    repdyn.stage(root, { name: "bn_mean_field", defaults: FIRST, controls, presets, engine, build, says });
    const more = root.appendChild(document.createElement("div"));
    more.appendChild(document.createElement("h4")).textContent = "The surface itself: two points, and their distance by the paper's metric";
    surface(more);
  };
})(window.repdyn);
