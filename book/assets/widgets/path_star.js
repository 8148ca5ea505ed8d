/* What networks say about the nodes of one path-star graph while they are trained in three ways.
   data: root; branches, the labels of each arm after the root, the arm of the goal first; runs, each with objective, query,
   question (its tokens as text), answer, steps, probabilities (steps × l × labels) and solved (a step or null); start, the choice shown first. */
(function () {
  "use strict";
  const { number } = window.ntpWidgets;
  const OBJECTIVES = { next_token: "next token", reversed: "next token, path backwards", teacherless: "teacherless" };
  const QUERIES = { last: "after the edges", first: "before the edges" };

  /* Labels and their probabilities, the most likely first. */
  function ranked(row) {
    return row.map((p, label) => [label, p]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  /* Every node with its place: the root on the left, the arm of the goal above. */
  function placed({ root, branches }) {
    const arms = branches.flatMap((arm, a) => arm.map((label, k) => ({ label, x: k + 1, y: branches.length - 1 - a })));
    return [{ label: root, x: 0, y: (branches.length - 1) / 2 }, ...arms];
  }

  function sentence(now, run) {
    const [[first, p], [second, q]] = now.ranked;
    const dummies = now.objective === "teacherless" ? " $".repeat(now.position) : "";
    const reads = [run.question, ...now.given].join(" ") + dummies;
    const also = q >= 0.05 ? ` and ${second} with ${number(q, 2)}` : "";
    const end = run.solved === now.step ? " Here the run ended, as 99 % of new graphs were solved." : "";
    return (
      `After ${now.step} steps the network reads “${reads}” and says ${first} with probability ${number(p, 2)}${also}. ` +
      `Right is ${now.right}, token ${now.position + 1} of the answer.${end}`
    );
  }

  function drawGraph(p, data, nodes, now) {
    const at = new Map(nodes.map((node) => [node.label, [node.x, node.y]]));
    for (const arm of data.branches) {
      [data.root, ...arm].slice(0, -1).forEach(function (parent, k) {
        const [a, b] = [at.get(parent), at.get(arm[k])];
        const near = (s) => [a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])];
        p.arrow(near(0.2), near(0.8), "theory");
      });
    }
    for (const { label, x, y } of nodes) {
      const given = now.given.includes(label);
      p.dot(x, y, "measurement", { r: 15, style: `opacity:${(0.65 * now.probabilities[label]).toFixed(3)}` });
      p.dot(x, y, "theory", { r: 15, class: "hollow c-theory", style: `stroke-width:${given ? 3.5 : 1}` });
      p.text(x, y, String(label), "ink", { "text-anchor": "middle", dy: 5 });
    }
    p.text(data.branches[0].length, data.branches.length - 1, "goal", "ink", { "text-anchor": "middle", dy: -22 });
  }

  function drawCourse(p, run, now) {
    run.answer.forEach(function (right, i) {
      const course = run.steps.map((step, k) => [step, run.probabilities[k][i][right]]);
      const chosen = i === now.position;
      p.line(course, chosen ? "measurement" : "theory", { style: chosen ? "stroke-width:2.5" : "opacity:.6" });
    });
    p.line([[now.step, 0], [now.step, 1]], "theory", { style: "stroke-dasharray:4 3" });
    p.dot(now.step, now.probabilities[now.right], "measurement");
  }

  function mount(ui, data) {
    const nodes = placed(data);
    const last = Math.max(...data.runs.flatMap((run) => run.steps));
    const choice = { ...data.start };
    const run = () => data.runs.find((r) => r.objective === choice.objective && r.query === choice.query);
    let now;
    const steps = (k) => `${run().steps[Math.min(k, run().steps.length - 1)]}`;
    const options = (names) => Object.entries(names);
    const objective = ui.select({ label: "training", options: options(OBJECTIVES), value: choice.objective }, (objective) => choose({ objective }));
    const query = ui.select({ label: "root and goal stand", options: options(QUERIES), value: choice.query }, (query) => choose({ query }));
    const many = { min: 0, max: run().steps.length - 1, step: 1, value: choice.index, text: steps };
    const index = ui.slider({ label: "training steps", ...many }, (index) => choose({ index }));
    const tokens = { min: 0, max: run().answer.length - 1, step: 1, value: choice.position, text: (k) => String(k + 1) };
    const position = ui.slider({ label: "token of the answer", ...tokens }, (position) => choose({ position }));

    const far = data.branches[0].length;
    const space = { x: { min: -0.4, max: far + 0.4, hidden: true }, y: { min: -0.5, max: data.branches.length - 0.4, hidden: true } };
    ui.plot({ label: "The graph; filled: probability of each node as the next token", ...space, height: (width) => Math.min(230, 0.6 * width) }, (p) =>
      drawGraph(p, data, nodes, now),
    );
    const axes = { x: { min: 0, max: last, label: "training steps" }, y: { min: 0, max: 1.05, label: "probability of the right node" } };
    ui.plot({ label: "Probability of the right node at each token of the answer against training steps", ...axes }, (p) => drawCourse(p, run(), now));
    ui.reset(() => choose(data.start));

    function choose(what) {
      Object.assign(choice, what);
      const { steps, answer, probabilities } = run();
      choice.index = Math.min(choice.index, steps.length - 1);
      index.limit(0, steps.length - 1);
      objective.set(choice.objective);
      query.set(choice.query);
      index.set(choice.index);
      position.set(choice.position);
      const row = probabilities[choice.index][choice.position];
      const given = choice.objective === "teacherless" ? [] : answer.slice(0, choice.position);
      now = { ...choice, step: steps[choice.index], given, right: answer[choice.position], probabilities: row, ranked: ranked(row) };
      ui.state(now);
      ui.say(sentence(now, run()));
      ui.draw();
    }
    choose({});
  }

  window.ntpPathStar = { ranked };
  window.ntpWidgets.register("path_star", mount);
})();
