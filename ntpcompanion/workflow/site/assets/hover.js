/* Who points at a citation or at a reference to a definition reads it on the spot; by keyboard, too. Links lead on as before. */
(function () {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
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

  function start() {
    const tip = window.ntpTip("ntp-hover", "ntp-hover");
    const show = (link) => tip.show(link, () => content(link));
    document.querySelectorAll("article a.reference.internal[href*='#']").forEach((link) => {
      if (link.title && /references\.html#|^#/.test(link.getAttribute("href"))) {
        link.dataset.ntpCited = link.title;
        link.removeAttribute("title");  // else the browser shows it as well
      }
      link.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") show(link); });
      link.addEventListener("pointerleave", tip.hideSoon);
      link.addEventListener("focus", () => show(link));
      link.addEventListener("blur", tip.hideSoon);
    });
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
