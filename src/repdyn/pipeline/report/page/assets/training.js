"use strict";
// Networks that train beside the theory: a numerical kernel, a worker that runs it, controls, the state in the address.
window.repdyn = window.repdyn || {};
(repdyn => {
  // All that computes. Its own text is the worker's program, so it uses nothing from outside.
  function kernel() {
    // mulberry32 (T. Ettinger): uniform in [0, 1) from a whole number; two draws make 53 bits.
    function random(seed) {
      let state = seed >>> 0, spare = null;
      function bits() {
        state = state + 0x6d2b79f5 >>> 0;
        let t = Math.imul(state ^ state >>> 15, state | 1);
        t ^= t + Math.imul(t ^ t >>> 7, t | 61);
        return (t ^ t >>> 14) >>> 0;
      }
      const uniform = () => ((bits() >>> 5) * 67108864 + (bits() >>> 6)) / 9007199254740992;
      function normal() {  // Box and Muller
        if (spare !== null) { const kept = spare; spare = null; return kept; }
        const size = Math.sqrt(-2 * Math.log(1 - uniform())), angle = 2 * Math.PI * uniform();
        spare = size * Math.sin(angle);
        return size * Math.cos(angle);
      }
      return { uniform, normal };
    }

    // name -> [value, slope]; the slope from pre-activation z and value a.
    const LEAK = 0.01, logistic = z => 1 / (1 + Math.exp(-z));
    const NONLINEARITIES = {
      none: [z => z, () => 1],
      relu: [z => (z > 0 ? z : 0), z => (z > 0 ? 1 : 0)],
      "leaky relu": [z => (z > 0 ? z : LEAK * z), z => (z > 0 ? 1 : LEAK)],
      tanh: [Math.tanh, (z, a) => 1 - a * a],
      elu: [z => (z > 0 ? z : Math.expm1(z)), (z, a) => (z > 0 ? 1 : a + 1)],
      swish: [z => z * logistic(z), (z, a) => logistic(z) + a * (1 - logistic(z))],
    };

    // Dense layers with biases, none of them nonlinear but the hidden ones. Layer k maps sizes[k] to sizes[k + 1];
    // weights[k] is (out, in) by rows. Points are rows. All float64.
    function perceptron(sizes, nonlinearity, points, { skip = false } = {}) {
      const [value, slope] = NONLINEARITIES[nonlinearity], last = sizes.length - 2, make = n => new Float64Array(n);
      const weights = [], biases = [], gradients = [], biasGradients = [], before = [], after = [make(points * sizes[0])], errors = [], arriving = [];
      const skipping = k => skip && k >= 2 && k < last;  // whether hidden layer k adds what the one two before gives
      for (let k = 0; k <= last; k += 1) {
        weights.push(make(sizes[k] * sizes[k + 1])); gradients.push(make(sizes[k] * sizes[k + 1]));
        biases.push(make(sizes[k + 1])); biasGradients.push(make(sizes[k + 1]));
        before.push(make(points * sizes[k + 1])); after.push(make(points * sizes[k + 1])); errors.push(make(points * sizes[k + 1])); arriving.push(make(points * sizes[k + 1]));
      }

      // Outputs (points, out) of inputs (points, in); after[k + 1] is what layer k gives.
      function forward(X) {
        after[0].set(X);
        for (let k = 0; k <= last; k += 1) {
          const [n, m, W, b, a, z, out] = [sizes[k], sizes[k + 1], weights[k], biases[k], after[k], before[k], after[k + 1]];
          for (let p = 0; p < points; p += 1) {
            for (let o = 0; o < m; o += 1) {
              let sum = b[o];
              for (let i = 0, row = o * n, from = p * n; i < n; i += 1) sum += W[row + i] * a[from + i];
              z[p * m + o] = sum;
              out[p * m + o] = k < last ? value(sum) + (skipping(k) ? after[k - 1][p * m + o] : 0) : sum;
            }
          }
        }
        return after[last + 1];
      }

      // Gradients of a loss, from its derivative with respect to the outputs of the last `forward`.
      function backward(derivative) {
        errors[last].set(derivative);
        for (let k = last; k >= 0; k -= 1) {
          const [n, m, W, G, g, a, d] = [sizes[k], sizes[k + 1], weights[k], gradients[k], biasGradients[k], after[k], errors[k]];
          G.fill(0); g.fill(0);
          const below = k > 0 ? errors[k - 1].fill(0) : null;
          for (let p = 0; p < points; p += 1) {
            for (let o = 0; o < m; o += 1) {
              const error = d[p * m + o];
              g[o] += error;
              for (let i = 0, row = o * n, from = p * n; i < n; i += 1) {
                G[row + i] += error * a[from + i];
                if (below) below[from + i] += error * W[row + i];
              }
            }
          }
          if (!below) continue;
          if (skipping(k + 1)) for (let i = 0; i < below.length; i += 1) below[i] += arriving[k + 1][i];
          arriving[k - 1].set(below);
          for (let i = 0; i < below.length; i += 1) below[i] *= slope(before[k - 1][i], skipping(k - 1) ? value(before[k - 1][i]) : a[i]);
        }
      }

      function descend(rate) {
        for (let k = 0; k <= last; k += 1) {
          for (let i = 0; i < weights[k].length; i += 1) weights[k][i] -= rate * gradients[k][i];
          for (let i = 0; i < biases[k].length; i += 1) biases[k][i] -= rate * biasGradients[k][i];
        }
      }

      // Xavier's normal distribution times the gain, biases zero.
      function draw(gain, generator) {
        weights.forEach((W, k) => {
          const spread = gain * Math.sqrt(2 / (sizes[k] + sizes[k + 1]));
          for (let i = 0; i < W.length; i += 1) W[i] = spread * generator.normal();
        });
      }
      return { sizes, weights, biases, gradients, biasGradients, after, forward, backward, descend, draw };
    }

    // Answers {start, run}, {advance, run} by posting {prepared, run} and {records, finished, run}; in slices, so that
    // a new start interrupts. An engine gives prepare(), a generator that may yield, and records(), one that yields each.
    function serve(engines, post) {
      const SLICE = 10;  // ms
      let run = 0, model = null, stream = null;
      function sliced(own, work, done) {
        const until = performance.now() + SLICE;
        do {
          if (own !== run) return;
          const { value, done: ended } = work.next();
          if (ended) { done(value); return; }
        } while (performance.now() < until);
        setTimeout(() => sliced(own, work, done));
      }
      function* take(count) {
        const records = [];
        while (records.length < count) {
          const { value, done } = stream.next();
          if (done) return { records, finished: true };
          if (value) records.push(value);
          yield;
        }
        return { records, finished: false };
      }
      return message => {
        if (message.start) {
          run = message.run;
          model = engines(message.start);
          sliced(run, model.prepare(), prepared => { stream = model.records(); post({ prepared, run: message.run }); });
        } else if (message.run === run) {
          sliced(run, take(message.advance), answer => post({ ...answer, run: message.run }));
        }
      };
    }
    return { random, NONLINEARITIES, perceptron, serve };
  }

  // Sends messages to an engine: a worker made of the functions' own text, or this thread where workers are refused.
  function connect(engine, received, { worker = true } = {}) {
    const here = () => {
      const tools = kernel();
      return { kind: "page", send: tools.serve(engine(tools), answer => setTimeout(() => received(answer))), stop: () => {} };
    };
    if (!worker || typeof Worker === "undefined") return here();
    const text = `"use strict"; const tools = (${kernel})(); self.onmessage = (serve => event => serve(event.data))(tools.serve((${engine})(tools), answer => self.postMessage(answer)));`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const link = { kind: "worker", send: null, stop: () => {} };
    let heard = false;
    const sent = [];
    try {
      const made = new Worker(address);
      link.stop = () => made.terminate();
      made.onmessage = event => { heard = true; received(event.data); };
      made.onerror = event => {  // refused after all: what was asked is asked here
        if (heard) throw new Error(event.message);
        event.preventDefault();
        Object.assign(link, here());
        sent.forEach(message => link.send(message));
      };
      link.send = message => { if (!heard) sent.push(message); made.postMessage(message); };
      return link;
    } catch {
      return here();
    }
  }

  // The state as name=value pairs; numbers in full. What an address says is held to the ranges of the controls, counts
  // to their steps: half a point or layer is none.
  const write = state => Object.entries(state).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  function read(text, defaults, controls = []) {
    const state = {};
    new URLSearchParams(text).forEach((value, name) => {
      if (!Object.hasOwn(defaults, name)) return;
      const { choices, low = -Infinity, high = Infinity, step = 0 } = controls.find(one => one.name === name) || {};
      if (choices && !choices.map(String).includes(value)) return;
      if (typeof defaults[name] !== "number") { state[name] = value; return; }
      const asked = value.trim() ? Number(value) : NaN, held = Math.min(high, Math.max(low, asked));
      if (Number.isFinite(asked)) state[name] = step >= 1 ? low + step * Math.round((held - low) / step) : held;
    });
    return state;
  }

  repdyn.training = { kernel: kernel(), source: kernel, connect, write, read };
})(window.repdyn);
