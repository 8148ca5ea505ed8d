/* Trace of the Hessian against downstream accuracy, for the recorded models. ntpWidgets.trace_plane has the statistics:
   quantile(df)              half width of the 95 % interval of Student's t in standard errors
   within(rows)              a line for each seed; its slopes are the replicates
   across(points)            one line through one model for each seed, and the correlation
   arms(models, choice, most) the models that a choice leaves, in rows by seed
   Each language has a name, its tasks (the positions of the main one and of the control), and models with a column for each of kind, strength,
   seed, position, trace, balanced, share (excess in % of the learnable gap) and the accuracies; records(columns) makes an object of each row. */
(function () {
  "use strict";
  const NORMAL = 1.959963984540054; // the 97.5 % quantile of the normal distribution
  const STILL = 1e-4; // a logarithm of the trace that moves by less has no slope
  const SEEDS_ONLY = "saturated";
  const BASELINES = { penalty: "penalty", annealed: "annealed" }; // of the same kind, at strength 0; else the saturated model

  const sum = (values) => values.reduce((total, v) => total + v, 0);
  const mean = (values) => sum(values) / values.length;

  /* Pr(|t| < x) for Student's t with a whole number of degrees of freedom, a finite sum. */
  function central(x, df) {
    const angle = Math.atan(x / Math.sqrt(df));
    const [s, c] = [Math.sin(angle), Math.cos(angle)];
    const odd = df % 2;
    let [term, total] = odd ? [c, df > 1 ? c : 0] : [1, 1];
    for (let k = odd ? 3 : 2; k < df; k += 2) {
      term *= (c * c * (k - 1)) / k;
      total += term;
    }
    return odd ? (2 / Math.PI) * (angle + s * total) : s * total;
  }

  function quantile(df) {
    let [low, high] = [0, 20];
    for (let k = 0; k < 100; k++) {
      const middle = (low + high) / 2;
      if (central(middle, df) < 0.95) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  }

  function line(points) {
    const [x, y] = [0, 1].map((k) => mean(points.map((point) => point[k])));
    const square = sum(points.map((point) => (point[0] - x) ** 2));
    const slope = sum(points.map((point) => (point[0] - x) * (point[1] - y))) / square;
    const height = sum(points.map((point) => (point[1] - y) ** 2));
    return { x, y, slope, square, height };
  }

  /* rows: [[x, y], ...] for each seed. null if some x do not differ or there are no rows. */
  function within(rows) {
    if (!rows.length || rows.some((row) => spread(row) < STILL)) return null;
    const slopes = rows.map((row) => line(row).slope);
    const slope = mean(slopes);
    if (rows.length < 2) return { slope, slopes, interval: null };
    const error = Math.sqrt(sum(slopes.map((each) => (each - slope) ** 2)) / (rows.length - 1) / rows.length);
    const half = quantile(rows.length - 1) * error;
    return { slope, slopes, error, interval: [slope - half, slope + half] };
  }

  /* points: [x, y], one for each seed. null for fewer than four. */
  function across(points) {
    const n = points.length;
    if (n < 4 || spread(points) < STILL) return null;
    const { slope, square, height } = line(points);
    const error = Math.sqrt((height - slope * slope * square) / (n - 2) / square);
    const [half, r] = [quantile(n - 2) * error, slope * Math.sqrt(square / height)];
    const ends = [-1, 1].map((sign) => Math.tanh(Math.atanh(r) + (sign * NORMAL) / Math.sqrt(n - 3)));
    return { slope, error, interval: [slope - half, slope + half], correlation: r, correlation_interval: ends };
  }

  const spread = (points) => Math.max(...points.map((point) => point[0])) - Math.min(...points.map((point) => point[0]));

  /* choice: kind, position, probe, trace ("balanced" or "trace"), equal, seeds. Rows of {x, y, strength} by seed, in the order of strengths. */
  function arms(models, choice, most) {
    const own = models.filter((m) => m.position === choice.position && m[choice.probe] !== null);
    const base = BASELINES[choice.kind] || SEEDS_ONLY;
    const isBase = (m) => m.kind === base && m.strength === 0;
    const chosen = own.filter((m) => isBase(m) || m.kind === choice.kind);
    const level = (m) => mean(chosen.filter((o) => o.kind === m.kind && o.strength === m.strength).map((o) => o.share));
    const kept = chosen.filter((m) => isBase(m) || !choice.equal || level(m) <= most);
    const point = (m) => ({ x: Math.log(m[choice.trace]), y: m[choice.probe], strength: m.strength, base: isBase(m) });
    return choice.seeds.map((seed) => ({
      seed,
      models: kept.filter((m) => m.seed === seed).map(point).sort((a, b) => a.strength - b.strength),
    }));
  }

  const records = (columns) =>
    columns.kind.map((_, row) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]])));
  const pairs = (models) => models.map(({ x, y }) => [x, y]);
  function effect(rows, choice) {
    return choice.kind === SEEDS_ONLY ? across(rows.flatMap((row) => pairs(row.models))) : within(rows.map((row) => pairs(row.models)));
  }

  const { number } = ntpWidgets;
  const signed = (value) => (value < 0 ? "" : "+") + number(value, 2);
  const KINDS = {
    penalty: "a penalty on the trace", annealed: "SGD, annealed", continued: "training on", adversarial: "an adversary",
    rescaled: "a rescaling", [SEEDS_ONLY]: "only the seed",
  };
  const PROBES = {
    projected: "projected features", full: "full features", few_shot: "400 examples", masked: "masked input",
    heads: "trained head", halfway: "half-way features", tuned: "fine-tuned",
  };

  function words(data, choice, rows, found) {
    const name = choice.trace === "balanced" ? "balanced trace" : "trace";
    const seeds = `${rows.length} seed${rows.length === 1 ? "" : "s"}`;
    if (!rows.length) return "No seed is chosen.";
    if (rows.every((row) => row.models.length < 2) && choice.kind !== SEEDS_ONLY) {
      return "For this language, task and probe only the model before the change was measured: there is nothing to compare.";
    }
    if (!found && choice.kind === SEEDS_ONLY) return "A correlation over seeds needs at least four of them.";
    if (!found) return `The ${name} does not move here, so there is no slope: points of a seed stand above each other.`;
    const slope = `The accuracy changes by ${signed(found.slope)} points when the ${name} is multiplied by e`;
    if (!found.interval) return `${slope} (one seed: no interval). Choose at least two seeds.`;
    const [low, high] = found.interval;
    const range = `95 % interval ${signed(low)} to ${signed(high)}, ${seeds}`;
    const paper = data.printed < low || data.printed > high ? "outside of" : "inside";
    const seen = low > 0 || high < 0 ? "" : " The interval contains 0.";
    const ends = found.correlation_interval;
    const r = ends ? ` Correlation over seeds ${signed(found.correlation)}, 95 % interval ${signed(ends[0])} to ${signed(ends[1])}.` : "";
    return `${slope} (${range}).${seen} The paper's Table 2 amounts to ${number(data.printed)} points, ${paper} the interval.${r}`;
  }

  function limits(rows) {
    const all = rows.flatMap((row) => row.models);
    const reach = (values, least) => {
      const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
      const extra = Math.max(0.08 * (high - low), (least - (high - low)) / 2);
      return [low - extra, high + extra];
    };
    return [reach(all.map((m) => m.x), 0.3), reach(all.map((m) => m.y), 2)];
  }

  /* Ticks of an axis of logarithms, at 1, 2, 5 times powers of ten, or finer where these are fewer than three. */
  function ticks([low, high]) {
    for (const steps of [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]]) {
      const all = [-1, 0, 1, 2, 3, 4].flatMap((k) => steps.map((step) => step * 10 ** k));
      const inside = all.filter((value) => Math.log(value) >= low && Math.log(value) <= high);
      if (inside.length > 2) return inside.map((value) => [Math.log(value), number(value)]);
    }
    return [[low, number(Math.exp(low))], [high, number(Math.exp(high))]];
  }

  function drawPlane(p, data, rows, found, [across, up]) {
    const all = rows.flatMap((row) => row.models);
    const [x, y] = all.length ? [mean(all.map((m) => m.x)), mean(all.map((m) => m.y))] : [mean(across), mean(up)];
    const inside = ([u, v]) => v >= up[0] && v <= up[1] && u >= across[0] && u <= across[1];
    const grid = Array.from({ length: 201 }, (_, k) => across[0] + ((across[1] - across[0]) * k) / 200);
    const at = (slope) => grid.map((u) => [u, y + slope * (u - x)]).filter(inside);
    if (found && found.interval) {
      const [low, high] = found.interval.map((slope) => grid.map((u) => [u, Math.max(up[0], Math.min(up[1], y + slope * (u - x)))]));
      p.area([...low, ...high.reverse()], "measurement");
    }
    if (found) p.line(at(found.slope), "measurement", { style: "stroke-width:3" });
    const printed = at(data.printed);
    p.line(printed, "paper");
    p.text(...printed[printed.length - 1], "slope of the paper", "paper", { transform: "translate(-14 4)", "text-anchor": "end" });
    for (const { seed, models } of rows) {
      p.line(pairs(models), "measurement", { style: "stroke-width:1;opacity:.5" });
      for (const m of models) p.dot(m.x, m.y, "measurement", m.base ? { r: 3.5, class: "hollow c-measurement" } : { r: 3.5 });
      const [end] = models;
      if (end) p.text(end.x, end.y, String(seed), "theory", { transform: "translate(6 4)", "font-size": "75%" });
    }
  }

  function mount(ui, data) {
    const first = { kind: "penalty", probe: "projected", trace: "balanced", equal: true, language: 0, task: 0 };
    const now = {};
    const languages = data.languages.map((each) => records(each.models));
    const unique = (key) => [...new Set(languages[now.language].map((m) => m[key]))].sort((a, b) => a - b);
    function reset() {
      Object.assign(now, first);
      Object.assign(now, { seeds: unique("seed") });
    }
    reset();
    const shown = { rows: [], found: null, reach: [[0, 1], [0, 1]] };

    function show() {
      now.position = data.languages[now.language].tasks[now.task];
      shown.rows = arms(languages[now.language], now, data.equal_share);
      shown.found = effect(shown.rows, now);
      shown.reach = limits(shown.rows);
      const points = sum(shown.rows.map((row) => row.models.length));
      ui.state({ ...now, points, ...shown.found });
      ui.say(words(data, now, shown.rows, shown.found));
      ui.draw();
    }
    function choose(what) {
      Object.assign(now, what);
      for (const [name, input] of Object.entries(selects)) input.set(String(now[name]));
      equal.set(now.equal);
      boxes.forEach((box, k) => box.set(now.seeds.includes(unique("seed")[k])));
      show();
    }
    const pick = (label, name, options, read = (text) => text) =>
      ui.select({ label, options, value: String(now[name]) }, (text) => choose({ [name]: read(text) }));

    const selects = {};
    if (data.languages.length > 1) {
      selects.language = pick("language", "language", data.languages.map((each, k) => [String(k), each.name]), Number);
    }
    const kinds = Object.keys(KINDS).filter((kind) => unique("kind").includes(kind));
    selects.kind = pick("what differs", "kind", kinds.map((kind) => [kind, KINDS[kind]]));
    selects.task = pick("task", "task", [["0", "main"], ["1", "control"]], Number);
    selects.probe = pick("probe", "probe", data.probes.map((probe) => [probe, PROBES[probe]]));
    selects.trace = pick("trace", "trace", [["balanced", "balanced"], ["trace", "plain"]]);
    const most = number(data.equal_share);
    const equal = ui.checkbox({ label: `equal loss only (excess ≤ ${most} %)`, value: true }, (on) => choose({ equal: on }));
    const group = ntpPlot.element("fieldset", { class: "ntp-inputs ntp-group" }, ui.inputs);
    ntpPlot.element("legend", {}, group, "seeds");
    const boxes = unique("seed").map((seed) =>
      ui.checkbox({ label: String(seed), value: true, parent: group }, function (on) {
        choose({ seeds: unique("seed").filter((other) => (other === seed ? on : now.seeds.includes(other))) });
      }),
    );
    const x = () => ({ min: shown.reach[0][0], max: shown.reach[0][1], ticks: ticks(shown.reach[0]), label: "trace (log scale)" });
    const y = () => ({ min: shown.reach[1][0], max: shown.reach[1][1], label: "accuracy (%)" });
    const height = (width) => Math.min(380, 0.8 * width);
    ui.plot({ label: "accuracy against the trace, a line for each seed", x, y, height }, function (p) {
      drawPlane(p, data, shown.rows, shown.found, shown.reach);
    });
    ui.reset(function () {
      reset();
      choose({});
    });
    show();
  }

  ntpWidgets.trace_plane = { records, quantile, within, across, arms, effect };
  ntpWidgets.register("trace_plane", mount);
})();
