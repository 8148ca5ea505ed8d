/* Formulas that are wider than their line: a displayed one is set smaller, within reason; what is still wider scrolls, by keyboard too,
   and looks as if it did. */
(function () {
  "use strict";

  const displayed = (formula) => formula.getAttribute("display") === "true";
  const overflows = (formula) => formula.scrollWidth > formula.clientWidth + 1;
  const SMALLEST = 0.7;  // of the usual size of displayed formulas, which is larger than that of the text
  const usual = new Map();  // the size that MathJax has given to what was set smaller
  let planned = 0;

  /* Whether a formula in a line is wider than this line. */
  function wider(formula) {
    const line = formula.closest("p, li, dd, td, th, figcaption, summary, h1, h2, h3");
    return Boolean(line) && formula.getBoundingClientRect().width > line.clientWidth + 1;
  }

  /* Set displayed formulas smaller where that makes them fit, and only there. */
  function shrink(shown) {
    shown.filter((formula) => usual.has(formula)).forEach((formula) => { formula.style.fontSize = usual.get(formula); });
    const wide = shown.filter(overflows).map((formula) => [formula, formula.clientWidth / formula.scrollWidth]);
    wide.filter(([, ratio]) => ratio >= SMALLEST).forEach(([formula, ratio]) => {
      if (!usual.has(formula)) usual.set(formula, formula.style.fontSize);
      // rounding of widths to whole pixels, and of glyphs
      formula.style.fontSize = `calc(${usual.get(formula) || "1em"} * ${(0.99 * ratio).toFixed(4)})`;
    });
  }

  /* All are measured before one is changed: else the page would be laid out again for each. */
  function fit() {
    planned = 0;
    const all = Array.from(document.querySelectorAll("article mjx-container"));
    const inline = all.filter((formula) => !displayed(formula));
    inline.forEach((formula) => { formula.classList.remove("ntp-long"); });
    const long = new Set(inline.filter(wider));
    long.forEach((formula) => { formula.classList.add("ntp-long"); });
    shrink(all.filter(displayed));
    const held = all.filter((formula) => displayed(formula) || long.has(formula));
    const scrolling = new Set(held.filter(overflows));
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
