"use strict";
// Nachum, Bondaschi, Gastpar and Khina, Batch Normalization Decomposed: one odd point and a cluster at infinite width.
(repdyn => {
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

  function widget(root) {
    const { COLORS, Panel, sliders, panels, said, grid } = repdyn.tools, degrees = 180 / Math.PI;
    const values = sliders(root, [
      { name: "n", label: "points n", low: 3, high: 100, value: 20, step: 1 },
      { name: "start", label: "cluster angle at the start (degrees)", low: 0.5, high: 90, value: 2, step: 0.5 },
      { name: "layers", label: "layers", low: 1, high: 300, value: 100, step: 1 },
    ], draw);
    const box = panels(root), say = said(root);
    const map = new Panel(box, { title: "One layer: angle before and after (degrees)", label: "Map of the angle between cluster points", x: [0, 90], y: [0, 90], xlabel: "before", height: 250, square: true });
    const depth = new Panel(box, { title: "Angle in the cluster, layer by layer (degrees)", x: [0, 100], y: [0, 90], xlabel: "layer", height: 250 });

    function draw() {
      const { n, start, layers } = values, simplex = Math.acos(-1 / (n - 1)), first = Math.min(start / degrees, simplex);
      const path = [first];
      for (let layer = 0; layer < layers; layer += 1) path.push(oddMap(path[layer], n));
      const top = Math.min(125, 1.05 * simplex * degrees);
      map.range([0, top], [0, top]);
      map.clear();
      map.line([[0, 0], [top, top]], COLORS.soft, { width: 1 });
      map.line(grid(0, simplex, 300).map(theta => [theta * degrees, oddMap(theta, n) * degrees]), COLORS.corrected);
      const steps = path.slice(0, 200).flatMap((theta, layer) => (layer ? [[path[layer - 1] * degrees, theta * degrees], [theta * degrees, theta * degrees]] : [[theta * degrees, 0]]));
      map.line(steps, COLORS.printed, { width: 1.3 });
      depth.range([0, layers], [0, top]);
      depth.clear();
      depth.line([[0, 540 / n], [layers, 540 / n]], COLORS.soft, { width: 1, dash: "4 3" });
      depth.words([0, 540 / n], "540° / n", COLORS.soft);
      depth.line(path.map((theta, layer) => [layer, theta * degrees]), COLORS.printed);
      const last = path.at(-1), settled = Math.abs(last - simplex) < 0.02 * simplex;
      say(settled ? `All points have become equivalent: after ReLU they stand at ${(simplexAngle(n) * degrees).toFixed(1)}° to each other. ${n < 7 ? "With fewer than seven points there is no odd one." : ""}`
        : `After ${layers} layers recentered cluster points stand at ${(last * degrees).toFixed(2)}° to each other; the cluster never shrinks to a point.`);
    }
    draw();
  }

  repdyn.theory.bn_decomposed = { arccosKernel, arccosKernelComplement, oddGrowth, oddMap, simplexAngle };
  repdyn.widgets.bn_decomposed = widget;
})(window.repdyn);
