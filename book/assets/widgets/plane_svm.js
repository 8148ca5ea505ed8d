/* Three contexts on the unit circle, five words: the next-token SVM in the plane, solved at every move.
   data: angles of the contexts in degrees, support: a row of 0 and 1 for each context. */
(function () {
  "use strict";
  const WORDS = 5;
  const { element, dress } = window.ntpPlot;
  const { number } = window.ntpWidgets;
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const size = (a) => Math.sqrt(dot(a, a));
  const plus = (a, c, b) => a.map((x, i) => x + c * b[i]);

  /* ---- the solver ---- */

  /* Orthonormal vectors that span the given ones; `kept` are the indices of an independent subset, and
     R[k] the coordinates of the k-th of them. A vector within 1e-9 of the span of those before adds nothing. */
  function orthonormal(vectors) {
    const [Q, R, kept] = [[], [], []];
    vectors.forEach(function (vector, index) {
      let rest = vector;
      const row = Q.map(() => 0);
      for (let pass = 0; pass < 2; pass++) {
        Q.forEach(function (q, k) {
          const c = dot(q, rest);
          row[k] += c;
          rest = plus(rest, -c, q);
        });
      }
      if (size(rest) <= 1e-9 * Math.max(1, size(vector))) return;
      R.push([...row, size(rest)]);
      Q.push(rest.map((x) => x / size(rest)));
      kept.push(index);
    });
    return { Q, R, kept };
  }

  /* Coefficients of the least-squares combination of independent columns. */
  function fit(columns, target) {
    const { Q, R } = orthonormal(columns);
    const x = Q.map((q) => dot(q, target));
    for (let k = x.length - 1; k >= 0; k--) {
      for (let l = k + 1; l < x.length; l++) x[k] -= R[l][k] * x[l];
      x[k] /= R[k][k];
    }
    return x;
  }

  /* Nonnegative u with the least |Σ u_i column_i − target| (Lawson and Hanson), and the residual. */
  function nonnegative(columns, target) {
    const u = columns.map(() => 0);
    let [chosen, rest] = [[], target];
    for (let turn = 0; turn < 200 && size(rest) > 1e-8; turn++) {
      const least = Math.max(1e-9 * dot(rest, rest), 1e-15);
      const gains = columns.map((column, i) => (chosen.includes(i) ? 0 : dot(column, rest)));
      const best = gains.indexOf(Math.max(...gains));
      if (!(gains[best] > least)) break;
      chosen.push(best);
      for (;;) {
        const x = fit(chosen.map((i) => columns[i]), target);
        if (x.length < chosen.length) return { u, chosen: chosen.slice(0, -1), rest }; // no gain beyond rounding
        const late = x.map((value, k) => (value <= 0 ? u[chosen[k]] / (u[chosen[k]] - value) : 1));
        const step = Math.min(1, ...late);
        chosen.forEach((i, k) => (u[i] += step * (x[k] - u[i])));
        if (x.every((value) => value > 0)) break;
        chosen = chosen.filter((i, k) => x[k] > 0 || late[k] > step);
        u.forEach((_, i) => chosen.includes(i) || (u[i] = 0));
      }
      rest = chosen.reduce((r, i) => plus(r, -u[i], columns[i]), target);
    }
    return { u, chosen, rest };
  }

  /* The conditions on W, as vectors of 2 × 5 numbers with the entries of Γ that each multiplier changes:
     ties (inner product 0) and margins (inner product at least 1). */
  function conditions(contexts, support) {
    const found = { ties: [], margins: [] };
    contexts.forEach(function (h, j) {
      const first = support[j].indexOf(1);
      for (let v = 0; v < WORDS; v++) {
        if (v === first) continue;
        const sign = support[j][v] ? 1 : -1;
        const normal = new Array(2 * WORDS).fill(0);
        [0, 1].forEach((k) => ([normal[2 * v + k], normal[2 * first + k]] = [sign * h[k], -sign * h[k]]));
        found[sign > 0 ? "ties" : "margins"].push({ normal, j, v, first, sign });
      }
    });
    return found;
  }

  /* The decoder of least norm, by the program of least distance of Lawson and Hanson; or Γ with ΓᵀE = 0, Γ1 = 0,
     Γ ≤ 0 off support, −1 in sum there, which no decoder survives. */
  function solve(angles, support) {
    const contexts = angles.map((angle) => [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)]);
    const { ties, margins } = conditions(contexts, support);
    const span = orthonormal(ties.map((tie) => tie.normal));
    const free = margins.map(({ normal }) => span.Q.reduce((rest, q) => plus(rest, -dot(q, rest), q), normal));
    const target = new Array(2 * WORDS + 1).fill(0);
    target[2 * WORDS] = 1;
    const { u, chosen, rest } = nonnegative(free.map((normal) => [...normal, 1]), target);
    const separable = size(rest) > 1e-8;
    const answer = { contexts, separable, weights: null, logits: null, certificate: null };
    if (separable) return { ...answer, ...leastNorm(chosen.map((i) => free[i]), contexts) };
    return { ...answer, certificate: certificate(ties, margins, u, span.kept) };
  }

  /* The shortest W with inner product 1 with each active normal. */
  function leastNorm(active, contexts) {
    const { Q, R } = orthonormal(active);
    const levels = [];
    R.forEach((row, k) => levels.push((1 - dot(row.slice(0, k), levels)) / row[k]));
    const W = Q.reduce((sum, q, k) => plus(sum, levels[k], q), new Array(2 * WORDS).fill(0));
    const weights = Array.from({ length: WORDS }, (_, v) => [W[2 * v], W[2 * v + 1]]);
    return { weights, norm: size(W), logits: contexts.map((h) => weights.map((w) => dot(w, h))) };
  }

  function certificate(ties, margins, u, kept) {
    const gamma = [0, 1, 2].map(() => new Array(WORDS).fill(0));
    const total = u.reduce((sum, x) => sum + x, 0);
    const none = new Array(2 * WORDS).fill(0);
    const pull = margins.reduce((sum, { normal }, i) => plus(sum, -u[i] / total, normal), none);
    const chosen = kept.map((k) => ties[k]);
    const tie = fit(chosen.map(({ normal }) => normal), pull);
    const add = function ({ j, v, first, sign }, amount) {
      gamma[j][v] += sign * amount;
      gamma[j][first] -= sign * amount;
    };
    margins.forEach((margin, i) => add(margin, u[i] / total));
    chosen.forEach((one, k) => add(one, tie[k]));
    return gamma.map((row) => row.map((x) => (Math.abs(x) < 1e-12 ? 0 : x)));
  }

  /* ---- what is shown ---- */

  function list(items) {
    return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`;
  }

  /* Words whose vectors coincide, to a thousandth of the longest. */
  function groups(weights) {
    const reach = Math.max(...weights.map(size), 1e-300);
    const made = [];
    weights.forEach(function (w, v) {
      const same = made.find((group) => size(plus(w, -1, weights[group[0]])) < 1e-3 * reach);
      if (same) same.push(v);
      else made.push([v]);
    });
    return made;
  }

  function sentence(answer) {
    if (!answer.separable) {
      return (
        "Not separable: no decoder satisfies all conditions. Weight the logits with the numbers in the table. For " +
        "each word the weighted contexts add to zero (the arrows close), so the weighted sum of the logits is 0 for " +
        "every decoder. Ties and margins of 1 would make it at least 1."
      );
    }
    if (answer.norm === 0) return "Every word can follow every context: W = 0 satisfies the conditions.";
    const same = groups(answer.weights).filter((group) => group.length > 1);
    const pairs = same.map((group) => `Words ${list(group.map((v) => v + 1))} have the same vector. `).join("");
    return (
      `Separable. The least norm is ${number(answer.norm)}, so the widest margin at norm 1 is ` +
      `${number(1 / answer.norm)}. ${pairs}`
    );
  }

  function drawPlane(p, now, answer) {
    const ring = Array.from({ length: 121 }, (_, k) => [Math.cos((k * Math.PI) / 60), Math.sin((k * Math.PI) / 60)]);
    p.line(ring, "theory", { "stroke-width": 0.8 });
    const fade = (j) => ({ opacity: j === now.chosen ? 1 : 0.55 });
    answer.contexts.forEach((h, j) => p.arrow([0, 0], plus([0, 0], 0.94, h), "theory", fade(j)));
    if (!answer.separable) return;
    const scale = answer.norm ? 0.86 / Math.max(...answer.weights.map(size)) : 0;
    const h = answer.contexts[now.chosen];
    const row = now.support[now.chosen];
    const level = answer.logits[now.chosen][row.indexOf(1)];
    for (const [at, colour, dash] of [[level, "in-support", ""], [level - 1, "out-of-support", "5 4"]]) {
      const foot = at * scale;
      const half = Math.sqrt(Math.max(0, 1 - foot * foot));
      const ends = [-half, half].map((t) => [foot * h[0] - t * h[1], foot * h[1] + t * h[0]]);
      if (scale && row.includes(0)) p.line(ends, colour, { "stroke-dasharray": dash });
    }
    for (const group of groups(answer.weights)) {
      const [x, y] = answer.weights[group[0]].map((c) => c * scale);
      const colour = row[group[0]] ? "in-support" : "out-of-support";
      p.dot(x, y, colour);
      p.text(x, y, group.map((v) => v + 1).join(", "), colour, { dx: 7, dy: -6, "font-weight": 700 });
    }
  }

  /* The words whose column of the certificate is not zero. */
  function named({ certificate }) {
    return certificate ? [0, 1, 2, 3, 4].filter((v) => certificate.some((row) => row[v])) : [];
  }

  /* For each such word the contexts, weighted and laid end to end: they close. */
  function drawLoops(p, now, answer) {
    const gamma = answer.certificate;
    const chains = named(answer).map(function (v) {
      const ends = [[0, 0]];
      answer.contexts.forEach((h, j) => ends.push(plus(ends[j], gamma[j][v], h)));
      return { v, ends };
    });
    const reach = Math.max(...chains.map(({ ends }) => Math.max(...ends.map(size))));
    chains.forEach(function ({ v, ends }, column) {
      const middle = [0, 1].map((k) => ends.map((end) => end[k])).map((c) => (Math.max(...c) + Math.min(...c)) / 2);
      const place = (end) => plus([column + 0.5, 0.6], 0.6 / reach, plus(end, -1, middle));
      gamma.forEach(function (row, j) {
        const colour = now.support[j][v] ? "in-support" : "out-of-support";
        if (row[v]) p.arrow(place(ends[j]), place(ends[j + 1]), colour);
      });
      p.text(column + 0.5, 0.02, `word ${v + 1}`, "ink", { "text-anchor": "middle" });
    });
  }

  function cells(ui, now, changed) {
    const box = element("div", { class: "ntp-cells" }, ui.panels);
    const caption = element("p", { class: "ntp-cells-caption" }, box);
    const table = element("table", {}, box);
    const head = element("tr", {}, element("thead", {}, table));
    element("td", {}, head);
    for (let v = 1; v <= WORDS; v++) element("th", { scope: "col" }, head, `word ${v}`);
    const body = element("tbody", {}, table);
    const buttons = now.support.map(function (row, j) {
      const line = element("tr", {}, body);
      element("th", { scope: "row" }, line, `context ${j + 1}`);
      return row.map((_, v) => ui.button("", () => changed(j, v), element("td", {}, line)));
    });
    const fill = function (answer) {
      const what = answer.separable ? "logit" : "weight";
      caption.textContent = `Click a cell to change whether the word can follow. Numbers: ${what}s.`;
      buttons.forEach((row, j) =>
        row.forEach(function (button, v) {
          const value = (answer.separable ? answer.logits : answer.certificate)[j][v];
          button.textContent = Math.abs(value) < 5e-4 ? "0" : number(value, Math.abs(value) < 10 ? 2 : 3);
          const name = `word ${v + 1} can follow context ${j + 1}, ${what} ${button.textContent}`;
          dress(button, { "aria-pressed": Boolean(now.support[j][v]), "aria-label": name });
        }),
      );
    };
    return Object.assign(fill, { box });
  }

  function mount(ui, data) {
    const now = { angles: [...data.angles], support: data.support.map((row) => [...row]), chosen: 0 };
    let answer = null;
    const square = { min: -1.13, max: 1.13, hidden: true };
    const axes = { x: square, y: square, equal: true, label: "Word vectors and contexts in the plane" };
    const plane = ui.plot(axes, (p) => drawPlane(p, now, answer));
    const fill = cells(ui, now, function (j, v) {
      const last = now.support[j][v] && now.support[j].filter(Boolean).length === 1;
      if (!last) now.support[j][v] = 1 - now.support[j][v];
      change();
      if (last) ui.say(`Context ${j + 1} needs at least one word that can follow it.`);
    });
    const across = () => ({ min: 0, max: Math.max(3, named(answer).length), hidden: true });
    const wide = { x: across, y: { min: 0, max: 1.1, hidden: true }, equal: true, parent: fill.box };
    const loops = ui.plot({ label: "Weighted contexts of each word", ...wide }, (p) => drawLoops(p, now, answer));
    const names = now.angles.map((_, j) => [String(j), `context ${j + 1}`]);
    const shown = ui.select({ label: "Lines of equal margin of", options: names, value: "0" }, (j) => choose(+j));

    function choose(j) {
      now.chosen = j;
      shown.set(String(j));
      ui.draw();
    }
    function change() {
      answer = solve(now.angles, now.support);
      const { separable, weights, logits, certificate } = answer;
      const norm = separable ? answer.norm : null;
      const chosen = { angles: [...now.angles], support: now.support.map((row) => [...row]) };
      ui.state({ ...chosen, separable, weights, logits, norm, certificate });
      loops.box.hidden = separable;
      fill(answer);
      ui.say(sentence(answer));
      ui.draw();
    }
    function turn(j, angle) {
      now.angles[j] = ((Math.round(angle) % 360) + 360) % 360;
      change();
    }
    now.angles.forEach(function (_, j) {
      const knob = plane.handle({
        label: `direction of context ${j + 1}`, colour: "theory", mark: String(j + 1), min: 0, max: 360,
        at: () => answer.contexts[j],
        value: () => now.angles[j],
        text: () => `${Math.round(now.angles[j])} degrees`,
        drag: (x, y) => turn(j, (Math.atan2(y, x) * 180) / Math.PI),
        step: (sign, large) => turn(j, now.angles[j] + sign * (large ? 15 : 1)),
      });
      knob.addEventListener("focus", () => choose(j));
    });
    ui.reset(function () {
      Object.assign(now.angles, data.angles);
      data.support.forEach((row, j) => Object.assign(now.support[j], row));
      choose(0);
      change();
    });
    change();
  }

  window.ntpPlaneSVM = { solve };
  window.ntpWidgets.register("plane_svm", mount);
})();
