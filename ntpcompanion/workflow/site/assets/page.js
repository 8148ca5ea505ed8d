/* What a chapter does beyond reading: one switch opens all code, a link into a closed part opens it. The page reads without it. */
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
    button.title = "Show the code of this and of every chapter (Alt+C)";
    button.setAttribute("aria-keyshortcuts", "Alt+C");
    const set = (open) => {
      button.setAttribute("aria-pressed", String(open));
      folds.forEach((fold) => { fold.open = open; });
    };
    const toggle = () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      const before = button.getBoundingClientRect().top;
      const [anchor, height] = reading();
      set(open);
      if (anchor) window.scrollBy(0, anchor.getBoundingClientRect().top - height);
      else window.scrollBy(0, button.getBoundingClientRect().top - before);
      remember(open);
    };
    button.addEventListener("click", toggle);
    document.addEventListener("keydown", (event) => {
      const plain = event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
      const writes = event.target.closest && event.target.closest("input, textarea, select, [contenteditable]");
      if (!plain || event.code !== "KeyC" || writes) return;
      event.preventDefault();
      toggle();
    });
    set(remembered());
    return button;
  }

  /* The paragraph at the top of the window and where it stands: it stays there while folds open above it. */
  function reading() {
    const blocks = document.querySelectorAll("article p, article h2, article h3, article figure, article .ntp-card");
    const first = Array.from(blocks).find((block) => block.getBoundingClientRect().top >= 60 && !block.closest(".ntp-code"));
    return first ? [first, first.getBoundingClientRect().top] : [null, 0];
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

  /* A browser may break a line behind a hyphen. In a command it must not: `--profile` in two parts is another command. */
  function keepWords(block) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) if (/\S*-\S/.test(walker.currentNode.data)) found.push(walker.currentNode);
    for (const text of found) {
      const parts = text.data.split(/(\s+)/).map((part) => {
        if (!/-\S/.test(part)) return part;
        const word = document.createElement("span");
        word.className = "ntp-word";
        word.textContent = part;
        return word;
      });
      text.replaceWith(...parts);
    }
  }

  const folds = Array.from(document.querySelectorAll("details.ntp-code"));
  if (folds.length) (document.querySelector(".article-header-buttons") || document.body).prepend(makeSwitch(folds));
  document.querySelectorAll(".highlight-bash pre").forEach(keepWords);
  openTarget();
  window.addEventListener("hashchange", openTarget);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details.ntp-strip").forEach((strip) => { strip.open = true; });
  });
})();
