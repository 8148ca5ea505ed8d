/* SGD in the valley of one Bernoulli variable. The model gives label 1 the probability q = 1 / (1 + e^−ab), the truth is p, so that
   the loss is least on the hyperbola ab = log(p / (1 − p)). ntpWidgets.valley has the mathematics:
   model(p)                       its gradient, excess loss, trace of the Hessian, flow and walls
   ensemble(p, start, rate, batch, runs, seed)  independent runs of SGD from one point, the same for the same seed
   summary(p, start, runs)        what the mean of the runs has done, beside the flow of the paper */
(function () {
  "use strict";
  const LEAST_STEPS = 60; // of a run whose learning rate is so large that the horizon comes before

  const logistic = (z) => 1 / (1 + Math.exp(-z));
  const softplus = (z) => Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z))); // −log(1 − q)

  function model(p) {
    const logit = Math.log(p / (1 - p));
    const floor = -p * Math.log(p) - (1 - p) * Math.log(1 - p);
    const at = (z) => p * softplus(-z) + (1 - p) * softplus(z) - floor; // excess loss at the logit z
    const slope = (q, [a, b]) => [(q - p) * b, (q - p) * a];
    const curvature = (q, [a, b]) => q * (1 - q) * (a * a + b * b);
    /* The point with a² − b² = D on the branch of the valley where a > 0. */
    function point(D) {
      const a = Math.sqrt((D + Math.hypot(D, 2 * logit)) / 2);
      return [a, logit / a];
    }
    function wall(level, sign) {
      let [near, far] = [logit, logit + sign];
      while (at(far) < level) far += sign;
      for (let k = 0; k < 60; k++) {
        const middle = (near + far) / 2;
        if (at(middle) < level) near = middle;
        else far = middle;
      }
      return far;
    }
    return {
      gradient: (theta) => slope(logistic(theta[0] * theta[1]), theta),
      excess: ([a, b]) => at(a * b),
      trace: (theta) => curvature(logistic(theta[0] * theta[1]), theta),
      flow: ([a, b], t, batch) => point((a * a - b * b) * Math.exp((-p * (1 - p) * t) / batch)),
      point,
      walls: (level) => [wall(level, -1), wall(level, 1)], // the logits at which the excess loss is `level`
    };
  }

  /* Uniform numbers in [0, 1): the generator sfc32 of PractRand, mixed before the first one. */
  function generator(seed) {
    let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, seed >>> 0];
    function next() {
      const sum = (a + b + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = ((c << 21) | (c >>> 11)) + sum;
      return (sum >>> 0) / 2 ** 32;
    }
    for (let k = 0; k < 15; k++) next();
    return next;
  }

  /* Pr(at most k of `batch` labels are 1), k = 0, …, batch; the last one is 1. */
  function cumulative(batch, p) {
    const table = [];
    let [term, sum] = [(1 - p) ** batch, 0];
    for (let k = 0; k < batch; k++) {
      sum += term;
      table.push(sum);
      term *= ((batch - k) / (k + 1)) * (p / (1 - p));
    }
    return [...table, 1];
  }

  function ensemble(p, start, rate, batch, runs, seed) {
    const [a, b] = start.map((value) => new Float64Array(runs).fill(value));
    const [random, table] = [generator(seed), cumulative(batch, p)];
    const self = { a, b, rate, batch, steps: 0 };
    function move(i) {
      const drawn = random();
      let ones = 0;
      while (drawn >= table[ones]) ones++;
      if (a[i] * a[i] + b[i] * b[i] > 1e12) return; // a run that diverged stays where it is
      const pull = rate * (logistic(a[i] * b[i]) - ones / batch);
      [a[i], b[i]] = [a[i] - pull * b[i], b[i] - pull * a[i]];
    }
    self.advance = function (steps) {
      for (let k = 0; k < steps; k++) for (let i = 0; i < runs; i++) move(i);
      self.steps += steps;
    };
    return self;
  }

  function meanAndError(values) {
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    const squares = values.reduce((sum, v) => sum + (v - mean) ** 2, 0);
    return [mean, Math.sqrt(squares / (values.length - 1) / values.length)];
  }

  /* fraction: of the flow's displacement, [mean, standard error] over runs. imbalance: the same of a² − b². across: root mean square
     distance from the flow across the valley, and what the theory predicts for it. */
  function summary(p, start, runs) {
    const t = runs.rate ** 2 * runs.steps;
    const goal = model(p).flow(start, t, runs.batch);
    const way = [goal[0] - start[0], goal[1] - start[1]];
    const [length, radius] = [way[0] ** 2 + way[1] ** 2, Math.hypot(...goal)];
    const along = Array.from(runs.a, (a, i) => ((a - start[0]) * way[0] + (runs.b[i] - start[1]) * way[1]) / length);
    const off = Array.from(runs.a, (a, i) => ((a - goal[0]) * goal[1] + (runs.b[i] - goal[1]) * goal[0]) / radius);
    return {
      t, goal,
      fraction: length > 0 ? meanAndError(along) : null,
      imbalance: meanAndError(Array.from(runs.a, (a, i) => a * a - runs.b[i] ** 2)),
      across: Math.sqrt(meanAndError(off.map((x) => x * x))[0]),
      predicted: Math.sqrt(runs.rate / (2 * runs.batch)),
    };
  }

  const number = ntpWidgets.number;
  /* As many decimals as the standard error allows. */
  function measured(mean, error) {
    const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(error))));
    return `${mean.toFixed(digits)} ± ${error.toFixed(digits)}`.replace(/-/g, "−");
  }
  const inside = ([a, b], [left, right, bottom, top]) => a >= left && a <= right && b >= bottom && b <= top;

  /* What a reader is told of the state of the runs. */
  function words(data, now, found) {
    const [steps, lost] = [`${now.runs.steps} steps of η = ${number(now.rate, 2)}`, outside(data, now.runs)];
    if (!found.fraction) return `All ${data.runs} runs start in the valley. Press Run or Step.`;
    const [mean, error] = found.fraction;
    const limit = 2 / model(data.p).trace(data.start);
    if (now.rate > limit) {
      return (
        `Beyond the stability limit: η = ${number(now.rate, 2)} is larger than 2 / tr H = ${number(limit)} at the start. A step ` +
        `overshoots the floor of the valley by more than its distance from it, so that gradient descent leaves it even without noise; ` +
        `after ${now.runs.steps} steps ${lost} of ${data.runs} are outside the picture. The theorem says nothing here.`
      );
    }
    const told =
      `After ${steps} (t = η²k = ${number(found.t)}) the mean of ${data.runs} runs has covered ${measured(mean, error)} ` +
      `of the flow's displacement. Across the valley the runs are spread by ${number(found.across, 2)}; ` +
      `the theory predicts √(η / 2B) = ${number(found.predicted, 2)}.`;
    const small = now.rate * model(data.p).trace(data.start) < 0.5;
    const why = small
      ? " The difference from 1 is of first order in η: halve η and it halves."
      : " Such a learning rate is not small, and the theorem is about the limit of small ones.";
    return told + (Math.abs(mean - 1) > 3 * error ? why : "") + (lost ? ` Outside the picture: ${lost} runs.` : "");
  }

  function outside(data, runs) {
    let count = 0;
    for (let i = 0; i < runs.a.length; i++) count += !inside([runs.a[i], runs.b[i]], data.reach);
    return count;
  }

  /* The floor of the valley and the walls around it, as regions of excess loss, inside the picture. */
  function drawValley(p, data) {
    const { walls } = model(data.p);
    const [, right, , top] = data.reach;
    const grid = Array.from({ length: 121 }, (_, k) => (right * Math.max(k, 0.1)) / 120);
    for (const level of data.levels) {
      const [low, high] = walls(level).map((z) => grid.map((a) => [a, Math.min(top, z / a)]));
      p.area([...high, ...low.reverse()], "theory");
    }
  }

  function drawRuns(p, data, runs) {
    const dots = [];
    for (let i = 0; i < runs.a.length; i++) {
      if (!inside([runs.a[i], runs.b[i]], data.reach)) continue;
      dots.push(`M${p.x(runs.a[i]).toFixed(1)} ${p.y(runs.b[i]).toFixed(1)}h0`);
    }
    const look = { d: dots.join(""), class: "line c-measurement", style: "stroke-width:4;stroke-linecap:round;opacity:.6" };
    ntpPlot.svg("path", look, p.content);
  }

  function mount(ui, data) {
    const { flow, point } = model(data.p);
    const first = { exponent: 2, batch: 0, seed: 1 };
    const now = { ...first, timer: 0 };
    const least = data.rates[0];

    function restart() {
      now.rate = least * 2 ** now.exponent;
      now.runs = ensemble(data.p, data.start, now.rate, 2 ** now.batch, data.runs, now.seed);
      now.last = Math.max(LEAST_STEPS, Math.round(data.horizon / now.rate ** 2));
      now.path = [];
      keep();
    }
    function keep() {
      const found = summary(data.p, data.start, now.runs);
      now.path.push({ t: found.t, at: mean(now.runs), imbalance: found.imbalance });
      return found;
    }
    const mean = (runs) => [runs.a, runs.b].map((values) => meanAndError(values)[0]);
    function advance(steps) {
      now.runs.advance(Math.min(steps, now.last - now.runs.steps));
      return keep();
    }
    const stride = (parts) => Math.max(1, Math.round(now.last / parts));
    const ended = () => now.runs.steps >= now.last;

    function pause() {
      cancelAnimationFrame(now.timer);
      now.timer = 0;
      run.textContent = "Run";
    }
    function show() {
      const found = summary(data.p, data.start, now.runs);
      const { rate, seed, runs } = now;
      ui.state({ rate, seed, batch: runs.batch, steps: runs.steps, running: Boolean(now.timer), ...found });
      if (!now.timer) ui.say(words(data, now, found));
      ui.draw();
    }
    function frame() {
      advance(stride(160));
      if (ended()) pause();
      else now.timer = requestAnimationFrame(frame);
      show();
    }
    function finish() {
      pause();
      restart();
      while (!ended()) advance(stride(60));
      show();
    }
    function press() {
      if (now.timer) {
        pause();
        return show();
      }
      if (ui.still()) return finish();
      if (ended()) restart();
      run.textContent = "Pause";
      ui.say("The runs move.");
      now.timer = requestAnimationFrame(frame);
    }
    function step() {
      pause();
      if (ended()) restart();
      else advance(stride(40));
      show();
    }
    function choose(what) {
      Object.assign(now, what);
      rates.set(now.exponent);
      batches.set(now.batch);
      finish();
    }

    const octaves = { min: 0, max: Math.log2(data.rates[1] / least), step: 0.25, value: first.exponent };
    const rate = (exponent) => number(least * 2 ** exponent, 2);
    const rates = ui.slider({ label: "learning rate η", ...octaves, text: rate }, (exponent) => choose({ exponent }));
    const sizes = { min: 0, max: 4, step: 1, value: 0, text: (batch) => String(2 ** batch) };
    const batches = ui.slider({ label: "batch size B", ...sizes }, (batch) => choose({ batch }));
    const run = ui.button("Run", press);
    ui.button("Step", step);
    ui.button("Other draws", () => choose({ seed: now.seed + 1 }));
    ui.reset(() => choose(first));

    const [left, right, bottom, top] = data.reach;
    const plane = { x: { min: left, max: right, label: "a" }, y: { min: bottom, max: top, label: "b" }, equal: true };
    ui.plot({ label: "the valley, the flow along it and the runs", ...plane }, function (p) {
      drawValley(p, data);
      drawRuns(p, data, now.runs);
      const end = now.rate ** 2 * now.last;
      const curve = Array.from({ length: 61 }, (_, k) => flow(data.start, (end * k) / 60, now.runs.batch));
      p.line(curve, "contrast", { style: "stroke-width:3" });
      p.line(now.path.map((each) => each.at).filter((at) => inside(at, data.reach)), "measurement");
      p.dot(...data.start, "contrast");
      p.dot(...point(0), "contrast", { class: "hollow c-contrast" });
      p.text(...point(0), "flattest", "contrast", { transform: "translate(-8 4)", "text-anchor": "end" });
      p.text(...data.start, "start", "contrast", { transform: "translate(4 -9)" });
    });
    const above = data.start[0] ** 2 - data.start[1] ** 2;
    const tall = { min: -0.25 * above, max: 1.25 * above, label: "mean of a² − b²" };
    const long = () => ({ min: 0, max: now.rate ** 2 * now.last, label: "t = η²k" });
    ui.plot({ label: "the mean of a² − b² over the runs, and the flow", x: long, y: tall }, function (p) {
      const clipped = (y) => Math.max(tall.min, Math.min(tall.max, y));
      const end = now.rate ** 2 * now.last;
      const side = (sign) => now.path.map(({ t, imbalance: [m, e] }) => [t, clipped(m + sign * 2 * e)]);
      const curve = Array.from({ length: 61 }, (_, k) => [(end * k) / 60, flow(data.start, (end * k) / 60, now.runs.batch)]);
      p.area([...side(1), ...side(-1).reverse()], "measurement");
      p.line(curve.map(([t, [a, b]]) => [t, a * a - b * b]), "contrast", { style: "stroke-width:3" });
      p.line(now.path.map(({ t, imbalance: [m] }) => [t, clipped(m)]), "measurement");
      p.text(end, tall.max, "runs", "measurement", { transform: "translate(0 12)", "text-anchor": "end" });
      p.text(end, tall.max, "flow of the paper", "contrast", { transform: "translate(0 28)", "text-anchor": "end" });
    });
    finish();
  }

  ntpWidgets.valley = { model, generator, cumulative, ensemble, summary };
  ntpWidgets.register("valley", mount);
})();
