// The ledger: filters and search of its rows. What is chosen stands in the address, so that a view can be sent on.
"use strict";

(() => {
  const FIELDS = ["paper", "chapter", "kind", "scope", "verdict", "basis"];
  const ledger = document.querySelector(".ntp-ledger"), form = document.getElementById("ntp-filters");
  const rows = [...ledger.querySelectorAll(".ntp-row")].map(element => ({element, text: words(element)}));
  const opened = new Set();  // groups that a filter has opened

  // What a search looks through: everything a row says, TeX included, in small letters.
  function words(element) {
    return `${element.id} ${element.textContent}`.toLowerCase().replace(/\s+/g, " ");
  }

  function chosen() {
    const data = new FormData(form);
    return [...FIELDS, "text"].map(name => [name, String(data.get(name) ?? "").trim()]).filter(([, value]) => value);
  }

  // From the address to the form. An address of one row opens and shows that row.
  function read() {
    const hash = location.hash.slice(1), id = hash.includes("=") ? "" : decodeURIComponent(hash);
    const asked = new URLSearchParams(id ? "" : hash);
    for (const name of FIELDS) {
      const select = form.elements[name];
      select.value = asked.get(name) ?? "";
      if (select.selectedIndex < 0) select.selectedIndex = 0;
    }
    form.elements.text.value = asked.get("text") ?? "";
    show();
    const target = id && document.getElementById(id);
    if (!target || !target.classList.contains("ntp-row")) return;
    target.closest(".ntp-group").open = true;
    target.scrollIntoView({block: "center"});
  }

  function write() {
    const hash = new URLSearchParams(chosen()).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    show();
  }

  function show() {
    const asked = Object.fromEntries(chosen()), terms = (asked.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    for (const {element, text} of rows)
      element.hidden = !(FIELDS.every(name => !asked[name] || element.dataset[name] === asked[name]) && terms.every(term => text.includes(term)));
    const narrowed = Object.keys(asked).length > 0;
    for (const group of ledger.querySelectorAll(".ntp-group")) {
      group.hidden = !group.querySelector(".ntp-row:not([hidden])");
      if (narrowed && !group.hidden && !group.open) { group.open = true; opened.add(group); }
      if (!narrowed && opened.delete(group)) group.open = false;
    }
    for (const paper of ledger.querySelectorAll(".ntp-paper")) paper.hidden = !paper.querySelector(".ntp-group:not([hidden])");
    const left = rows.filter(({element}) => !element.hidden).length;
    form.querySelector("output").textContent = `${left} of ${rows.length} claims`;
  }

  form.hidden = false;
  read();
  form.addEventListener("input", write);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(write));
  addEventListener("hashchange", read);
})();
