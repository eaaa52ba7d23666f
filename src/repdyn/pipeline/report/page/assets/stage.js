"use strict";
// The controls of a network that trains: settings, presets, play, pause, step, reset, speed, seed, and the address.
(repdyn => {
  const PATIENCE = 150;  // ms without a change before a network is prepared anew

  function button(box, text, pressed) {
    const made = box.appendChild(document.createElement("button"));
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", pressed);
    return made;
  }

  function row(root, name) {
    const box = root.appendChild(document.createElement("div"));
    box.className = name;
    return box;
  }

  // A slider, or a list of choices, that shows and sets one entry of the state.
  function control(box, state, { name, label, low, high, step, logarithmic, choices }, changed) {
    const place = box.appendChild(document.createElement("label"));
    place.append(label);
    const number = typeof state[name] === "number";
    if (choices) {
      const list = place.appendChild(document.createElement("select"));
      list.name = name;
      choices.forEach(choice => { list.appendChild(document.createElement("option")).textContent = choice; });
      list.addEventListener("change", () => { state[name] = number ? Number(list.value) : list.value; changed(); });
      return () => { list.value = String(state[name]); };
    }
    const output = place.appendChild(document.createElement("output")), input = place.appendChild(document.createElement("input"));
    const scale = logarithmic ? Math.log10 : value => value;
    Object.assign(input, { type: "range", min: scale(low), max: scale(high), step: step || (scale(high) - scale(low)) / 200, name });
    const show = () => { input.value = scale(state[name]); output.textContent = repdyn.tools.short(state[name]); };
    input.addEventListener("input", () => {
      const value = Number(input.value);
      state[name] = logarithmic ? Number((10 ** value).toPrecision(3)) : value;
      output.textContent = repdyn.tools.short(state[name]);
      changed();
    });
    return show;
  }

  // Builds the figure of a network that trains; docs/extending.md says what `wanted` holds. The element keeps its state as `training`.
  function stage(root, wanted) {
    const { read, write, connect } = repdyn.training;
    const defaults = { ...wanted.defaults, seed: wanted.defaults.seed ?? 1, speed: 60, record: 0 };
    const prefix = `train-${wanted.name}&`;
    const view = { state: { ...defaults }, prepared: null, records: [], playing: false, finished: false, draws: 0, drawing: 0 };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let run = 0, asked = 0, goal = 0, owed = 0, before = 0, timer = 0, frame = 0;

    const presets = row(root, "presets"), keys = row(root, "keys"), settings = document.createElement("div");
    settings.className = "sliders";
    const changed = () => { view.state.record = 0; restart(); };
    const change = values => { Object.assign(view.state, values); changed(); };  // what a board's handles do
    const kept = wanted.controls.filter(one => one.keeps);  // what only changes how the same run is shown
    const shown = wanted.controls.filter(one => !one.keeps).map(one => control(settings, view.state, one, changed));
    const play = button(keys, "Play", () => (view.playing ? pause() : start()));
    button(keys, "Step", () => { pause(); seek(view.records.length + 1); });
    button(keys, "Reset", () => { view.state.record = 0; restart(0); });
    button(keys, "Next seed", () => { view.state.seed += 1; view.state.record = 0; restart(0); });
    const seed = keys.appendChild(document.createElement("span"));
    shown.push(() => { seed.textContent = `seed ${view.state.seed}`; });
    const speed = { name: "speed", label: "Records per second", choices: [5, 20, 60, 240] };
    const bounded = [...wanted.controls, ...wanted.handles || [], speed, { name: "seed", low: 0, high: 2 ** 32 - 1, step: 1 }, { name: "record", low: 0, high: 1e6, step: 1 }];
    shown.push(control(keys, view.state, speed, () => remember()));
    shown.push(...kept.map(one => control(keys, view.state, one, () => { remember(); board.clear(view); draw(); })));
    wanted.presets.forEach(({ label, values }) => button(presets, label, () => {
      Object.assign(view.state, defaults, values);
      restart(0);
    }));
    const board = wanted.build(root);
    const say = repdyn.tools.said(root);
    root.append(settings);  // below what they change, so that a phone shows figure and words first
    const link = connect(wanted.engine, received, { worker: wanted.worker !== false });
    view.link = link;

    function remember() {
      const own = Object.fromEntries(Object.entries(view.state).filter(([name, value]) => value !== defaults[name]));
      repdyn.keep(prefix + write(own));
    }

    function restart(wait = PATIENCE) {
      pause();
      shown.forEach(show => show());
      Object.assign(view, { prepared: null, records: [], finished: false });
      run += 1;
      asked = 0;
      goal = view.state.record;
      board.clear(view);
      say(wanted.says(view));
      remember();
      clearTimeout(timer);
      timer = setTimeout(() => link.send({ start: { ...view.state }, run }), wait);
    }

    function received(message) {
      if (message.run !== run) return;
      if ("prepared" in message) {
        view.prepared = message.prepared;
        board.clear(view);
        seek(goal);
      } else {
        asked = 0;
        view.records.push(...message.records);
        view.finished = message.finished;
        if (view.finished) pause();
        if (!view.playing && !view.finished && view.records.length < goal) ask(goal - view.records.length);
        if (!view.playing) remembered();
      }
      draw();
    }

    function remembered() { view.state.record = view.records.length; remember(); }

    function ask(count) {
      if (asked || !view.prepared || view.finished || count < 1) return;
      asked = count;
      link.send({ advance: count, run });
    }

    // Trains until that many records are there.
    function seek(count) {
      goal = count;
      ask(goal - view.records.length);
    }

    function start() {
      if (view.finished) { view.state.record = 0; restart(0); }
      view.playing = true;
      play.textContent = "Pause";
      before = performance.now();
      owed = 0;
      frame = requestAnimationFrame(tick);
    }

    function pause() {
      if (view.playing) { view.playing = false; goal = view.records.length; remembered(); draw(); }
      cancelAnimationFrame(frame);
      play.textContent = "Play";
    }

    // Once a frame: asks for as many records as are due, unless an answer is still out. Without motion: for all.
    function tick(now) {
      if (!view.playing) return;
      if (!root.isConnected) { pause(); return; }
      owed = asked || !view.prepared ? 0 : owed + (now - before) / 1000 * view.state.speed;
      before = now;
      const due = still ? 1e6 : Math.floor(owed);
      if (due && view.prepared && !asked) { owed -= Math.min(due, owed); ask(due); }
      frame = requestAnimationFrame(tick);
    }

    let drawn = 0, told = 0;
    function draw() {
      cancelAnimationFrame(drawn);
      drawn = requestAnimationFrame(() => {
        const begun = performance.now();
        board.draw(view);
        if (!view.playing || begun - told > 1000) { say(wanted.says(view)); told = begun; }  // a screen reader reads each
        view.draws += 1;
        view.drawing += performance.now() - begun;
      });
    }

    root.addEventListener("keydown", event => {
      if (event.defaultPrevented || event.target.closest("input, select, button, a")) return;  // a handle takes its arrows
      const act = { " ": () => play.click(), ArrowRight: () => { pause(); seek(view.records.length + 1); }, Home: () => { view.state.record = 0; restart(0); } }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    root.tabIndex = 0;
    function restore() {
      const text = repdyn.fragment();
      if (!text.startsWith(prefix)) return false;
      Object.assign(view.state, defaults, read(text.slice(prefix.length), defaults, bounded));
      root.scrollIntoView();
      return true;
    }
    addEventListener("hashchange", function follow() {
      if (root.isConnected) { if (restore()) restart(0); return; }
      removeEventListener("hashchange", follow);  // the single file has gone to another page
      link.stop();
    });
    const linked = restore();
    shown.forEach(show => show());
    board.clear(view);
    say(wanted.says(view));
    run += 1;
    goal = view.state.record;
    timer = setTimeout(() => link.send({ start: { ...view.state }, run }), linked ? 0 : PATIENCE);
    root.training = Object.assign(view, { start, pause, seek, change });
    return view;
  }

  repdyn.stage = stage;
})(window.repdyn);
