// What every page of outkey does by itself. Without it every field is visible and saving works.
"use strict";

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (!copy) return;
  await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
  copy.textContent = "✓ " + copy.textContent.replace("✓ ", "");
});

document.addEventListener("submit", (event) => {
  const question = (event.submitter && event.submitter.dataset.confirm) || event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// Cards that do not have what is typed disappear at once; without this, the form searches.
for (const input of document.querySelectorAll("[data-filter]")) {
  const cards = [...document.getElementById(input.dataset.filter).children];
  const none = document.getElementById(`${input.dataset.filter}-none`);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const card of cards) card.hidden = !words.every((word) => card.dataset.words.includes(word));
    none.hidden = cards.some((card) => !card.hidden);
  });
}
for (const select of document.querySelectorAll("select[data-submit]")) select.addEventListener("change", () => select.form.submit());

// After a refused form, the focus is on the first mistake. A saved line that is only looked at may have some too.
// By now the scripts of the page have opened the tab that has it.
addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll('main form:not([data-unsaved=""]) [aria-invalid="true"]')) {
    for (let box = input.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (!input.checkVisibility()) continue;
    input.focus();
    return;
  }
});

// The response of a provider does not stay in the URL.
if (document.querySelector("[data-forget-query]")) history.replaceState(null, "", location.pathname);
