"use strict";
// Chen, effective gradient flow: one cluster in the plane, Theorem 3.2 as printed and corrected.
(repdyn => {
  const rotation = turn => [[Math.cos(turn), -Math.sin(turn)], [Math.sin(turn), Math.cos(turn)]];
  const apply = (R, x) => [R[0][0] * x[0] + R[0][1] * x[1], R[1][0] * x[0] + R[1][1] * x[1]];
  const back = (R, x) => [R[0][0] * x[0] + R[1][0] * x[1], R[0][1] * x[0] + R[1][1] * x[1]];

  // As truncation_map in repdyn.truncation_flow.theory.truncation, R given by its angle.
  function truncationMap(x, turn, beta) {
    const R = rotation(turn), u = apply(R, [x[0] + beta[0], x[1] + beta[1]]), image = back(R, u.map(entry => Math.max(entry, 0)));
    return [image[0] - beta[0], image[1] - beta[1]];
  }

  // As effective_gradient in repdyn.truncation_flow.theory.separated, in the plane: dR/ds = Omega R is turn' = Omega_21.
  // M = (u b' + b u' - u u')/2; the printed one lacks u u'.
  function effectiveGradient(X, turn, beta, label, formula) {
    const R = rotation(turn), b = apply(R, [beta[0] + label[0], beta[1] + label[1]]), missing = formula === "corrected" ? 1 : 0;
    let omega = 0, cost = 0;
    const J = [0, 0];
    X.forEach(x => {
      const u = apply(R, [x[0] + beta[0], x[1] + beta[1]]), H = u.map(entry => (entry > 0 ? 1 : 0));
      omega += (H[1] - H[0]) * (u[1] * b[0] + b[1] * u[0] - missing * u[1] * u[0]) / 2 / X.length;
      H.forEach((on, k) => { J[k] += on / X.length; cost += (on * u[k] - b[k]) ** 2 / 2 / X.length; });
    });
    const fall = back(R, b.map((entry, k) => (1 - J[k]) * entry));
    return { beta: [-fall[0], -fall[1]], turn: omega, cost };
  }

  // Steps of the middle-point rule; returns the states and their costs.
  function run(X, turn, beta, label, formula, time, steps) {
    const path = [], step = time / steps;
    for (let k = 0; k <= steps; k += 1) {
      const here = effectiveGradient(X, turn, beta, label, formula);
      path.push({ turn, beta, cost: here.cost });
      const middle = effectiveGradient(X, turn + step / 2 * here.turn, beta.map((entry, i) => entry + step / 2 * here.beta[i]), label, formula);
      turn += step * middle.turn;
      beta = beta.map((entry, i) => entry + step * middle.beta[i]);
    }
    return path;
  }

  const OFFSETS = [[0, 0], [0.22, 0.1], [-0.18, 0.2], [0.08, -0.25], [-0.24, -0.12], [0.3, -0.16], [-0.06, 0.32], [0.16, 0.3], [-0.34, 0.06], [-0.1, -0.34]];

  function widget(root) {
    const { COLORS, Panel, sliders, panels, said, grid, short } = repdyn.tools, STEPS = 400, TIME = 12;
    const start = { center: [1, -1], label: [0.5, 0], apex: [0, 0] };
    const values = sliders(root, [
      { name: "spread", label: "size of the cluster", low: 0, high: 2, value: 0, step: 0.05 },
      { name: "turn", label: "direction of the cone at the start (degrees)", low: -180, high: 180, value: 0, step: 1 },
      { name: "time", label: "flow time", low: 0, high: TIME, value: 6, step: 0.05 },
    ], draw);
    const box = panels(root), say = said(root), plane = { x: [-1.6, 2], y: [-1.8, 1.3], square: true, height: 300 };
    const views = { printed: new Panel(box, { ...plane, title: "As printed" }), corrected: new Panel(box, { ...plane, title: "Corrected" }) };
    const costs = new Panel(box, { title: "Cost along the printed (orange) and the corrected flow (blue)", x: [0, TIME], y: [0, 1], xlabel: "flow time", height: 300 });
    const names = { center: "the cluster", label: "the label", apex: "the apex at the start" }, tints = { center: "#1a1e24", label: "#009e73", apex: "#7f868d" };
    const places = Object.values(views).map(view => Object.keys(start).map(name => [name, view.handle(start[name], tints[name], names[name], point => { start[name] = point; draw(); })]));

    function drawView(view, X, path, color) {
      const now = path[Math.round(values.time / TIME * STEPS)], R = rotation(now.turn), apex = now.beta.map(entry => -entry);
      const edge = (k, length) => [apex[0] + length * R[k][0], apex[1] + length * R[k][1]];
      view.clear();
      view.line([edge(0, 6), apex, edge(1, 6)], color, { width: 1.5, fill: color, opacity: 0.25 });
      view.line([edge(0, 6), apex, edge(1, 6)], color, { width: 1.5 });
      X.forEach(x => {
        const image = truncationMap(x, now.turn, now.beta);
        view.line([x, image], COLORS.line, { width: 1 });
        view.dot(x, COLORS.soft, 3);
        view.dot(image, color, 4);
      });
      view.words(start.label, "label");
    }

    function draw() {
      const X = OFFSETS.map(offset => offset.map((entry, k) => start.center[k] + values.spread * entry)), beta = start.apex.map(entry => -entry);
      const paths = {};
      Object.keys(views).forEach(formula => {
        paths[formula] = run(X, values.turn * Math.PI / 180, beta, start.label, formula, TIME, STEPS);
        drawView(views[formula], X, paths[formula], COLORS[formula]);
      });
      places.flat().forEach(([name, place]) => place(start[name]));
      const all = Object.values(paths).flat().map(state => state.cost);
      costs.range([0, TIME], [0, 1.08 * Math.max(...all, 1e-6)]);
      costs.clear();
      Object.entries(paths).forEach(([formula, path]) => costs.line(path.map((state, k) => [k * TIME / STEPS, state.cost]), COLORS[formula], { dash: formula === "printed" ? "6 3" : "" }));
      costs.line([[values.time, 0], [values.time, 2 * Math.max(...all)]], COLORS.soft, { width: 1 });
      const change = formula => `${short(paths[formula][0].cost)} to ${short(paths[formula].at(-1).cost)}`;
      say(`Cost from the start to time ${TIME}: printed ${change("printed")}, corrected ${change("corrected")}.`);
    }
    draw();
  }

  repdyn.theory.truncation_flow = { truncationMap, effectiveGradient };
  repdyn.widgets.truncation_flow = widget;
})(window.repdyn);
