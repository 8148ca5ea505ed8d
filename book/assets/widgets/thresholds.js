/* How probable separability is at each number of dimensions, for S of V tokens and m contexts.
   data: faces[V − 2][S − 1], the probability of each number of tokens below the level (face_probabilities of the
   package); contexts, the values of m; measured, samples {V, S, m, draws, crossing, stderr, first, share, lowest,
   highest}, from d = first on; start {V, S, m}. */
(function () {
  "use strict";
  const { svg } = window.ntpPlot;
  const { number } = window.ntpWidgets;

  function convolve(a, b) {
    const sum = new Float64Array(a.length + b.length - 1);
    a.forEach((x, i) => b.forEach((y, k) => (sum[i + k] += x * y)));
    return sum;
  }

  /* The m-fold convolution, by squares. */
  function power(faces, m) {
    if (m === 0) return Float64Array.of(1);
    const half = power(faces, Math.floor(m / 2));
    const even = convolve(half, half);
    return m % 2 ? convolve(even, faces) : even;
  }

  /* For d = 1 … m: the probability that a uniformly random subspace of d (V − 1) dimensions, of m (V − 1), meets
     the product of m cones with the face probabilities `faces`: 2 (v_c+1 + v_c+3 + …) at codimension c. */
  function probability(faces, V, m) {
    const volumes = power(Float64Array.from(faces), m);
    return Array.from({ length: m }, function (_, index) {
      let tail = 0;
      for (let k = (V - 1) * (m - 1 - index) + 1; k < volumes.length; k += 2) tail += volumes[k];
      return Math.min(1, 2 * tail);
    });
  }

  /* The d at which a curve that begins with 0 at d = 0 reaches one half, by linear interpolation. */
  function half(curve) {
    const after = curve.findIndex((value) => value >= 0.5);
    const before = after ? curve[after - 1] : 0;
    return after + 1 - (curve[after] - 0.5) / (curve[after] - before);
  }

  function draw(p, now, found) {
    const place = found.threshold;
    p.line([[place, 0], [place, 1]], "theory", { "stroke-dasharray": "4 4", "stroke-width": 1 });
    const points = [0, ...found.probability].map((value, d) => [d / now.m, value]);
    const inside = (x) => x >= found.range[0] && x <= found.range[1];
    p.line(points.filter(([x]) => inside(x)), "theory");
    const sample = found.measured;
    if (!sample) return;
    sample.share.forEach(function (share, k) {
      const x = (sample.first + k) / now.m;
      if (!inside(x)) return;
      p.line([[x, sample.lowest[k]], [x, sample.highest[k]]], "measurement", { "stroke-width": 1.4 });
      p.dot(x, share, "measurement", { r: 3.5 });
    });
  }

  /* Lines and points with their names, above the picture. */
  function legend(p, found) {
    const entries = [["theory", "predicted"], ...(found.measured ? [["measurement", "measured"]] : [])];
    entries.forEach(function ([colour, text], k) {
      const x = p.inner.right - 88 * (entries.length - k);
      if (colour === "theory") svg("path", { class: "line c-theory", d: `M${x} 8h16` }, p.content);
      else svg("circle", { class: "dot c-measurement", cx: x + 8, cy: 8, r: 3.5 }, p.content);
      svg("text", { class: "label c-ink", x: x + 22, y: 12, "font-size": 12 }, p.content, text);
    });
  }

  function sentence(now, found, data) {
    const where = `${now.S} of ${now.V} tokens can follow each of ${now.m} contexts. `;
    const predicted =
      `Predicted: half of such tables are separable at d/m = ${number(found.half / now.m)}, ` +
      `that is ${number(found.half)} dimensions. `;
    const sample = found.measured;
    if (sample) {
      const gap = sample.crossing * now.m - found.half;
      return (
        `${where}${predicted}Measured on ${sample.draws} tables: d/m = ${number(sample.crossing)} ± ` +
        `${number(sample.stderr, 1)}, ${number(Math.abs(gap), 2)} dimensions ${gap > 0 ? "above" : "below"} ` +
        "the prediction."
      );
    }
    if (now.V === 2) return `${where}${predicted}With two tokens this is a theorem (Cover).`;
    const sizes = data.measured.filter(({ V }) => V === data.start.V);
    const list = (key) => [...new Set(sizes.map((each) => each[key]))].sort((a, b) => a - b).join(", ");
    return `${where}${predicted}Measured are V = ${data.start.V} with S = ${list("S")} and m = ${list("m")}.`;
  }

  function mount(ui, data) {
    const now = { ...data.start, zoom: false };
    let found = null;
    const largest = data.faces.length + 1;
    const whole = (label, min, max, value, text = String) => ({ label, min, max, step: 1, value, text });
    const V = ui.slider(whole("vocabulary V (tokens)", 2, largest, now.V), (value) => change({ V: value }));
    const S = ui.slider(whole("support size S (tokens)", 1, now.V - 1, now.S), (value) => change({ S: value }));
    const stops = data.contexts;
    const stop = whole("contexts m", 0, stops.length - 1, stops.indexOf(now.m), (k) => String(stops[k]));
    const m = ui.slider(stop, (k) => change({ m: stops[k] }));
    const zoom = ui.checkbox({ label: "zoom on the threshold" }, (on) => change({ zoom: on }));
    const x = () => ({ min: found.range[0], max: found.range[1], label: "dimensions per context, d/m" });
    const y = { min: 0, max: 1, label: "probability of separability" };
    const height = (width) => Math.min(330, width * 0.75);
    ui.plot({ label: "Probability of separability against d/m", x, y, height }, function (p) {
      draw(p, now, found);
      legend(p, found);
    });
    ui.reset(function () {
      V.set(data.start.V);
      zoom.set(false);
      m.set(stops.indexOf(data.start.m));
      change({ ...data.start, zoom: false });
    });

    /* The interval of d/m that is drawn: everything, or where the probability is neither 0 nor 1. */
    function range(curve) {
      if (!now.zoom) return [0, 1];
      const [least, most] = [curve.findIndex((value) => value > 1e-3), curve.findIndex((value) => value > 0.999)];
      return [Math.max(0, least - 1) / now.m, Math.min(now.m, most + 6) / now.m];
    }

    function change(what) {
      Object.assign(now, what);
      now.S = Math.min(now.S, now.V - 1);
      S.limit(1, now.V - 1);
      S.set(now.S);
      S.input.disabled = now.V === 2;
      const faces = data.faces[now.V - 2][now.S - 1];
      const curve = probability(faces, now.V, now.m);
      const threshold = 1 - faces.reduce((sum, chance, k) => sum + k * chance, 0) / (now.V - 1);
      const measured = data.measured.find((each) => ["V", "S", "m"].every((key) => each[key] === now[key])) || null;
      found = { probability: curve, threshold, half: half(curve), measured, range: range(curve) };
      ui.state({ V: now.V, S: now.S, m: now.m, probability: curve, threshold, half: found.half, measured });
      ui.say(sentence(now, found, data));
      ui.draw();
    }
    change({});
  }

  window.ntpThresholds = { probability };
  window.ntpWidgets.register("thresholds", mount);
})();
