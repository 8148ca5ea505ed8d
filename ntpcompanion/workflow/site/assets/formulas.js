/* Formulas that are wider than their line scroll, by keyboard too. */
(function () {
  "use strict";
  const displayed = (formula) => formula.getAttribute("display") === "true";
  const overflows = (formula) => formula.scrollWidth > formula.clientWidth + 1;
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
    inline.filter(wider).forEach((formula) => { formula.classList.add("ntp-long"); });
    const scrolling = new Set(all.filter((formula) => displayed(formula) || formula.matches(".ntp-long")).filter(overflows));
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

  window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(fit));
  window.addEventListener("resize", plan);
  document.addEventListener("toggle", plan, true);  // what was folded had no width
})();
