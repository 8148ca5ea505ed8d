/* Who points at a citation or at a reference to a definition reads it on the spot; by keyboard, too. Links lead on as before. */
(function () {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const box = document.createElement("div");
  let shownFor = null;
  let closing = 0;
  let loading = null;

  /* What a link is to show: a text, an element of this page, or HTML of another page; null for nothing. */
  function content(link) {
    if (link.dataset.ntpCited) return Promise.resolve(link.dataset.ntpCited);
    const url = new URL(link.href, location.href);
    if (url.pathname === location.pathname) return Promise.resolve(ownBox(url.hash));
    return previews().then((all) => {
      const html = all[decodeURI(url.pathname).slice(decodeURI(root.pathname).length) + decodeURI(url.hash)];
      if (!html) return null;
      const copy = document.createElement("div");
      copy.innerHTML = html;
      return copy;
    });
  }

  function ownBox(hash) {
    const target = document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target || !target.matches("div.proof")) return null;
    const copy = document.createElement("div");
    copy.append(...Array.from(target.cloneNode(true).childNodes));
    copy.querySelectorAll("[id]").forEach((part) => { part.removeAttribute("id"); });
    return copy;
  }

  /* The definitions of all pages, loaded when first needed: a script, as a page from disk may fetch nothing. */
  function previews() {
    if (!loading) {
      loading = new Promise((resolve) => {
        const script = document.createElement("script");
        script.src = new URL("_static/previews.js", root).href;
        script.onload = () => resolve(window.ntpPreviews || {});
        script.onerror = () => resolve({});
        document.head.append(script);
      });
    }
    return loading;
  }

  function show(link) {
    clearTimeout(closing);
    if (shownFor === link) return;
    hide();
    shownFor = link;
    content(link).then((found) => {
      if (shownFor !== link) return;
      if (!found) { shownFor = null; return; }
      box.replaceChildren(found);
      box.hidden = false;
      link.setAttribute("aria-describedby", box.id);
      place(link);
      const fresh = typeof found !== "string" && !box.querySelector("mjx-container") && window.MathJax;
      if (fresh && window.MathJax.typesetPromise) window.MathJax.typesetPromise([box]).then(() => { if (shownFor === link) place(link); });
    });
  }

  /* Below the link, or above it where there is no room; never beyond the window's sides. */
  function place(link) {
    const at = link.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const left = Math.max(8, Math.min(at.left, width - box.offsetWidth - 8));
    const above = at.bottom + box.offsetHeight + 12 > window.innerHeight && at.top > box.offsetHeight + 12;
    box.style.left = `${left + window.scrollX}px`;
    box.style.top = `${(above ? at.top - box.offsetHeight - 6 : at.bottom + 6) + window.scrollY}px`;
  }

  function hide() {
    if (shownFor) shownFor.removeAttribute("aria-describedby");
    shownFor = null;
    box.hidden = true;
  }

  function hideSoon() {
    clearTimeout(closing);
    closing = setTimeout(hide, 200);  // time to move onto the text
  }

  function start() {
    box.id = "ntp-hover";
    box.className = "ntp-hover";
    box.setAttribute("role", "tooltip");
    box.hidden = true;
    document.body.append(box);
    box.addEventListener("pointerenter", () => clearTimeout(closing));
    box.addEventListener("pointerleave", hideSoon);
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.querySelectorAll("article a.reference.internal[href*='#']").forEach((link) => {
      if (link.title && /references\.html#|^#/.test(link.getAttribute("href"))) {
        link.dataset.ntpCited = link.title;
        link.removeAttribute("title");  // else the browser shows it as well
      }
      link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") show(link); });
      link.addEventListener("pointerleave", hideSoon);
      link.addEventListener("focus", () => show(link));
      link.addEventListener("blur", hideSoon);
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
