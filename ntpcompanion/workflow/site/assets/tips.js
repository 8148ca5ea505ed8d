/* The definition, theorem or citation to which a reference leads, beside it on hover or focus. Escape closes it, and so does a click elsewhere.
   Links lead on as before, and the page reads without it. */
(function () {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const box = Object.assign(document.createElement("div"), { id: "ntp-hover", className: "ntp-hover", hidden: true });
  let shownFor = null;
  let closing = 0;
  let loading = null;

  /* Below the link, or above it where there is no room; never beyond the window's sides. */
  function place() {
    box.style.left = "0px";  // else its place would narrow it
    const at = shownFor.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - 8));
    const above = at.bottom + box.offsetHeight + 12 > window.innerHeight && at.top > box.offsetHeight + 12;
    box.style.left = `${left + window.scrollX}px`;
    box.style.top = `${(above ? at.top - box.offsetHeight - 6 : at.bottom + 6) + window.scrollY}px`;
  }

  async function show(link) {
    clearTimeout(closing);
    if (shownFor === link) return;
    hide();
    shownFor = link;
    const found = await content(link);
    if (shownFor !== link || !found) return;
    box.replaceChildren(found);
    box.hidden = false;
    link.setAttribute("aria-describedby", box.id);
    place();
    if (!box.querySelector("mjx-container")) await window.MathJax?.typesetPromise?.([box]);
    if (shownFor === link) place();
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

  /* A text, or a copy of a statement of this page or of another; null for nothing. */
  async function content(link) {
    if (link.dataset.ntpCited) return link.dataset.ntpCited;
    const url = new URL(link.href, location.href), copy = document.createElement("div");
    if (url.pathname === location.pathname) {
      const target = document.getElementById(decodeURIComponent(url.hash.slice(1)));
      if (!target || !target.matches("div.proof")) return null;
      copy.append(...target.cloneNode(true).childNodes);
      copy.querySelectorAll("[id]").forEach((part) => { part.removeAttribute("id"); });
      return copy;
    }
    const all = await previews();
    copy.innerHTML = all[decodeURI(url.pathname).slice(decodeURI(root.pathname).length) + decodeURI(url.hash)] || "";
    return copy.innerHTML && copy;
  }

  /* The statements of all pages, loaded when first needed: a script, as a page from disk may fetch nothing. */
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

  box.setAttribute("role", "tooltip");
  document.body.append(box);
  box.addEventListener("pointerenter", () => clearTimeout(closing));
  box.addEventListener("pointerleave", hideSoon);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("click", (event) => {
    if (shownFor && !shownFor.contains(event.target) && !box.contains(event.target)) hide();
  });
  for (const link of document.querySelectorAll("article a.reference.internal[href*='#']")) {
    if (link.title && /references\.html#|^#/.test(link.getAttribute("href"))) {
      link.dataset.ntpCited = link.title;
      link.removeAttribute("title");  // else the browser shows it as well
    }
    link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") show(link); });
    link.addEventListener("pointerleave", hideSoon);
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hideSoon);
  }
})();
