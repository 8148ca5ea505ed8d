ntpWidgets.register("toy", function (ui, data) {
  "use strict";
  const now = { x: data.x, size: 1, on: false, kind: "a" };
  function change(what) {
    Object.assign(now, what);
    ui.state({ ...now, still: ui.still() });
    ui.say(`x is ${ntpWidgets.number(now.x)}`);
    ui.draw();
  }
  const size = ui.slider(
    { label: "size", min: 1, max: 9, step: 1, value: 1, text: (v) => `${v} cm` },
    (value) => change({ size: value }),
  );
  ui.checkbox({ label: "on", value: false }, (on) => change({ on }));
  const kinds = [["a", "first"], ["b", "second"]];
  ui.select({ label: "kind", options: kinds, value: "a" }, (kind) => change({ kind }));
  ui.reset(function () {
    size.set(1);
    change({ x: data.x, size: 1 });
  });
  const axes = { x: { min: 1, max: 1e4, log: true, label: "x" }, y: { min: -1, max: 1, label: "y" } };
  const plot = ui.plot({ label: "a line", ...axes }, function (p) {
    p.line([[1, 0], [1e4, 0]], "theory");
    p.text(10, 0.5, "w_1^2");
    p.arrow([1, 0], [10, 1], "paper");
  });
  plot.handle({
    label: "x", colour: "in-support", mark: "x", min: 1, max: 1e4,
    at: () => [now.x, 0],
    value: () => now.x,
    text: () => `x = ${ntpWidgets.number(now.x)}`,
    drag: (x) => change({ x: Math.min(1e4, Math.max(1, x)) }),
    step: (sign, large) => change({ x: now.x * 10 ** (sign * (large ? 1 : 0.1)) }),
  });
  change({});
});
