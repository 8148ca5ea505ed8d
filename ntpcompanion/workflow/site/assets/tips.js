/* A text beside what it explains, on hover, tap or focus: the meaning of a symbol, and the definition or citation to which a reference leads.
   Escape closes it, and so does a click elsewhere. Links lead on as before, and the page reads without it. */
(function () {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  let loading = null;

  function makeTip(id, className) {
    const box = document.createElement("div");
    let shownFor = null;
    let closing = 0;

    /* Below the target, or above it where there is no room; never beyond the window's sides. */
    function place(target) {
      box.style.left = "0px";  // else its place would narrow it
      const at = target.getBoundingClientRect();
      const width = document.documentElement.clientWidth;
      const left = Math.max(8, Math.min(at.left, width - box.offsetWidth - 8));
      const above = at.bottom + box.offsetHeight + 12 > window.innerHeight && at.top > box.offsetHeight + 12;
      box.style.left = `${left + window.scrollX}px`;
      box.style.top = `${(above ? at.top - box.offsetHeight - 6 : at.bottom + 6) + window.scrollY}px`;
    }

    /* Show what `find` gives, or the promise of it: a text, an element, null for nothing. */
    function show(target, find) {
      clearTimeout(closing);
      if (shownFor === target) return;
      hide();
      shownFor = target;
      Promise.resolve(find()).then((found) => {
        if (shownFor !== target) return;
        if (!found) { shownFor = null; return; }
        box.replaceChildren(found);
        box.hidden = false;
        target.setAttribute("aria-describedby", id);
        place(target);
        const fresh = typeof found !== "string" && !box.querySelector("mjx-container") && window.MathJax;
        if (fresh && window.MathJax.typesetPromise) window.MathJax.typesetPromise([box]).then(() => { if (shownFor === target) place(target); });
      });
    }

    function hide() {
      clearTimeout(closing);
      if (shownFor) shownFor.removeAttribute("aria-describedby");
      shownFor = null;
      box.hidden = true;
    }

    function hideSoon() {
      clearTimeout(closing);
      closing = setTimeout(hide, 200);  // time to move onto the text
    }

    Object.assign(box, { id, className, hidden: true });
    box.setAttribute("role", "tooltip");
    document.body.append(box);
    box.addEventListener("pointerenter", () => clearTimeout(closing));
    box.addEventListener("pointerleave", hideSoon);
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("click", (event) => {
      if (shownFor && !shownFor.contains(event.target) && !box.contains(event.target)) hide();
    });
    return { show, hide, hideSoon };
  }

  function symbols() {
    const data = document.getElementById("ntp-symbols");
    if (!data) return;
    const meanings = JSON.parse(data.textContent);
    const tip = makeTip("ntp-symbol-tip", "ntp-symbol-tip mathjax_process tex2jax_process");
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

    const met = new Set();
    for (const span of document.querySelectorAll("article [data-symbol]")) {
      const symbol = span.dataset.symbol, show = () => tip.show(span, () => text(symbol));
      if (span.closest("a, summary, button, h1, h2, h3, h4, .headerlink")) continue;
      span.classList.add("ntp-symbol");
      // the first of each symbol can be reached by keyboard: with all of them a page would have hundreds of stops
      if (!met.has(symbol)) {
        met.add(symbol);
        span.tabIndex = 0;
        span.setAttribute("role", "button");
        span.setAttribute("aria-label", `${symbol}: what is it?`);
      }
      for (const event of ["mouseenter", "focus", "click"]) span.addEventListener(event, show);
      span.addEventListener("mouseleave", tip.hideSoon);
      span.addEventListener("blur", tip.hide);
      span.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(); }
      });
    }
  }

  /* What a link is to show: a text, an element of this page, or HTML of another page; null for nothing. */
  function content(link) {
    if (link.dataset.ntpCited) return link.dataset.ntpCited;
    const url = new URL(link.href, location.href), copy = document.createElement("div");
    if (url.pathname === location.pathname) {
      const target = document.getElementById(decodeURIComponent(url.hash.slice(1)));
      if (!target || !target.matches("div.proof")) return null;
      copy.append(...target.cloneNode(true).childNodes);
      copy.querySelectorAll("[id]").forEach((part) => { part.removeAttribute("id"); });
      return copy;
    }
    return previews().then((all) => {
      copy.innerHTML = all[decodeURI(url.pathname).slice(decodeURI(root.pathname).length) + decodeURI(url.hash)] || "";
      return copy.innerHTML && copy;
    });
  }

  /* The definitions of all pages, loaded when first needed: a script, as a page from disk may fetch nothing. */
  function previews() {
    loading = loading || new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = new URL("_static/previews.js", root).href;
      script.onload = () => resolve(window.ntpPreviews || {});
      script.onerror = () => resolve({});
      document.head.append(script);
    });
    return loading;
  }

  function references() {
    const tip = makeTip("ntp-hover", "ntp-hover");
    for (const link of document.querySelectorAll("article a.reference.internal[href*='#']")) {
      const show = () => tip.show(link, () => content(link));
      if (link.title && /references\.html#|^#/.test(link.getAttribute("href"))) {
        link.dataset.ntpCited = link.title;
        link.removeAttribute("title");  // else the browser shows it as well
      }
      link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") show(); });
      link.addEventListener("pointerleave", tip.hideSoon);
      link.addEventListener("focus", show);
      link.addEventListener("blur", tip.hideSoon);
    }
  }

  symbols();
  references();
})();
