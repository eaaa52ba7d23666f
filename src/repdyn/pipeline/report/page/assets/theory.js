"use strict";
// What the interactive figures share: sliders, panels with axes, lines, handles that are dragged or moved by arrow keys.
window.repdyn = window.repdyn || {};
(repdyn => {
  repdyn.theory = {};  // study -> its closed forms, the same numbers as the Python functions of the same names
  repdyn.widgets = {};  // study -> function that builds its figure in an element

  const SPACE = "http://www.w3.org/2000/svg";
  const COLORS = { printed: "#d55e00", corrected: "#0072b2", h: "#0072b2", y: "#d55e00", w: "#009e73", soft: "#565f6b", line: "#d9dee4" };
  const MARGIN = { left: 44, right: 10, top: 8, bottom: 30 };

  function element(tag, attributes, parent) {
    const made = document.createElementNS(SPACE, tag);
    Object.entries(attributes || {}).forEach(([name, value]) => made.setAttribute(name, value));
    if (parent) parent.append(made);
    return made;
  }

  function short(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const text = size >= 1e4 || size < 1e-2 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
    return text.replaceAll("-", "\u2212").replace("e+", "e");
  }

  // About five round numbers between two others.
  function ticks(low, high) {
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find(factor => factor * power >= rough) || 10);
    const marks = [];
    for (let mark = Math.ceil(low / step); mark * step <= high + 1e-9 * step; mark += 1) marks.push(mark * step);
    return marks;
  }

  // Labels of the ticks; numbers too large or too small for the margin share a power of ten, which is given apart.
  function labelled(marks) {
    const size = Math.max(...marks.map(Math.abs)), power = size >= 1e4 || size < 1e-2 ? Math.floor(Math.log10(size)) : 0;
    if (!Number.isFinite(power) || power === 0) return { labels: marks.map(short), factor: "" };
    const exponent = String(power).replace(/./g, sign => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[sign] || "\u207b");
    return { labels: marks.map(mark => short(Number((mark / 10 ** power).toPrecision(6)))), factor: `\u00d710${exponent}` };
  }

  // A panel with axes: x and y are [low, high]; "square" gives both axes one scale.
  class Panel {
    constructor(parent, { title, label, x, y, width = 320, height = 220, square = false, xlabel = "", axes = true }) {
      const box = parent.appendChild(document.createElement("div"));
      box.className = "panel";
      if (title) box.appendChild(document.createElement("p")).textContent = title;
      Object.assign(this, { width, height, square, xlabel, axes });
      this.root = element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label || title }, box);
      this.back = element("g", {}, this.root);
      this.front = element("g", {}, this.root);
      this.handles = element("g", {}, this.root);
      this.range(x, y);
    }

    range(x, y) {
      if (this.square) {  // widen the axis that has room
        const inner = [this.width - MARGIN.left - MARGIN.right, this.height - MARGIN.top - MARGIN.bottom];
        const scale = Math.max((x[1] - x[0]) / inner[0], (y[1] - y[0]) / inner[1]);
        [x, y] = [x, y].map((ends, place) => {
          const middle = (ends[0] + ends[1]) / 2, half = scale * inner[place] / 2;
          return [middle - half, middle + half];
        });
      }
      this.x = x;
      this.y = y;
      this.back.replaceChildren();
      if (this.axes) this.draw_axes();
    }

    draw_axes() {
      const bottom = this.height - MARGIN.bottom;
      const [across, up] = [this.x, this.y].map(ends => ticks(...ends)), [below, left] = [across, up].map(labelled);
      across.forEach((mark, k) => {
        element("line", { x1: this.px(mark), x2: this.px(mark), y1: MARGIN.top, y2: bottom, stroke: COLORS.line }, this.back);
        element("text", { x: this.px(mark), y: bottom + 14, "text-anchor": "middle" }, this.back).textContent = below.labels[k];
      });
      up.forEach((mark, k) => {
        element("line", { x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.py(mark), y2: this.py(mark), stroke: COLORS.line }, this.back);
        element("text", { x: MARGIN.left - 5, y: this.py(mark) + 4, "text-anchor": "end" }, this.back).textContent = left.labels[k];
      });
      element("text", { x: MARGIN.left + 4, y: MARGIN.top + 9 }, this.back).textContent = left.factor;
      element("text", { x: this.width - MARGIN.right, y: this.height - 3, "text-anchor": "end" }, this.back).textContent = [this.xlabel, below.factor].filter(Boolean).join(" ");
    }

    px(x) { return MARGIN.left + (x - this.x[0]) / (this.x[1] - this.x[0]) * (this.width - MARGIN.left - MARGIN.right); }
    py(y) { return this.height - MARGIN.bottom - (y - this.y[0]) / (this.y[1] - this.y[0]) * (this.height - MARGIN.top - MARGIN.bottom); }
    fromPixels(px, py) {
      return [this.x[0] + (px - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right) * (this.x[1] - this.x[0]),
        this.y[0] + (this.height - MARGIN.bottom - py) / (this.height - MARGIN.top - MARGIN.bottom) * (this.y[1] - this.y[0])];
    }

    clear() { this.front.replaceChildren(); }

    line(points, color, { dash = "", width = 2, fill = "none", opacity = 1 } = {}) {
      const clip = value => Math.max(-1e4, Math.min(1e4, value));
      const path = points.map(([x, y], place) => `${place ? "L" : "M"}${clip(this.px(x)).toFixed(2)} ${clip(this.py(y)).toFixed(2)}`).join("");
      return element("path", { d: path, fill, opacity, stroke: color, "stroke-width": width, "stroke-dasharray": dash }, this.front);
    }

    dot([x, y], color, radius = 3, opacity = 1) {
      return element("circle", { cx: this.px(x), cy: this.py(y), r: radius, fill: color, opacity }, this.front);
    }

    // Many dots of one color, one path; `moved(points)` draws others in their place.
    dots(color, radius = 2.5) {
      const made = element("path", { fill: "none", stroke: color, "stroke-width": 2 * radius, "stroke-linecap": "round" }, this.front);
      const inside = ([x, y]) => Number.isFinite(y) && x <= this.x[1] && y >= this.y[0] && y <= this.y[1];
      return points => made.setAttribute("d", points.filter(inside).map(([x, y]) => `M${this.px(x).toFixed(2)} ${this.py(y).toFixed(2)}h0`).join(""));
    }

    words([x, y], text, color = COLORS.soft, anchor = "start") {
      const made = element("text", { x: this.px(x) + (anchor === "start" ? 5 : -5), y: this.py(y) - 5, "text-anchor": anchor, style: `fill: ${color}` }, this.front);
      made.textContent = text;
    }

    // Something to drag; `moved` gets the new place. Arrow keys move it by a fiftieth of the panel.
    handle([x, y], color, label, moved) {
      const made = element("circle", { r: 8, fill: color, stroke: "#fff", "stroke-width": 2, class: "handle", tabindex: 0, role: "button", "aria-label": `${label}; move with the arrow keys` }, this.handles);
      const place = point => { made.setAttribute("cx", this.px(point[0])); made.setAttribute("cy", this.py(point[1])); made.point = point; };
      const move = point => place(moved(point) || point);
      made.addEventListener("pointerdown", event => { made.setPointerCapture(event.pointerId); event.preventDefault(); made.focus(); });
      made.addEventListener("pointermove", event => {
        if (!made.hasPointerCapture(event.pointerId)) return;
        const box = this.root.getBoundingClientRect();
        move(this.fromPixels((event.clientX - box.left) / box.width * this.width, (event.clientY - box.top) / box.height * this.height));
      });
      made.addEventListener("keydown", event => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way) return;
        event.preventDefault();
        move([made.point[0] + way[0] * (this.x[1] - this.x[0]) / 50, made.point[1] + way[1] * (this.y[1] - this.y[0]) / 50]);
      });
      place([x, y]);
      return place;
    }
  }

  // Sliders by name; a logarithmic one moves the exponent. Returns the values, kept up to date.
  function sliders(root, wanted, changed) {
    const box = root.appendChild(document.createElement("div")), values = {};
    box.className = "sliders";
    wanted.forEach(({ name, label, low, high, value, step, logarithmic = false }) => {
      const row = box.appendChild(document.createElement("label"));
      row.append(label);
      const output = row.appendChild(document.createElement("output")), input = row.appendChild(document.createElement("input"));
      const scale = logarithmic ? Math.log10 : number => number;
      Object.assign(input, { type: "range", min: scale(low), max: scale(high), step: step || (scale(high) - scale(low)) / 200, name });
      input.value = scale(value);
      values[name] = value;
      const read = () => {
        values[name] = logarithmic ? 10 ** Number(input.value) : Number(input.value);
        output.textContent = short(values[name]);
      };
      read();
      values[name] = value;
      input.addEventListener("input", () => { read(); changed(); });
    });
    return values;
  }

  function panels(root) {
    const box = root.appendChild(document.createElement("div"));
    box.className = "panels";
    return box;
  }

  function said(root) {
    const line = root.appendChild(document.createElement("p"));
    line.className = "said";
    line.setAttribute("role", "status");
    return text => { line.textContent = text; };
  }

  // n numbers from low to high.
  function grid(low, high, n) { return Array.from({ length: n }, (_, place) => low + (high - low) * place / (n - 1)); }

  repdyn.tools = { COLORS, Panel, sliders, panels, said, grid, short };
  repdyn.setup = repdyn.setup || [];
  repdyn.setup.push(root => root.querySelectorAll("[data-theory]").forEach(place => {
    const widget = repdyn.widgets[place.dataset.theory];
    if (!widget) return;
    place.replaceChildren();
    widget(place);
  }));
})(window.repdyn);
