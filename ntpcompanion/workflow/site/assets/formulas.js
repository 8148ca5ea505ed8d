/* Formulas that are wider than their line: they scroll in it, by keyboard too, and look as if they did. */
(function () {
  "use strict";

  function fit() {
    document.querySelectorAll("article mjx-container").forEach((formula) => {
      const shown = formula.getAttribute("display") === "true";
      if (!shown) {
        formula.classList.remove("ntp-long");
        const line = formula.closest("p, li, dd, td, th, figcaption, summary, h1, h2, h3");
        const wide = line && formula.getBoundingClientRect().width > line.clientWidth + 1;
        formula.classList.toggle("ntp-long", Boolean(wide));
        if (!wide) { formula.removeAttribute("tabindex"); return; }
      }
      if (formula.scrollWidth > formula.clientWidth + 1) {
        formula.tabIndex = 0;
        formula.setAttribute("aria-label", "formula, scrolls sideways");
        formula.setAttribute("role", "group");
      } else if (formula.getAttribute("role") === "group") {
        ["tabindex", "aria-label", "role"].forEach((name) => formula.removeAttribute(name));
      }
    });
  }

  function start() {
    const ready = window.MathJax && window.MathJax.startup && window.MathJax.startup.promise;
    if (!ready) return;
    ready.then(fit);
    window.addEventListener("resize", fit);
    // what was folded had no width
    document.addEventListener("toggle", fit, true);
  }

  window.addEventListener("load", start);
})();
