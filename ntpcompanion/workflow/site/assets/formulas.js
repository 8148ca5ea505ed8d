/* Formulas that are wider than their line: they scroll in it, by keyboard too, and look as if they did. */
(function () {
  "use strict";

  const displayed = (formula) => formula.getAttribute("display") === "true";
  let planned = 0;

  /* Whether a formula in a line is wider than this line. */
  function wider(formula) {
    const line = formula.closest("p, li, dd, td, th, figcaption, summary, h1, h2, h3");
    return Boolean(line) && formula.getBoundingClientRect().width > line.clientWidth + 1;
  }

  /* All are measured before one is changed: else the page would be laid out again for each. */
  function fit() {
    planned = 0;
    const all = Array.from(document.querySelectorAll("article mjx-container"));
    const inline = all.filter((formula) => !displayed(formula));
    inline.forEach((formula) => { formula.classList.remove("ntp-long"); });
    const long = new Set(inline.filter(wider));
    long.forEach((formula) => { formula.classList.add("ntp-long"); });
    const held = all.filter((formula) => displayed(formula) || long.has(formula));
    const scrolling = new Set(held.filter((formula) => formula.scrollWidth > formula.clientWidth + 1));
    all.forEach((formula) => {
      if (scrolling.has(formula)) {
        formula.tabIndex = 0;
        formula.setAttribute("aria-label", "formula, scrolls sideways");
        formula.setAttribute("role", "group");
      } else if (formula.getAttribute("role") === "group") {
        ["tabindex", "aria-label", "role"].forEach((name) => formula.removeAttribute(name));
      }
    });
  }

  /* Once for all that changes before the page is drawn again. */
  function plan() {
    planned = planned || requestAnimationFrame(fit);
  }

  function start() {
    const ready = window.MathJax && window.MathJax.startup && window.MathJax.startup.promise;
    if (!ready) return;
    ready.then(fit);
    window.addEventListener("resize", plan);
    // what was folded had no width
    document.addEventListener("toggle", plan, true);
  }

  window.addEventListener("load", start);
})();
