/* What a chapter does beyond reading: one switch opens all code, a link into a closed part opens it, and paper shows what is folded.
   The page reads without it. */
(function () {
  "use strict";
  const KEY = "ntp-show-code";

  function remembered() {
    try { return localStorage.getItem(KEY) === "yes"; } catch (refused) { return false; }  // a page from disk may have no memory
  }

  function remember(open) {
    try { localStorage.setItem(KEY, open ? "yes" : "no"); } catch (refused) { /* the next page starts closed */ }
  }

  function makeSwitch(folds) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "ntp-code-switch";
    button.textContent = "Show code";
    button.title = "Show the code of this and of every chapter";
    const set = (open) => {
      button.setAttribute("aria-pressed", String(open));
      folds.forEach((fold) => { fold.open = open; });
    };
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      set(open);
      remember(open);
    });
    set(remembered());
    return button;
  }

  function openTarget() {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch (malformed) { return; }
    const target = name && document.getElementById(name);
    if (!target) return;
    let opened = false;
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS" && !part.open) { part.open = true; opened = true; }
    }
    if (opened) target.scrollIntoView();
  }

  const folds = Array.from(document.querySelectorAll("details.above-input"));
  if (folds.length) (document.querySelector(".article-header-buttons") || document.body).prepend(makeSwitch(folds));
  openTarget();
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", () => {
    const opened = ".sd-dropdown, .ntp-strip, .ntp-record, .ntp-group, .ntp-aside";  // cards stay folded
    document.querySelectorAll(opened).forEach((fold) => { fold.open = true; });
  });
})();
