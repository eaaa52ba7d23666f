"use strict";
// Ma and Ying, A Riemannian Mean Field Formulation: inner weights on the ellipse b' Sigma b = 1, with the paper's metric.
(repdyn => {
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

  function widget(root) {
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
      say(`Distance by the metric: the angle, ${short(angle(...points))} radians; length of the arc on the ellipse: ${short(length)}. At the orange point the metric shrinks the normal direction to ${short(eigenvalue)}; no point of this ellipse goes below ${short(kantorovichBound(values.k))} (Kantorovich).`);
    }
    draw();
  }

  repdyn.theory.bn_mean_field = { sigmaNorm, normalize, angle, smallestMetricEigenvalue, kantorovichBound, riemannianGradient };
  repdyn.widgets.bn_mean_field = widget;
})(window.repdyn);
