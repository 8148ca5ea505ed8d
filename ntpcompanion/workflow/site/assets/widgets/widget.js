/* What every widget shares. A widget is one classic script that calls ntpWidgets.register(name, mount).

   mount(ui, data) gets the widget's data and `ui`, which makes what a reader sees and touches:
   ui.slider, ui.checkbox, ui.select, ui.button  labelled native inputs: keyboard and touch come with them
   ui.plot(options, draw)                        axes in SVG, drawn again at every change and width (see plot.js)
   ui.say(sentence)                              the result in words, which screen readers read out
   ui.state(numbers)                             the present numbers as root.ntpState, a plain object, for tests
   ui.draw()                                     draw all plots again
   ui.reset(restore)                             a button that calls restore()
   ui.still()                                    whether the reader asked for no animation
   mount need not draw: all plots are drawn after it. Parts of the page: ui.root, ui.live, ui.inputs, ui.panels,
   ui.says, ui.buttons. The static picture is hidden on screen while the widget works, and stays in print. */
(function () {
  "use strict";
  const { element, dress, number, ten } = window.ntpPlot;
  const motion = window.matchMedia("(prefers-reduced-motion: reduce)");

  function labelled(ui, options, input) {
    const label = element("label", { class: "ntp-input" }, options.parent || ui.inputs);
    element("span", { class: "ntp-input-name" }, label, options.label);
    label.append(input);
    return label;
  }

  /* options: label, min, max, step, value, text(value) → the value in words, parent. */
  function slider(ui, options, change) {
    const { min, max, step = "any", text = number } = options;
    const input = element("input", { type: "range", min, max, step });
    const label = labelled(ui, options, input);
    const shown = element("output", { "aria-hidden": "true" }, label);
    const tell = function () {
      shown.textContent = text(+input.value);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    const set = function (value) {
      input.value = value;
      tell();
    };
    input.addEventListener("input", function () {
      tell();
      change(+input.value);
    });
    set(options.value);
    const limit = function (least, most) {
      dress(input, { min: least, max: most });
      tell();
    };
    return { input, label, set, limit };
  }

  /* options: label, value, parent. */
  function checkbox(ui, options, change) {
    const input = element("input", { type: "checkbox" });
    const set = (value) => (input.checked = Boolean(value));
    labelled(ui, options, input).classList.add("ntp-check");
    input.addEventListener("change", () => change(input.checked));
    set(options.value);
    return { input, set };
  }

  /* options: label, options: [[value, text], ...], value, parent. Values are strings. */
  function select(ui, options, change) {
    const input = element("select");
    for (const [value, text] of options.options) element("option", { value }, input, text);
    const set = (value) => (input.value = value);
    labelled(ui, options, input);
    input.addEventListener("change", () => change(input.value));
    set(options.value);
    return { input, set };
  }

  function button(ui, text, press, parent) {
    const node = element("button", { type: "button", class: "ntp-button" }, parent || ui.buttons, text);
    node.addEventListener("click", press);
    return node;
  }

  function frame(root, live) {
    const ui = { root, live, plots: [], still: () => motion.matches };
    for (const name of ["inputs", "panels", "says", "buttons"]) {
      ui[name] = element(name === "says" ? "p" : "div", { class: `ntp-${name}` }, live);
    }
    ui.says.setAttribute("aria-live", "polite");
    ui.say = function (text) {
      if (ui.says.textContent !== text) ui.says.textContent = text;
    };
    ui.state = (numbers) => (root.ntpState = numbers);
    ui.draw = () => ui.plots.forEach((each) => each.draw());
    ui.plot = (options, draw) => window.ntpPlot(ui.plots, options.parent || ui.panels, options, draw);
    for (const [name, make] of Object.entries({ slider, checkbox, select, button })) {
      ui[name] = (...rest) => make(ui, ...rest);
    }
    ui.reset = (restore) => button(ui, "Reset", restore);
    return ui;
  }

  function mount(root, start) {
    const live = element("div", { class: "ntp-widget-live" });
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    root.prepend(live);
    root.dataset.mounted = "";
    try {
      const ui = frame(root, live);
      start(ui, data);
      ui.draw();
      let width = live.clientWidth;
      new ResizeObserver(function () {
        if (live.clientWidth !== width) requestAnimationFrame(ui.draw);
        width = live.clientWidth;
      }).observe(live);
    } catch (error) {
      live.remove(); // the picture is shown again
      delete root.dataset.mounted;
      throw error;
    }
  }

  function register(name, start) {
    const all = () => document.querySelectorAll(`[data-widget="${name}"]`).forEach((root) => mount(root, start));
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
    else all();
  }

  window.ntpWidgets = { register, number, ten };
})();
