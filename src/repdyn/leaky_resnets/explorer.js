"use strict";
// Hamiltonian Mechanics of Feature Learning: a geodesic of one neuron and one point in closed form (Theorems 4 and 7).
(repdyn => {
  // As scalar_path in repdyn.leaky_resnets.theory.scalar_geodesic: [A_p, B_p].
  function scalarPath(u, end, depth, p) {
    const A = end * Math.exp(depth * (u - 1) * (p - 1));
    return [A, u / A];
  }

  // As scalar_geodesic there: scaled Hamiltonian, least cost of identity, length of the path, c = sup B^2.
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

  function widget(root) {
    const { COLORS, Panel, sliders, panels, said, grid, short } = repdyn.tools;
    const values = sliders(root, [
      { name: "u", label: "conserved product u = A B", low: -3, high: 3, value: -1, step: 0.05 },
      { name: "depth", label: "effective depth", low: 0.02, high: 20, value: 0.05, logarithmic: true },
      { name: "end", label: "end of the path A₁", low: 0.1, high: 100, value: 10, logarithmic: true },
      { name: "gamma", label: "regularizer γ", low: 0.001, high: 1000, value: 100, logarithmic: true },
    ], draw);
    const box = panels(root), say = said(root);
    const path = new Panel(box, { title: "log₁₀ A (blue) and log₁₀ |B| (orange) along the network", x: [0, 1], y: [-2, 2], xlabel: "position p" });
    const bounds = new Panel(box, { title: "Room above the lower bound: printed (orange), corrected (blue)", x: [-1.7, 1.3], y: [-1, 1], xlabel: "log₁₀ effective depth" });

    function draw() {
      const { u, depth, end, gamma } = values, places = grid(0, 1, 120), log = number => Math.log10(Math.max(Math.abs(number), 1e-12));
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

  repdyn.theory.leaky_resnets = { scalarPath, scalarGeodesic, theoremFour };
  repdyn.widgets.leaky_resnets = widget;
})(window.repdyn);
