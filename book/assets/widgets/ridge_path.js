/* Logits of free features as the ridge penalty falls: their entries, singular values, and the angles of words and contexts.
   data: support (m × V); ridges, falling; logits, m × V at each of them; solution, that of the nuclear-norm SVM; start, the
   index of a ridge. */
(function () {
  "use strict";
  const { number } = window.ntpWidgets;
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const turned = (rows) => rows[0].map((_, v) => rows.map((row) => row[v]));
  const product = (rows, columns) => rows.map((row) => columns.map((column) => dot(row, column)));

  /* Eigenvalues and eigenvectors (as rows) of a symmetric matrix, by Jacobi's rotations. */
  function eigen(symmetric) {
    const A = symmetric.map((row) => row.slice());
    const U = A.map((row, i) => row.map((_, j) => Number(i === j)));
    const total = Math.hypot(...A.flat());
    for (let sweep = 0; sweep < 60; sweep++) {
      let left = 0;
      for (let p = 0; p < A.length; p++) {
        for (let q = p + 1; q < A.length; q++) {
          left = Math.max(left, Math.abs(A[p][q]));
          if (A[p][q] !== 0) rotate(A, U, p, q);
        }
      }
      if (left <= 1e-17 * total) break;
    }
    return { values: A.map((row, i) => row[i]), vectors: U };
  }

  function rotate(A, U, p, q) {
    const angle = Math.atan2(2 * A[p][q], A[q][q] - A[p][p]) / 2;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const mix = function (rows) {
      const [a, b] = [rows[p], rows[q]];
      rows[p] = a.map((x, i) => c * x - s * b[i]);
      rows[q] = a.map((x, i) => s * x + c * b[i]);
    };
    mix(A);
    for (const row of A) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
    mix(U);
  }

  function cosines(gram) {
    const inverse = gram.map((row, i) => (row[i] > 1e-14 ? 1 / Math.sqrt(row[i]) : 0));
    return gram.map((row, i) => row.map((x, j) => x * inverse[i] * inverse[j]));
  }

  /* Singular values of logits, and cosines of the rows of their balanced factors: (LᵀL)^½ and (L Lᵀ)^½. */
  function geometry(L) {
    const columns = turned(L);
    const { values, vectors } = eigen(product(columns, columns));
    const singular = values.map((value) => Math.sqrt(Math.max(value, 0)));
    const least = 1e-7 * Math.max(...singular);
    const kept = vectors.map((v, i) => [singular[i], v]).filter(([size]) => size > least);
    const sum = (count, term) =>
      Array.from({ length: count }, (_, i) =>
        Array.from({ length: count }, (_, j) => kept.reduce((all, [size, v]) => all + term(size, v, i, j), 0)),
      );
    const along = new Map(kept.map(([, v]) => [v, L.map((row) => dot(row, v))]));
    return {
      singular: singular.sort((a, b) => b - a),
      words: cosines(sum(columns.length, (size, v, i, j) => size * v[i] * v[j])),
      contexts: cosines(sum(L.length, (size, v, i, j) => (along.get(v)[i] * along.get(v)[j]) / size)),
    };
  }

  /* What one penalty gives; `growth` is the size along the solution, in units of it. */
  function measure(data, index) {
    const logits = data.logits[index];
    const [a, b] = [logits.flat(), data.solution.flat()];
    const lengths = Math.sqrt(dot(a, a) * dot(b, b));
    return {
      index,
      ridge: data.ridges[index],
      logits,
      growth: dot(a, b) / dot(b, b),
      cosine: lengths > 0 ? dot(a, b) / lengths : 0,
      ...geometry(logits),
    };
  }

  const key = (row) => row.join();
  /* Pairs of contexts with equal supports. */
  function twins(support) {
    const pairs = [];
    support.forEach((row, i) => support.forEach((other, j) => i < j && key(row) === key(other) && pairs.push([i, j])));
    return pairs;
  }

  function sentence(data, now) {
    const rank = now.singular.filter((size) => size > 1e-6 * now.singular[0]).length;
    if (!(now.singular[0] > 0)) return "The penalty is so large that all logits are zero. Lower it.";
    const same = twins(data.support).map(([i, j]) => `${i + 1} and ${j + 1}: ${number(now.contexts[i][j])}`);
    return (
      `λ = ${number(now.ridge, 2)}: rank ${rank}; the logits have grown to ${number(now.growth)} times the SVM solution, ` +
      `their cosine with it is ${number(now.cosine)}. Cosines of contexts with equal supports: ${same.join(", ")}.`
    );
  }

  /* A matrix as coloured squares with their numbers. `colour` of (i, j), `most` the value of full colour. */
  function squares(p, matrix, most, colour, digits) {
    const last = matrix.length;
    matrix.forEach((row, i) =>
      row.forEach(function (value, j) {
        const [x, y] = [j + 1, last - i];
        const corners = [[x - 0.5, y - 0.5], [x + 0.5, y - 0.5], [x + 0.5, y + 0.5], [x - 0.5, y + 0.5]];
        p.area(corners, colour(i, j), { style: `opacity:${Math.min(0.35, (0.35 * Math.abs(value)) / most).toFixed(3)}` });
        const text = value.toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−");
        p.text(x, y, text, "ink", { "text-anchor": "middle", dy: 4, "font-size": 11 });
      }),
    );
  }

  function axis(count, label, down) {
    const ticks = Array.from({ length: count }, (_, k) => [down ? count - k : k + 1, String(k + 1)]);
    return { min: 0.5, max: count + 0.5, ticks, label };
  }

  function mount(ui, data) {
    const [m, V] = [data.support.length, data.support[0].length];
    const wanted = geometry(data.solution);
    const choice = { of: "contexts", predicted: false };
    const largest = Math.max(...data.logits[data.logits.length - 1].flat().map(Math.abs));
    let now = measure(data, data.start);
    const last = data.ridges.length - 1;
    const slider = ui.slider(
      { label: "ridge penalty", min: 0, max: last, step: 1, value: data.start, text: (k) => `λ = ${number(data.ridges[k], 2)}` },
      (k) => show(k),
    );
    const options = [["contexts", "contexts"], ["words", "words"]];
    const of = ui.select({ label: "cosines of", options, value: choice.of }, (value) => choose({ of: value }));
    const predicted = ui.checkbox({ label: "as predicted from the supports", value: false }, (on) => choose({ predicted: on }));

    const height = (width) => Math.min(320, width * 0.85);
    const rows = () => axis(m, "context", true);
    ui.plot({ label: "Logits of each context and token", x: axis(V, "token"), y: rows, height }, (p) =>
      squares(p, now.logits, largest, (i, j) => (data.support[i][j] ? "in-support" : "out-of-support"), 1),
    );
    const top = Math.max(...geometry(data.logits[last]).singular, 1);
    const sizes = { label: "Singular values of the logits", x: axis(Math.min(m, V), "number"), y: { min: 0, max: 1.05 * top, label: "singular value" } };
    ui.plot({ ...sizes, height }, function (p) {
      now.singular.slice(0, Math.min(m, V)).forEach(function (size, k) {
        p.line([[k + 1, 0], [k + 1, size]], "measurement", { style: "stroke-width:8;opacity:.6" });
        p.dot(k + 1, now.growth * wanted.singular[k], "theory", { class: "hollow c-theory", r: 6 });
      });
    });
    const shown = () => (choice.predicted ? wanted : now)[choice.of];
    const side = (down) => () => axis(choice.of === "words" ? V : m, choice.of === "words" ? "token" : "context", down);
    ui.plot({ label: "Cosines of pairs", x: side(false), y: side(true), height }, (p) =>
      squares(p, shown(), 1, (i, j) => (shown()[i][j] > 0 ? "measurement" : "contrast"), 2),
    );
    ui.reset(function () {
      slider.set(data.start);
      of.set("contexts");
      predicted.set(false);
      Object.assign(choice, { of: "contexts", predicted: false });
      show(data.start);
    });

    function choose(what) {
      Object.assign(choice, what);
      show(now.index);
    }
    function show(index) {
      now = measure(data, index);
      ui.state({ ...now, ...choice, shown: shown() });
      ui.say(sentence(data, now));
      ui.draw();
    }
    show(data.start);
  }

  window.ntpRidgePath = { eigen, geometry, measure };
  window.ntpWidgets.register("ridge_path", mount);
})();
