/* The meaning of a symbol where it stands: on hover, tap or focus. The page reads without it. */
(function () {
  "use strict";

  function start() {
    const data = document.getElementById("ntp-symbols");
    if (!data) return;
    const meanings = JSON.parse(data.textContent);
    const spans = Array.from(document.querySelectorAll("article [data-symbol]"))
      .filter((span) => !span.closest("a, summary, button, h1, h2, h3, h4, .headerlink"));
    const tip = document.createElement("div");
    tip.id = "ntp-symbol-tip";
    tip.className = "ntp-symbol-tip mathjax_process tex2jax_process";
    tip.setAttribute("role", "tooltip");
    tip.hidden = true;
    document.body.append(tip);
    const written = new Map();  // what MathJax has set once
    let shown = null, leaving = 0;

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

    function place(span) {
      const box = span.getBoundingClientRect();
      const width = document.documentElement.clientWidth;
      tip.style.left = "0px";
      const left = Math.max(8, Math.min(box.left, width - tip.offsetWidth - 8));
      const below = box.bottom + 6;
      const above = box.top - tip.offsetHeight - 6;
      const top = below + tip.offsetHeight > window.innerHeight && above > 0 ? above : below;
      tip.style.left = `${left + window.scrollX}px`;
      tip.style.top = `${top + window.scrollY}px`;
    }

    function show(span) {
      clearTimeout(leaving);
      if (shown === span) return;
      hide();
      shown = span;
      const part = text(span.dataset.symbol);
      tip.replaceChildren(part);
      tip.hidden = false;
      span.setAttribute("aria-describedby", tip.id);
      span.classList.add("ntp-symbol-open");
      place(span);
      if (part.dataset.set || !window.MathJax || !window.MathJax.typesetPromise) return;
      part.dataset.set = "yes";
      window.MathJax.typesetPromise([part]).then(() => { if (shown === span) place(span); });
    }

    function hide() {
      clearTimeout(leaving);
      if (!shown) return;
      shown.removeAttribute("aria-describedby");
      shown.classList.remove("ntp-symbol-open");
      shown = null;
      tip.hidden = true;
    }

    function leave() { leaving = setTimeout(hide, 150); }  // time to reach the words and to select them

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
      span.addEventListener("mouseleave", leave);
      span.addEventListener("focus", () => show(span));
      span.addEventListener("blur", hide);
      span.addEventListener("click", () => show(span));
      span.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(span); }
      });
    });
    tip.addEventListener("mouseenter", () => clearTimeout(leaving));
    tip.addEventListener("mouseleave", leave);
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("click", (event) => {
      if (shown && !shown.contains(event.target) && !tip.contains(event.target)) hide();
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
