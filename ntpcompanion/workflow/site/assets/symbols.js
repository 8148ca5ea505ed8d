/* The meaning of a symbol where it stands: on hover, tap or focus. The page reads without it. */
(function () {
  "use strict";

  function start() {
    const data = document.getElementById("ntp-symbols");
    if (!data) return;
    const meanings = JSON.parse(data.textContent);
    const spans = Array.from(document.querySelectorAll("article [data-symbol]"))
      .filter((span) => !span.closest("a, summary, button, h1, h2, h3, h4, .headerlink"));
    const tip = window.ntpTip("ntp-symbol-tip", "ntp-symbol-tip mathjax_process tex2jax_process");
    const written = new Map();  // what MathJax has set once

    function text(symbol) {
      if (!written.has(symbol)) {
        const part = document.createElement("div");
        const head = document.createElement("strong");
        head.textContent = meanings[symbol].symbols;
        part.append(head, " ", meanings[symbol].meaning);
        written.set(symbol, part);
      }
      return written.get(symbol);
    }

    const show = (span) => tip.show(span, () => text(span.dataset.symbol));

    const met = new Set();
    spans.forEach((span) => {
      span.classList.add("ntp-symbol");
      // the first of each symbol can be reached by keyboard: with all of them a page would have hundreds of stops
      if (!met.has(span.dataset.symbol)) {
        met.add(span.dataset.symbol);
        span.tabIndex = 0;
        span.setAttribute("role", "button");
        span.setAttribute("aria-label", `${span.dataset.symbol}: what is it?`);
      }
      span.addEventListener("mouseenter", () => show(span));
      span.addEventListener("mouseleave", tip.hideSoon);
      span.addEventListener("focus", () => show(span));
      span.addEventListener("blur", tip.hide);
      span.addEventListener("click", () => show(span));
      span.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(span); }
      });
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
