"use strict";
// van Rossem and Saxe, When Representations Align: two points, closed-form solution of equation (7).
(repdyn => {
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

  function widget(root) {
    const { COLORS, Panel, sliders, panels, said, grid, short } = repdyn.tools;
    const values = sliders(root, [
      { name: "gain", label: "initial scale G", low: 0.01, high: 2, value: 0.1, logarithmic: true },
      { name: "dx2", label: "squared input distance", low: 0.1, high: 4, value: 1, logarithmic: true },
      { name: "dy2", label: "squared target distance", low: 0.1, high: 4, value: 0.5, logarithmic: true },
      { name: "rho", label: "rate of encoder over decoder", low: 0.1, high: 10, value: 1, logarithmic: true },
    ], draw);
    const box = panels(root), say = said(root);
    const distances = new Panel(box, { title: "h (blue), y (orange), w (green)", label: "Squared distances against time", x: [0, 1], y: [0, 1], xlabel: "time (epochs × rate of the decoder)" });
    const losses = new Panel(box, { title: "Loss", x: [0, 1], y: [0, 1], xlabel: "time (epochs × rate of the decoder)" });

    function draw() {
      const { gain, dx2, dy2, rho } = values, h0 = gain ** 2 * dx2, y0 = gain ** 4 * dx2;
      const at = t => effectiveSolution(t, h0, y0, y0, rho, 1, dx2, dy2);  // outputs at right angles to the targets: w = y
      let end = 1;
      while (end < 1e6 && effectiveLoss(at(end)[1], at(end)[2], dy2) > 0.004 * dy2) end *= 1.25;
      const times = grid(0, 1.15 * end, 240), states = times.map(at);
      const lowest = Math.min(0, ...states.map(state => state[2])), highest = Math.max(...states.map(state => Math.max(state[0], state[1])));
      distances.range([0, times.at(-1)], [1.08 * lowest, 1.08 * highest]);
      distances.clear();
      ["h", "y", "w"].forEach((name, place) => distances.line(times.map((t, k) => [t, states[k][place]]), COLORS[name], { dash: ["", "6 3", "2 3"][place] }));
      const loss = states.map(([, y, w]) => effectiveLoss(y, w, dy2));
      losses.range([0, times.at(-1)], [0, 1.08 * Math.max(...loss)]);
      losses.clear();
      losses.line(times.map((t, k) => [t, loss[k]]), "#1a1e24");
      const final = finalDistance(h0, y0, Math.sqrt(dx2), Math.sqrt(dy2), rho);
      say(`The representations end at a squared distance of ${short(final)}, ${short(final / h0)} times that at the start: ${final / h0 > 4 ? "rich, learned from the targets" : "lazy, as they were initialized"}.`);
    }
    draw();
  }

  repdyn.theory.universality = { effectiveSolution, effectiveLoss, finalDistance };
  repdyn.widgets.universality = widget;
})(window.repdyn);
