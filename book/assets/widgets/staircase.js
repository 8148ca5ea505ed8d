/* The inequalities of Lemma D.1, one after the other, for solutions of the bracket language. ntpWidgets.staircase has the arithmetic:
   chain(row, scale)  the terms of the proof as multiples of the bound, from the squared gradient measured by second differences
                      (which kinks raise) down to the bound itself, if rows of W_V are multiplied by `scale` and u divided by it
   losses(levels)     by what factor each inequality loses; 1 where it is an equality
   Terms of a row of the data: kinks, attention, values, head (parts of the squared gradient), per_neuron, no_cancellation, bound. */
(function () {
  "use strict";
  const ROUNDING = 1e-9;

  function chain(row, scale) {
    const square = scale * scale;
    const neurons = row.values / square + row.head * square; // the gradient in W_V is u times h, that in u is the feature
    const all = neurons + row.attention;
    const terms = [all + row.kinks / square, all, neurons, row.per_neuron, row.no_cancellation, row.bound];
    return terms.map((term) => term / row.bound);
  }

  const losses = (levels) => levels.slice(1).map((level, k) => levels[k] / level);

  const STEPS = [
    ["second differences ½ tr₂ ≥ squared gradient", "no kink: no pre-activation is 0"],
    ["squared gradient ≥ (6), neurons only", "no gradient in queries and keys"],
    ["(6) ≥ (7), balanced neurons", "(3): each neuron has one positive value, in balance with its u"],
    ["(7) ≥ (8), no cancellation", "(4): active neurons have one sign of u"],
    ["(8) ≥ (9), the bound 2 / √T", "(5): uniform attention"],
  ];
  const TICKS = ["½tr_2", "‖∇f‖^2", "(6)", "(7)", "(8)", "(9)"];
  const POWERS = Array.from({ length: 9 }, (_, k) => [2 ** k, String(2 ** k)]);
  const SOLUTIONS = {
    counting: ["counting", "Two neurons, (1; 0) and −(1; 0): what the theorem is about."],
    two_values: ["two values", "(1 + e₁/2; 0) and (1 − e₁/2; 0), with two values each, share the work of one."],
    mask_as_bias: ["mask as a bias", "Two neurons read the mask alone and add 1; a third with u < 0 subtracts 2 where f* = −1."],
    split_by_mask: ["split by the mask", "(1; 1) and (1; −1): two single-valued neurons on kinks that take turns by the sign of the mask."],
    split_by_bracket: ["B′: split by a bracket", "(1 + e₁; e₁) and (1 − e₁; −e₁): neurons on kinks, which the proof misses."],
    fixed_three: ["B: three neurons", "The same idea without kinks. It solves the task only if the mask has a fixed sign."],
    dead_neuron: ["counting and a dead neuron", "A third neuron with u = 0; a mask of fixed sign keeps it silent until the mask is gone."],
    memoriser: ["memorizer", "One neuron for each masked sentence of the language with a fixed mask sign."],
    first_position: ["half on the first", "Counting, with half of the attention on the first position."],
    nonzero_keys: ["nonzero keys", "Counting with zero queries and random keys: attention is uniform, its gradient is not zero."],
    random_features: ["random features", "256 random neurons with the u of least norm, each neuron balanced with its u."],
  };
  const { number } = ntpWidgets;
  const percent = (share) => `${number(100 * share, 2)} %`;

  function cost(loss) {
    return loss - 1 < ROUNDING ? "equality" : `loses a factor of ${number(loss, 4)}`;
  }

  function transfer(row) {
    const few = `The least-norm head on ${row.strings} random strings misses ${percent(row.few)} ± ${percent(row.few_error)} of the variance.`;
    if (row.best > ROUNDING) return `Does not transfer: the best of all heads misses ${percent(row.best)} of the variance downstream.`;
    return `Transfers: some head on its neurons counts every string without error. ${few}`;
  }

  function verdict(row, levels) {
    if (row.loss > ROUNDING) {
      return `No solution with this mask sign: the loss is ${number(row.loss)}, and the lemma is about zero loss.`;
    }
    const flattest = levels[0] - 1 < ROUNDING;
    if (flattest) return "Attains the bound, also by second differences: a flattest solution.";
    if (levels[1] - 1 < ROUNDING) {
      return (
        `Attains the bound only if a kink counts as 0, as the formula has it: on ${percent(row.kinked)} of the inputs a neuron is ` +
        `at its kink, the loss has no Hessian, and by second differences the trace is ${number(levels[0], 4)} times the bound.`
      );
    }
    return `Not flattest: the squared gradient is ${number(levels[1], 4)} times the bound.`;
  }

  function table(parent) {
    const { element } = ntpPlot;
    const whole = element("table", { class: "ntp-steps" }, parent);
    const head = element("tr", {}, element("thead", {}, whole));
    for (const name of ["inequality", "equality needs", "here"]) element("th", { scope: "col" }, head, name);
    const body = element("tbody", {}, whole);
    return STEPS.map(function ([name, condition]) {
      const row = element("tr", {}, body);
      element("th", { scope: "row" }, row, name);
      element("td", {}, row, condition);
      return element("td", {}, row);
    });
  }

  function drawStairs(p, levels, shown) {
    if (!shown) return;
    const width = 0.42;
    levels.forEach(function (level, k) {
      const left = k - width;
      p.area([[left, shown.floor], [left, level], [k + width, level], [k + width, shown.floor]], "measurement");
      p.line([[left, level], [k + width, level]], "measurement", { style: "stroke-width:3" });
      if (k === 0) return;
      const falls = levels[k - 1] / level - 1 > ROUNDING;
      const [colour, text] = falls ? ["contrast", `÷ ${number(levels[k - 1] / level, 3)}`] : ["theory", "="];
      if (falls) p.arrow([k - width, levels[k - 1]], [k - width, level], "contrast");
      p.text(k - 0.5, levels[k - 1], text, colour, { transform: "translate(0 -7)", "text-anchor": "middle" });
    });
    p.line([[-0.6, 1], [levels.length - 0.4, 1]], "theory", { style: "stroke-dasharray:4 3" });
  }

  function mount(ui, data) {
    const first = { length: data.rows[0].length, mask: "random", name: "split_by_bracket", exponent: 0 };
    const now = { ...first };
    const found = () => data.rows.find((r) => r.length === now.length && r.mask === now.mask && r.name === now.name);
    const current = { levels: [1, 1, 1, 1, 1, 1], shown: null, most: 6 };

    function show() {
      const row = found();
      const levels = chain(row, 2 ** now.exponent);
      const solved = row.loss < ROUNDING;
      current.levels = levels;
      current.most = Math.max(6, 1.5 * levels[0]);
      current.shown = solved ? { floor: 0.8 } : null;
      losses(levels).forEach(function (loss, k) {
        cells[k].textContent = solved ? cost(loss) : "–";
        cells[k].className = solved && loss - 1 >= ROUNDING ? "c-contrast" : "";
      });
      ui.state({ ...now, levels, loss: row.loss, best: row.best, transfers: solved && row.best < ROUNDING });
      ui.say([SOLUTIONS[row.name][1], verdict(row, levels), solved ? transfer(row) : ""].join(" ").trim());
      ui.draw();
    }
    function choose(what) {
      Object.assign(now, what);
      scale.set(now.exponent);
      solutions.set(now.name);
      masks.set(now.mask);
      sizes.set(String(now.length));
      show();
    }

    const names = [...new Set(data.rows.map((row) => row.name))].map((name) => [name, SOLUTIONS[name][0]]);
    const lengths = [...new Set(data.rows.map((row) => row.length))].map((T) => [String(T), `T = ${T}`]);
    const signs = [["random", "random"], ["fixed", "fixed"]];
    const solutions = ui.select({ label: "solution", options: names, value: now.name }, (name) => choose({ name }));
    const masks = ui.select({ label: "sign of the mask", options: signs, value: now.mask }, (mask) => choose({ mask }));
    const sizes = ui.select({ label: "length", options: lengths, value: String(now.length) }, (T) => choose({ length: +T }));
    const times = (exponent) => `× ${number(2 ** exponent)}`;
    const scales = { min: -2, max: 2, step: 0.25, value: 0, text: times };
    const scale = ui.slider({ label: "scale of w, inverse scale of u", ...scales }, (exponent) => choose({ exponent }));
    const axes = {
      x: { min: -0.6, max: 5.6, ticks: TICKS.map((name, k) => [k, name]), label: "term of the proof" },
      y: () => ({ min: 0.8, max: current.most, log: true, ticks: POWERS.filter(([v]) => v < current.most), label: "multiple of the bound 2 / √T" }),
    };
    ui.plot({ label: "the terms of the proof as stairs down to the bound", ...axes }, function (p) {
      drawStairs(p, current.levels, current.shown);
    });
    const cells = table(ui.panels);
    ui.reset(() => choose(first));
    show();
  }

  ntpWidgets.staircase = { chain, losses };
  ntpWidgets.register("staircase", mount);
})();
