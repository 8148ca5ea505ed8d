/* A text beside what it explains: the meaning of a symbol, a definition, a citation. Escape closes it, and so does a click elsewhere. */
window.ntpTip = function (id, className) {
  "use strict";
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

  box.id = id;
  box.className = className;
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  document.body.append(box);
  box.addEventListener("pointerenter", () => clearTimeout(closing));
  box.addEventListener("pointerleave", hideSoon);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("click", (event) => {
    if (shownFor && !shownFor.contains(event.target) && !box.contains(event.target)) hide();
  });
  return { show, hide, hideSoon };
};
