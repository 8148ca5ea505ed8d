/* The citation, or the statement of the same page, to which a reference leads, beside it on hover or focus. Escape closes it, and so does a click elsewhere.
   Links lead on as before, and the page reads without it. */
(function () {
  "use strict";
  const box = Object.assign(document.createElement("div"), { id: "ntp-hover", className: "ntp-hover", hidden: true });
  let shownFor = null;
  let closing = 0;

  /* Below the link, or above it where there is no room; never beyond the window's sides. */
  function place() {
    box.style.left = "0px";  // else its place would narrow it
    const at = shownFor.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - 8));
    const above = at.bottom + box.offsetHeight + 12 > window.innerHeight && at.top > box.offsetHeight + 12;
    box.style.left = `${left + window.scrollX}px`;
    box.style.top = `${(above ? at.top - box.offsetHeight - 6 : at.bottom + 6) + window.scrollY}px`;
  }

  function show(link) {
    clearTimeout(closing);
    const found = shownFor !== link && content(link);
    if (!found) return;
    hide();
    shownFor = link;
    box.replaceChildren(found);
    box.hidden = false;
    link.setAttribute("aria-describedby", box.id);
    place();
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

  /* The text of a citation, or a copy of a statement of this page; null for anything else. */
  function content(link) {
    if (link.dataset.ntpCited) return link.dataset.ntpCited;
    const url = new URL(link.href, location.href), copy = document.createElement("div");
    const target = url.pathname === location.pathname && document.getElementById(decodeURIComponent(url.hash.slice(1)));
    if (!target || !target.matches("div.proof")) return null;
    copy.append(...target.cloneNode(true).childNodes);
    copy.querySelectorAll("[id]").forEach((part) => { part.removeAttribute("id"); });
    return copy;
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
