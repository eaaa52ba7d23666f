"use strict";
// One data point along the printed and the corrected flow of Theorem 3.2, in twenty seconds: numbers of the run, in a loop.
(repdyn => {
  const LOOP = 20, MOVING = 18;  // seconds; the last frame rests until the loop begins again
  const SPACE = "http://www.w3.org/2000/svg", SIZE = [320, 280], MARGIN = { left: 42, right: 16, top: 12, bottom: 38 };
  const FAR = 9;  // length of the edges of a cone
  const DASH = { printed: "7 4", corrected: "none" };

  function element(parent, tag, attributes, text) {
    const added = parent.appendChild(document.createElementNS(SPACE, tag));
    Object.entries(attributes).forEach(([name, value]) => added.setAttribute(name, value));
    if (text !== undefined) added.textContent = text;
    return added;
  }

  // Round numbers between two ends.
  function ticks([low, high]) {
    const rough = (high - low) / 4, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 5, 10].find(factor => factor * unit >= rough);
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(6)));
  }

  // Axes in an SVG of their own; returns the places for what is drawn, and the map from numbers to pixels.
  function panel(root, { x, y, xlabel, title }) {
    const [width, height] = SIZE, { left, right, top, bottom } = MARGIN;
    const box = root.appendChild(document.createElement("div"));
    box.appendChild(document.createElement("p")).textContent = title;
    const svg = element(box, "svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const px = value => left + (value - x[0]) / (x[1] - x[0]) * (width - left - right);
    const py = value => height - bottom - (value - y[0]) / (y[1] - y[0]) * (height - top - bottom);
    const clip = `${root.dataset.opening}-${root.querySelectorAll("svg").length}`;
    element(element(svg, "clipPath", { id: clip }), "rect", { x: left, y: top, width: width - left - right, height: height - top - bottom });
    const far = element(svg, "g", { "clip-path": `url(#${clip})` });  // what would leave the panel
    element(svg, "path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` });
    ticks(x).forEach(value => element(svg, "text", { x: px(value), y: height - bottom + 16, "text-anchor": "middle" }, value));
    ticks(y).forEach(value => element(svg, "text", { x: left - 6, y: py(value) + 4, "text-anchor": "end" }, value));
    element(svg, "text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, xlabel);
    return { far, place: element(svg, "g", {}), at: ([a, b]) => [px(a), py(b)] };
  }

  const path = points => points.map((point, k) => `${k ? "L" : "M"}${point.map(value => value.toFixed(2)).join(" ")}`).join("");

  // The value of a series at a place between two of its entries.
  function between(series, place) {
    const low = Math.min(Math.floor(place), series.length - 2), share = place - low;
    const mix = (a, b) => a + share * (b - a);
    return Array.isArray(series[low]) ? series[low].map((value, k) => mix(value, series[low + 1][k])) : mix(series[low], series[low + 1]);
  }

  // Ends of both axes of the plane, as long as each other, around all that moves.
  function square(points) {
    const ends = [0, 1].map(axis => { const all = points.map(point => point[axis]); return [Math.min(...all), Math.max(...all)]; });
    const half = 0.58 * Math.max(...ends.map(([low, high]) => high - low));
    return ends.map(([low, high]) => [(low + high) / 2 - half, (low + high) / 2 + half]);
  }

  // Draws everything once; returns what moves it to a share of the flow's time.
  function draw(root, numbers) {
    const { time, formula, example_cost: cost, example_apex: apex, example_turn: turn, example_image: image } = numbers;
    const point = numbers.example_point, label = numbers.example_label, horizon = time.at(-1);
    const [x, y] = square([point, label, ...image.flat(), ...apex.flat()]);
    const top = Math.max(...cost.flat());
    const hill = panel(root, { x: [0, horizon], y: [-0.08 * top, 1.15 * top], xlabel: "flow time", title: "Cost: printed (dashed), corrected" });
    const plane = panel(root, { x, y, xlabel: "input coordinates", title: "Cone, data point and its image" });
    const moving = formula.map((name, k) => {
      const look = { class: name, "stroke-dasharray": DASH[name] };
      element(hill.place, "path", { ...look, class: `${name} ahead`, d: path(cost[k].map((value, n) => hill.at([time[n], value]))) });
      return {
        cone: element(plane.far, "path", { ...look, class: `${name} cone` }), link: element(plane.place, "path", { ...look, class: `${name} link` }),
        trail: element(plane.place, "path", look), curve: element(hill.place, "path", look),
        image: element(plane.place, "circle", { class: name, r: 6 }), ball: element(hill.place, "circle", { class: name, r: 7 }),
        words: element(hill.place, "text", { class: name, "text-anchor": "middle" }),
      };
    });
    const fixed = (at, words, name) => {
      const [left, above] = plane.at(at);
      element(plane.place, "circle", { cx: left, cy: above, r: 4.5, class: name });
      element(plane.place, "text", { x: left - 10, y: above + 4, "text-anchor": "end" }, words);
    };
    fixed(point, "data point", "given");
    fixed(label, "label", "target");

    return share => {
      const place = share * (time.length - 1), reached = Math.floor(place);
      const heights = cost.map(values => hill.at([0, between(values, place)])[1]), close = Math.abs(heights[0] - heights[1]) < 18;
      moving.forEach((parts, k) => {
        const angle = between(turn[k], place) * Math.PI / 180, [a, b] = between(apex[k], place), here = between(image[k], place), now = between(cost[k], place);
        const edges = [[a + FAR * Math.cos(angle), b - FAR * Math.sin(angle)], [a, b], [a + FAR * Math.sin(angle), b + FAR * Math.cos(angle)]];
        const moment = between(time, place), [left, above] = hill.at([moment, now]), middle = plane.at(here);
        parts.cone.setAttribute("d", path(edges.map(plane.at)));
        parts.link.setAttribute("d", path([here, label].map(plane.at)));
        parts.trail.setAttribute("d", path([...image[k].slice(0, reached + 1), here].map(plane.at)));
        parts.curve.setAttribute("d", path([...cost[k].slice(0, reached + 1).map((value, n) => [time[n], value]), [moment, now]].map(hill.at)));
        [[parts.image, middle], [parts.ball, [left, above]]].forEach(([circle, [cx, cy]]) => { circle.setAttribute("cx", cx); circle.setAttribute("cy", cy); });
        parts.words.setAttribute("x", Math.max(MARGIN.left + 18, Math.min(left, SIZE[0] - 26)));
        parts.words.setAttribute("y", above - (close && above === Math.min(...heights) ? 28 : 12));
        parts.words.textContent = now.toFixed(3);
      });
    };
  }

  function opening(root) {
    const numbers = repdyn.openings && repdyn.openings.truncation_flow;
    if (!numbers) return;
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "panels";
    box.dataset.opening = root.dataset.opening;
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", root.dataset.seen);
    button.type = "button";
    root.prepend(box, button);
    const show = draw(box, numbers), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const state = { seconds: still ? MOVING : 0, playing: false, seek(seconds) { state.seconds = seconds; show(Math.min(seconds / MOVING, 1)); } };
    let before = 0;
    function frame(now) {
      if (!state.playing || !root.isConnected) return;
      state.seek((state.seconds + Math.max(0, Math.min(now - before, 100)) / 1000) % LOOP);
      before = now;
      requestAnimationFrame(frame);
    }
    function play(on) {
      state.playing = on;
      button.textContent = on ? "Pause" : "Play";
      before = performance.now();
      if (on) requestAnimationFrame(frame);
    }
    button.addEventListener("click", () => {
      if (!state.playing && state.seconds >= MOVING) state.seek(0);
      play(!state.playing);
    });
    state.seek(state.seconds);
    play(!still);
    root.opening = state;
  }

  repdyn.setup.push(root => root.querySelectorAll('figure[data-opening="truncation_flow"]').forEach(opening));
})(window.repdyn);
