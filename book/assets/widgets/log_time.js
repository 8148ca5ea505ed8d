/* Gradient flow in the plane, to log t = 10^6: word vectors, and the two parts of the error of the direction.
   data: log_times; finite and rest, at each time the part of W in F and what remains of the other part when
   W^mm log t is subtracted (5 × 2 each); svm, W^mm; limit, |W*|; contexts, support; log_excess; log_finite_error;
   start, a log t; marked, {log_time, label} of a time that the page speaks of. */
(function () {
  "use strict";
  const { number, ten } = window.ntpWidgets;
  // of the error of the direction: name, colour and label
  const PARTS = [
    ["inSupport", "in-support", "in-support part", { dx: 8, dy: -6 }],
    ["outOfSupport", "out-of-support", "off-support part", { "text-anchor": "end", dx: -10, dy: 14 }],
  ];
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const size = (a) => Math.sqrt(dot(a, a));
  const plus = (a, c, b) => a.map((x, i) => x + c * b[i]);
  const pairs = (flat) => Array.from({ length: flat.length / 2 }, (_, v) => [flat[2 * v], flat[2 * v + 1]]);

  /* Linear between stored times in log log t, and exactly what is stored at each of them. */
  function interpolate(times, values, time) {
    const after = times.findIndex((each) => each >= time);
    if (after < 0) return values[values.length - 1];
    if (after === 0 || times[after] === time) return values[after];
    const [a, b, at] = [times[after - 1], times[after], time].map(Math.log);
    const share = (at - a) / (b - a);
    const mix = (x, y) => (Array.isArray(x) ? x.map((each, i) => mix(each, y[i])) : x + share * (y - x));
    return mix(values[after - 1], values[after]);
  }

  /* All numbers of one time. The parts are orthogonal: in F, along W^mm, and across both. */
  function measure(data, time) {
    const stored = (key) => interpolate(data.log_times, data[key], time);
    const [svm, finite, rest] = [data.svm, stored("finite"), stored("rest")].map((matrix) => matrix.flat());
    const widest = 1 / size(svm);
    const grown = plus(rest, time, svm);
    const weights = plus(finite, 1, grown);
    const across = plus(rest, -dot(rest, svm) / dot(svm, svm), svm);
    const norm = size(weights);
    const [inSupport, outOfSupport] = [size(finite) / norm, size(across) / norm];
    const sine = Math.hypot(inSupport, outOfSupport);
    const cosine = dot(grown, svm) / (norm * size(svm));
    const vectors = pairs(grown);
    const margins = data.contexts.flatMap(function (h, j) {
      const logits = vectors.map((w) => dot(w, h));
      const level = logits[data.support[j].indexOf(1)];
      return logits.filter((_, v) => !data.support[j][v]).map((logit) => level - logit);
    });
    return {
      logTime: time,
      weights: pairs(weights),
      norm,
      inSupport,
      outOfSupport,
      distance: cosine > 0 ? sine ** 2 / (1 + cosine) : 1 - cosine,
      angle: (Math.atan2(sine, cosine) * 180) / Math.PI,
      margin: Math.min(...margins) / norm,
      widest,
      logExcess: stored("log_excess"),
      logFiniteError: stored("log_finite_error"),
    };
  }

  /* A number given by its natural logarithm, beyond the range of floats, too. */
  function small(log) {
    const digits = log / Math.LN10;
    return Math.abs(digits) < 4 ? number(Math.exp(log), 2) : ten(Math.round(digits));
  }

  function sentence(now) {
    return (
      `log t = ${number(now.logTime)}, that is t = ${small(now.logTime)}. The direction of W is ` +
      `${number(now.angle, 2)}° away from that of the SVM solution, and its smallest margin at norm 1 is ` +
      `${number((100 * now.margin) / now.widest)} % of the widest. The excess loss is ` +
      `${small(now.logExcess)} nats, and the distance from the finite part ${small(now.logFiniteError)}.`
    );
  }

  function drawPlane(p, data, now, path, reach) {
    const scaled = (W, norm) => W.map((w) => w.map((x) => (0.92 * x) / (norm * reach)));
    data.contexts.forEach(function (h, j) {
      p.arrow([0, 0], h, "theory", { opacity: 0.6 });
      p.text(1.09 * h[0], 1.09 * h[1], `h_${j + 1}`, "theory", { "text-anchor": "middle", dy: 4 });
    });
    const before = path.filter(({ logTime }) => logTime <= now.logTime);
    const passed = before.map(({ weights, norm }) => scaled(weights, norm));
    const words = scaled(now.weights, now.norm);
    const ends = scaled(data.svm, size(data.svm.flat()));
    words.forEach(function (at, v) {
      p.line([...passed.map((each) => each[v]), at], "measurement", { "stroke-width": 1, opacity: 0.6 });
      p.dot(...ends[v], "theory", { class: "hollow c-theory", r: 7 });
      p.dot(...at, "measurement");
      const below = words.findIndex((w) => size(plus(w, -1, at)) < 0.05) < v;
      p.text(...at, String(v + 1), "measurement", { dx: below ? 20 : 9, dy: -7, "font-weight": 700 });
    });
  }

  function drawParts(p, data, now, path, least) {
    const last = path[path.length - 1];
    const middle = path[Math.round(path.length * 0.62)];
    for (const [key, colour, name, at] of PARTS) {
      const law = (time) => (last[key] * last.logTime) / time;
      const times = [data.log_times[0], last.logTime].map((time) => [time, Math.min(1, law(time))]);
      p.line(times, "theory", { "stroke-dasharray": "4 4", "stroke-width": 1 });
      p.line(path.map((each) => [each.logTime, each[key]]), colour);
      p.dot(now.logTime, now[key], colour, { r: 5.5 });
      p.text(middle.logTime, middle[key], name, colour, at);
    }
    const { log_time: marked, label } = data.marked;
    p.line([[marked, least], [marked, 1]], "paper", { "stroke-width": 1 });
    p.text(marked, 2.2 * least, label, "paper", { dx: 5 });
    p.line([[now.logTime, least], [now.logTime, 1]], "ink", { "stroke-width": 1, opacity: 0.5 });
  }

  function mount(ui, data) {
    const [first, last] = [Math.log10(data.log_times[0]), Math.log10(data.log_times[data.log_times.length - 1])];
    const path = data.log_times.map((time) => measure(data, time));
    const lengths = ({ weights, norm }) => weights.map((w) => size(w) / norm);
    const reach = Math.max(...path.flatMap(lengths), ...lengths({ weights: data.svm, norm: size(data.svm.flat()) }));
    let now = null;
    const text = (digits) => `log t = ${number(10 ** digits)}`;
    const time = { label: "time", min: first, max: last, step: 0.01, value: Math.log10(data.start), text };
    const slider = ui.slider(time, function (digits) {
      stop();
      show(digits);
    });
    const square = { min: -1.2, max: 1.2, hidden: true };
    const plane = { x: square, y: square, equal: true, label: "Directions of the word vectors" };
    ui.plot(plane, (p) => drawPlane(p, data, now, path, reach));
    const x = { min: data.log_times[0], max: data.log_times[data.log_times.length - 1], log: true, label: "log t" };
    const smallest = Math.min(...path.flatMap((each) => [each.inSupport, each.outOfSupport]));
    const least = 10 ** Math.floor(Math.log10(Math.max(smallest, 1e-12)));
    const y = { min: least, max: 1, log: true, label: "error of the direction, by part" };
    const height = (width) => Math.max(230, width * 0.9);
    const parts = { label: "Two parts of the error against log t", x, y, height };
    ui.plot(parts, (p) => drawParts(p, data, now, path, least));

    /* The slider is in steps of a hundredth of a decade: a stored time within rounding of one is meant exactly. */
    function show(digits) {
      const stored = data.log_times.find((each) => Math.abs(Math.log10(each) - digits) < 1e-9);
      now = measure(data, stored || 10 ** digits);
      ui.state({ ...now });
      ui.say(sentence(now));
      ui.draw();
    }

    let timer = null;
    const play = ui.button("Play", () => (timer === null ? begin() : stop()));
    /* Ten seconds for the whole way; a decade at a time for readers who asked for no animation. */
    function begin() {
      const [step, wait] = ui.still() ? [1, 1500] : [(last - first) / 250, 40];
      let at = +slider.input.value >= last ? first : +slider.input.value;
      play.textContent = "Stop";
      ui.says.setAttribute("aria-live", "off"); // read out where it stops
      timer = setInterval(function () {
        at = Math.min(last, at + step);
        slider.set(at);
        show(+slider.input.value);
        if (at >= last) stop();
      }, wait);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      ui.says.setAttribute("aria-live", "polite");
    }
    ui.reset(function () {
      stop();
      slider.set(Math.log10(data.start));
      show(+slider.input.value);
    });
    show(+slider.input.value);
  }

  window.ntpLogTime = { measure };
  window.ntpWidgets.register("log_time", mount);
})();
