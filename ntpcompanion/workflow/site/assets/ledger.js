// The ledger: filters, search and order of its rows. What is chosen stands in the address, so that a view can be sent on.
"use strict";

(() => {
  const FIELDS = ["paper", "chapter", "kind", "scope", "verdict", "basis"];

  function start() {
    const ledger = document.querySelector(".ntp-ledger"), form = document.getElementById("ntp-filters");
    if (!ledger || !form) return;
    const flat = document.getElementById("ntp-flat");
    const rows = [...ledger.querySelectorAll(".ntp-row")].map(element => ({
      element, home: element.parentElement, text: words(element),
      order: Number(element.dataset.order), effect: element.dataset.effect === "" ? null : Number(element.dataset.effect),
      locator: element.querySelector(".ntp-locator").textContent,
    }));
    const view = {ledger, form, flat, rows, sort: "result", opened: new Set()};
    form.hidden = false;
    read(view);
    form.addEventListener("input", () => { write(view); show(view); });
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { write(view); show(view); }));
    form.elements.unfold.addEventListener("click", () => unfold(view));
    addEventListener("hashchange", () => { read(view); });
  }

  // What a search looks through: everything a row says, TeX included, in small letters.
  function words(element) {
    return `${element.id} ${element.textContent}`.toLowerCase().replace(/\s+/g, " ");
  }

  function chosen(form) {
    const data = new FormData(form);
    return [...FIELDS, "text", "sort"].map(name => [name, String(data.get(name) ?? "").trim()])
      .filter(([name, value]) => value && !(name === "sort" && value === "result"));
  }

  // From the address to the form. An address of one row opens and shows that row.
  function read(view) {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) { reveal(view, decodeURIComponent(hash)); return; }
    const asked = new URLSearchParams(hash);
    for (const name of [...FIELDS, "sort"]) {
      const select = view.form.elements[name], value = asked.get(name) ?? (name === "sort" ? "result" : "");
      select.value = [...select.options].some(option => option.value === value) ? value : select.options[0].value;
    }
    view.form.elements.text.value = asked.get("text") ?? "";
    show(view);
  }

  function write(view) {
    const hash = new URLSearchParams(chosen(view.form)).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function reveal(view, id) {
    const target = document.getElementById(id);
    if (!target || !target.classList.contains("ntp-row")) { show(view); return; }
    for (const name of [...FIELDS, "text"]) view.form.elements[name].value = "";
    view.form.elements.sort.value = "result";
    show(view);
    const group = target.closest(".ntp-group");
    if (group) group.open = true;
    target.scrollIntoView({block: "center"});
  }

  function show(view) {
    const asked = Object.fromEntries(chosen(view.form)), terms = (asked.text ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const left = view.rows.filter(({element, text}) =>
      FIELDS.every(name => !asked[name] || element.dataset[name] === asked[name]) && terms.every(term => text.includes(term)));
    const kept = new Set(left);
    for (const row of view.rows) row.element.hidden = !kept.has(row);
    arrange(view, asked.sort ?? "result");
    const narrowed = FIELDS.some(name => asked[name]) || terms.length > 0;
    for (const group of view.ledger.querySelectorAll(".ntp-group")) {
      const some = [...group.querySelectorAll(".ntp-row")].some(row => !row.hidden);
      group.hidden = !some;
      if (narrowed && some && !group.open) { group.open = true; view.opened.add(group); }
      if (!narrowed && view.opened.has(group)) { group.open = false; view.opened.delete(group); }
    }
    for (const paper of view.ledger.querySelectorAll(".ntp-paper"))
      paper.hidden = ![...paper.querySelectorAll(".ntp-group")].some(group => !group.hidden);
    view.form.querySelector("output").textContent = `${left.length} of ${view.rows.length} claims`;
  }

  // By result, rows stand in their groups; by anything else, in one list.
  function arrange(view, sort) {
    if (sort === view.sort) return;  // moving hundreds of rows takes long
    view.sort = sort;
    const grouped = sort === "result";
    view.flat.hidden = grouped;
    // rows without an effect come last, whichever way
    const by = sign => (one, other) => (one.effect === null) - (other.effect === null) || sign * (one.effect - other.effect);
    const compare = {
      "result": (one, other) => one.order - other.order,
      "effect": by(1),
      "effect-down": by(-1),
      "locator": (one, other) => one.locator.localeCompare(other.locator, "en", {numeric: true}),
    }[sort];
    for (const row of [...view.rows].sort((one, other) => compare(one, other) || one.order - other.order))
      (grouped ? row.home : view.flat).append(row.element);
  }

  function unfold(view) {
    const button = view.form.elements.unfold, open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(open));
    button.textContent = open ? "Close all" : "Open all";
    for (const group of view.ledger.querySelectorAll(".ntp-group")) group.open = open;
    view.opened.clear();
  }

  start();
})();
