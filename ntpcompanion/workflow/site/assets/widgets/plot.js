/* Axes, lines and draggable points in SVG, for the widgets of this book: ntpPlot(plots, parent, options, draw).

   options: label  what the picture shows, for screen readers
            x, y   {min, max, log, label, ticks: [[value, text], ...], hidden}, or a function that returns this
            height pixels for a width; or equal: true for the same unit length on both axes
   draw(plot) is called at every change and every width; it uses plot.line, plot.dot, plot.arrow, plot.text.
   Colours are meanings: "in-support", "out-of-support", "measurement", "contrast", "paper", "theory", "ink". */
(function () {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const STEPS = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 };

  function dress(node, attributes, parent, text) {
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  const element = (name, ...rest) => dress(document.createElement(name), ...rest);
  const svg = (name, ...rest) => dress(document.createElementNS(SVG, name), ...rest);

  /* A number with three significant digits and a true minus sign; a power of ten where it is very small or large. */
  function number(value, digits = 3) {
    if (value === 0) return "0";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    if (size >= 1e-3 && size < 1e5) return String(+value.toPrecision(digits)).replace("-", "−");
    const [factor, exponent] = value.toExponential(digits - 1).split("e").map(Number);
    return (factor === 1 ? "" : `${factor} × `.replace("-", "−")) + ten(exponent);
  }

  /* A power of ten with its exponent raised. */
  function ten(exponent) {
    return `10${String(exponent).replace(/-/g, "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`;
  }

  /* From data to pixels, with its inverse and its ticks. */
  function scale(axis, from, to) {
    const f = axis.log ? Math.log10 : (v) => v;
    const [a, b] = [f(axis.min), f(axis.max)];
    const at = (v) => from + ((f(v) - a) / (b - a)) * (to - from);
    at.invert = function (pixel) {
      const v = a + ((pixel - from) / (to - from)) * (b - a);
      return axis.log ? 10 ** v : v;
    };
    const apart = to > from ? 60 : 36; // pixels: labels stand side by side, or (y goes up, pixels down) one above another
    at.ticks = axis.ticks || (axis.log ? decades : even)(a, b, Math.abs(to - from), apart);
    return at;
  }

  function decades(a, b, pixels) {
    const step = Math.max(1, Math.ceil((b - a) / Math.max(1, pixels / 44)));
    const ticks = [];
    for (let k = Math.ceil(a / step - 1e-9) * step; k <= b + 1e-9; k += step) {
      ticks.push([10 ** k, ten(k)]);
    }
    return ticks;
  }

  function even(a, b, pixels, apart) {
    const rough = (b - a) / Math.max(2, pixels / apart);
    const ten = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * ten).find((k) => k >= rough * 0.999);
    const ticks = [];
    for (let k = Math.ceil(a / step - 1e-9); k <= b / step + 1e-9; k++) {
      ticks.push([k * step, number(+(k * step).toPrecision(12), 6)]);
    }
    return ticks;
  }

  /* Text in which ^ and _ raise or lower the word that follows: "W^mm", "w_1". */
  function words(parent, x, y, text, attributes) {
    const node = svg("text", { x, y, ...attributes }, parent);
    let back = 0;
    for (const piece of String(text).split(/([\^_][−\w]+)/).filter(Boolean)) {
      const shift = piece.length > 1 ? { "^": -5, _: 4 }[piece[0]] || 0 : 0;
      const size = shift ? { "font-size": "75%" } : {};
      const move = back + shift ? { dy: back + shift } : {}; // a 0 would undo the dy of the text
      svg("tspan", { ...move, ...size }, node, shift ? piece.slice(1) : piece);
      back = -shift;
    }
    return node;
  }

  function horizontal(p, axis) {
    const { left, right, bottom } = p.inner;
    svg("path", { class: "axis", d: `M${left} ${bottom}H${right}` }, p.axes);
    for (const [value, label] of p.x.ticks) {
      svg("path", { class: "axis", d: `M${p.x(value)} ${bottom}v4` }, p.axes);
      words(p.axes, p.x(value), bottom + 17, label, { class: "tick", "text-anchor": "middle" });
    }
    words(p.axes, (left + right) / 2, bottom + 35, axis.label || "", { class: "title", "text-anchor": "middle" });
  }

  function vertical(p, axis) {
    const { left, top, bottom } = p.inner;
    svg("path", { class: "axis", d: `M${left} ${bottom}V${top}` }, p.axes);
    for (const [value, label] of p.y.ticks) {
      svg("path", { class: "axis", d: `M${left} ${p.y(value)}h-4` }, p.axes);
      words(p.axes, left - 7, p.y(value) + 4, label, { class: "tick", "text-anchor": "end" });
    }
    words(p.axes, 2, 12, axis.label || "", { class: "title" });
  }

  /* Width from the page, height from the options, scales and empty axes. */
  function lay(p, options) {
    const [x, y] = [options.x, options.y].map((axis) => (typeof axis === "function" ? axis() : axis));
    const [left, top, right, bottom] = x.hidden && y.hidden ? [2, 2, 2, 2] : [52, 24, 14, 40];
    const width = Math.max(220, Math.floor(p.box.clientWidth || 300));
    const inner = width - left - right;
    const full = options.height ? options.height(width) : Math.min(290, width * 0.66);
    const tall = options.equal ? (inner * (y.max - y.min)) / (x.max - x.min) : full - top - bottom;
    Object.assign(p, { width, inner: { left, top, right: left + inner, bottom: top + tall } });
    dress(p.root, { viewBox: `0 0 ${width} ${tall + top + bottom}`, width, height: tall + top + bottom });
    [p.x, p.y] = [scale(x, left, left + inner), scale(y, top + tall, top)];
    p.axes.replaceChildren();
    p.content.replaceChildren();
    if (!x.hidden) horizontal(p, x);
    if (!y.hidden) vertical(p, y);
  }

  function marks(p) {
    const place = ([u, v]) => `${p.x(u).toFixed(2)},${p.y(v).toFixed(2)}`;
    p.line = (points, colour, more) =>
      svg("polyline", { points: points.map(place).join(" "), class: `line c-${colour}`, ...more }, p.content);
    p.area = (points, colour, more) =>
      svg("polygon", { points: points.map(place).join(" "), class: `area c-${colour}`, ...more }, p.content);
    p.dot = (u, v, colour, more) =>
      svg("circle", { cx: p.x(u), cy: p.y(v), r: 4.5, class: `dot c-${colour}`, ...more }, p.content);
    p.text = (u, v, text, colour, more) =>
      words(p.content, p.x(u), p.y(v), text, { class: `label c-${colour || "ink"}`, ...more });
    p.arrow = function (u, v, colour, more) {
      const [a, b, c, d] = [p.x(u[0]), p.y(u[1]), p.x(v[0]), p.y(v[1])];
      const length = Math.hypot(c - a, d - b);
      const [s, t] = length < 1 ? [0, 0] : [(c - a) / length, (d - b) / length];
      const arrow = svg("g", { class: `c-${colour}`, ...more }, p.content);
      svg("path", { class: "line", d: `M${a} ${b}L${c - 7 * s} ${d - 7 * t}` }, arrow);
      const head = `M${c} ${d}L${c - 9 * s + 4 * t} ${d - 9 * t - 4 * s}L${c - 9 * s - 4 * t} ${d - 9 * t + 4 * s}Z`;
      svg("path", { class: "head", d: head }, arrow);
      return arrow;
    };
  }

  /* A point that is dragged with a pointer or moved with the arrow keys. given: label, colour, mark (a letter on it),
     min, max, at() → [x, y], value() → number, text() → the value in words, drag(x, y), step(sign, large). */
  function handle(p, given) {
    const about = { "aria-label": given.label, "aria-valuemin": given.min, "aria-valuemax": given.max };
    const knob = svg("g", { role: "slider", tabindex: 0, class: `handle c-${given.colour}`, ...about }, p.handles);
    svg("circle", { r: 22, class: "reach" }, knob);
    svg("circle", { r: given.mark ? 10 : 8, class: "knob" }, knob);
    if (given.mark) words(knob, 0, 4, given.mark, { class: "mark", "aria-hidden": "true" });
    p.moves.push(function () {
      const [u, v] = given.at();
      const now = { "aria-valuenow": +given.value().toPrecision(6), "aria-valuetext": given.text() };
      dress(knob, { transform: `translate(${p.x(u)} ${p.y(v)})`, ...now });
    });
    let held = null;
    const follow = function (event) {
      if (held !== event.pointerId) return;
      const box = p.root.getBoundingClientRect();
      const ratio = p.width / box.width;
      given.drag(p.x.invert((event.clientX - box.left) * ratio), p.y.invert((event.clientY - box.top) * ratio));
    };
    knob.addEventListener("pointerdown", function (event) {
      held = event.pointerId;
      knob.setPointerCapture(held);
      knob.focus({ preventScroll: true });
      event.preventDefault();
    });
    knob.addEventListener("pointermove", follow);
    for (const end of ["pointerup", "pointercancel"]) knob.addEventListener(end, () => (held = null));
    knob.addEventListener("keydown", function (event) {
      if (!STEPS[event.key]) return;
      event.preventDefault();
      given.step(STEPS[event.key], event.shiftKey || event.key.startsWith("Page"));
    });
    return knob;
  }

  function ntpPlot(plots, parent, options, draw) {
    const box = element("div", { class: "ntp-plot" }, parent);
    const root = svg("svg", { role: "group", "aria-label": options.label }, box);
    const axes = svg("g", { "aria-hidden": "true" }, root);
    const content = svg("g", { "aria-hidden": "true" }, root);
    const p = { box, root, axes, content, handles: svg("g", {}, root), moves: [] };
    marks(p);
    p.handle = (given) => handle(p, given);
    p.draw = function () {
      lay(p, options);
      draw(p);
      for (const move of p.moves) move();
    };
    plots.push(p);
    return p;
  }

  window.ntpPlot = Object.assign(ntpPlot, { element, svg, words, number, ten, dress });
})();
