/* One sequence of three tokens in the plane, one query: where gradient methods lead the key-query vector w, and the attention
   on each token while w grows.
   data: tokens (T × 2); scores of the tokens; directions, unit vectors: that of the SVM for the best token, that for the other
   one; start, a point of the plane; method; steps, the numbers of steps to choose from; shown, the index of one of them. */
(function () {
  "use strict";
  const { number } = window.ntpWidgets;
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const plus = (a, c, b) => a.map((x, i) => x + c * b[i]);
  const NAMES = { gd: "gradient descent", ngd: "normalized gradient descent", polyak: "Polyak's steps" };
  const RATES = { gd: 1, ngd: 0.1 };
  const LONGEST = 1e6; // a step of Polyak beyond this is not taken
  const REACH = 12; // of the plane

  /* Logarithms of the attention weights. */
  function logAttention(tokens, w) {
    const logits = tokens.map((token) => dot(token, w));
    const top = Math.max(...logits);
    const total = Math.log(logits.reduce((sum, a) => sum + Math.exp(a - top), 0));
    return logits.map((a) => a - top - total);
  }

  /* The gradient as scaled · exp(scale): measured from the token that has the most attention, so that no digits cancel. */
  function gradient(tokens, scores, w) {
    const logs = logAttention(tokens, w);
    const s = logs.map(Math.exp);
    const top = logs.indexOf(Math.max(...logs));
    const delta = scores.map((score) => score - scores[top]);
    const slope = -Math.log1p(Math.exp(dot(s, scores)));
    const scale = Math.max(...logs.map((log, i) => (delta[i] ? log + slope : -Infinity)));
    const small = logs.map((log, i) => (delta[i] ? Math.exp(log + slope - scale) : 0));
    const [lead, scaledLead] = [dot(s, delta), dot(small, delta)];
    const pull = delta.map((d, i) => (d ? small[i] * (lead - d) : s[i] * scaledLead));
    const scaled = [0, 1].map((k) => tokens.reduce((sum, token, i) => sum + pull[i] * token[k], 0));
    return { scaled, scale };
  }

  /* log(L − L*), accurate where L − L* is below the rounding of L. */
  function logExcess(tokens, scores, w) {
    const best = Math.max(...scores);
    const terms = logAttention(tokens, w).map((log, i) => log + Math.log(best - scores[i]));
    const top = Math.max(...terms);
    const lost = top + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - top), 0));
    const [D, rest] = [Math.exp(lost), 1 / (1 + Math.exp(best))];
    return lost + Math.log(D > 1e-12 ? Math.log1p(Math.expm1(D) * rest) / D : rest);
  }

  function next(data, method, w) {
    const { scaled, scale } = gradient(data.tokens, data.scores, w);
    const norm = Math.hypot(...scaled);
    if (!(norm > 0)) return w;
    if (method !== "polyak") return plus(w, -RATES[method] * (method === "gd" ? Math.exp(scale) : 1 / norm), scaled);
    const log = logExcess(data.tokens, data.scores, w) - scale - Math.log(2 * norm * norm);
    return log + Math.log(norm) < Math.log(LONGEST) ? plus(w, -Math.exp(log), scaled) : w;
  }

  /* w after 0, 1, …, steps steps. */
  function descend(data, start, method, steps) {
    const path = [start];
    for (let k = 0; k < steps; k++) path.push(next(data, method, path[k]));
    return path;
  }

  function measure(data, w) {
    const norm = Math.hypot(...w);
    const unit = w.map((x) => x / (norm || 1));
    return {
      weights: w,
      norm,
      attention: logAttention(data.tokens, w).map(Math.exp),
      errors: data.directions.map((u) => Math.hypot(...plus(unit, -1, u))),
    };
  }

  const percent = (x) => (x > 0.995 && x < 1 ? "more than 99 %" : `${Math.round(100 * x)} %`);

  function sentence(data, now) {
    const { attention, norm, errors } = now;
    const most = attention.indexOf(Math.max(...attention));
    const best = data.scores.indexOf(Math.max(...data.scores));
    const edge = beyond(now.weights) > 1 ? " The dot on the edge of the plane shows its direction only." : "";
    const begin = `After ${now.steps} steps of ${NAMES[now.method]} the norm is ${number(norm)}: `;
    const end = (error) => `${number(error, 2)}.${edge}`;
    const held = `${percent(attention[most])} of the attention is on token ${most + 1}, score ${data.scores[most]}`;
    if (most === best) return `${begin}${held}: the best one. Direction error to the SVM solution: ${end(errors[0])}`;
    const stays = attention[most] > 0.99 ? " and stays there: the better token has too little attention to be noticed" : "";
    return `${begin}${held}${stays}. Direction error to the SVM of this token: ${end(errors[1])}`;
  }

  const beyond = (w) => Math.max(...w.map(Math.abs)) / REACH;

  /* The path as far as it stays in the plane, to the point of the edge where it leaves. */
  function inside(path) {
    const out = path.findIndex((w) => beyond(w) > 1);
    if (out < 0) return path;
    if (out === 0) return [];
    const [last, first] = [path[out - 1], path[out]];
    const shares = first.map((x, k) => (x === last[k] ? 1 : (Math.sign(x - last[k]) * REACH - last[k]) / (x - last[k])));
    return [...path.slice(0, out), plus(last, Math.min(1, ...shares), plus(first, -1, last))];
  }

  function drawPlane(p, data, now) {
    const ends = data.directions.map((u) => u.map((x) => REACH * x));
    p.line([[0, 0], ends[0]], "in-support", { "stroke-width": 1, "stroke-dasharray": "6 4" });
    p.line([[0, 0], ends[1]], "out-of-support", { "stroke-width": 1, "stroke-dasharray": "6 4" });
    p.text(...ends[0].map((x) => 0.62 * x), "best token", "in-support", { dx: 8, dy: -8 });
    p.text(...ends[1].map((x) => 0.38 * x), "other token", "out-of-support", { dx: 8, dy: 12 });
    const kept = inside(now.path);
    p.line(kept, "measurement", { "stroke-width": 2 });
    // what is beyond the edge is shown on it, in its direction
    const held = (w) => w.map((x) => x / Math.max(1, beyond(w)));
    if (kept.length < now.path.length) p.line([...kept.slice(-1), ...now.path.slice(kept.length).map(held)], "measurement", { "stroke-width": 1, "stroke-dasharray": "2 4" });
    p.dot(...held(now.weights), "measurement");
  }

  function drawBars(p, data, now) {
    const best = data.scores.indexOf(Math.max(...data.scores));
    now.attention.forEach(function (share, i) {
      const corners = [[i + 0.7, 0], [i + 1.3, 0], [i + 1.3, share], [i + 0.7, share]];
      p.area(corners, i === best ? "in-support" : "out-of-support", { style: "opacity:.7" });
      p.text(i + 1, share, share < 1e-3 && share > 0 ? number(share, 1) : share.toFixed(2), "ink", { "text-anchor": "middle", dy: -6 });
    });
  }

  function mount(ui, data) {
    const choice = { start: [...data.start], method: data.method, shown: data.shown };
    let now = null;
    const options = Object.keys(NAMES).map((key) => [key, NAMES[key]]);
    const method = ui.select({ label: "steps by", options, value: data.method }, (value) => change({ method: value }));
    const last = data.steps.length - 1;
    const text = (k) => `${data.steps[k]} steps`;
    const slider = ui.slider({ label: "number of steps", min: 0, max: last, step: 1, value: data.shown, text }, (k) => change({ shown: k }));
    const side = { min: -REACH, max: REACH, ticks: [-10, 0, 10].map((x) => [x, number(x)]) };
    const axes = { x: { ...side, label: "first coordinate of w" }, y: { ...side, label: "second coordinate of w" } };
    const plane = ui.plot({ ...axes, label: "Path of w in the plane", height: (width) => Math.min(340, width * 0.9) }, (p) => drawPlane(p, data, now));
    const ticks = data.scores.map((score, i) => [i + 1, `${i + 1}: score ${score}`]);
    const bars = { x: { min: 0.4, max: data.scores.length + 0.6, ticks, label: "token" }, y: { min: 0, max: 1.1, ticks: [[0, "0"], [0.5, "0.5"], [1, "1"]], label: "attention" } };
    ui.plot({ ...bars, label: "Attention on each token", height: (width) => Math.min(340, width * 0.9) }, (p) => drawBars(p, data, now));
    const angle = () => ((Math.atan2(choice.start[1], choice.start[0]) * 180) / Math.PI + 360) % 360;
    plane.handle({
      label: "start of w", colour: "theory", mark: "0", min: 0, max: 360,
      at: () => choice.start,
      value: angle,
      text: () => `${Math.round(angle())} degrees, ${number(Math.hypot(...choice.start))} from the origin`,
      drag: (x, y) => change({ start: [x, y].map((v) => Math.max(-0.95 * REACH, Math.min(0.95 * REACH, v))) }),
      step: function (sign, large) {
        const [turned, far] = [((angle() + sign * (large ? 30 : 5)) * Math.PI) / 180, Math.hypot(...choice.start)];
        change({ start: [far * Math.cos(turned), far * Math.sin(turned)] });
      },
    });
    ui.reset(function () {
      method.set(data.method);
      slider.set(data.shown);
      change({ start: [...data.start], method: data.method, shown: data.shown });
    });

    function change(what) {
      Object.assign(choice, what);
      const steps = data.steps[choice.shown];
      const path = descend(data, choice.start, choice.method, steps);
      now = { steps, method: choice.method, path, ...measure(data, path[steps]) };
      const { path: _, ...numbers } = now;
      ui.state({ start: [...choice.start], ...numbers });
      ui.say(sentence(data, now));
      ui.draw();
    }
    change({});
  }

  window.ntpAttentionPlane = { descend, gradient, inside, logExcess, measure };
  window.ntpWidgets.register("attention_plane", mount);
})();
