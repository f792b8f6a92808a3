// Selecting rows of a list, and testing many configurations one after the other.
"use strict";

function setUpBulkActions(bar) {
  const boxes = [...bar.closest("form").querySelectorAll('input[name="selected"]')];
  const all = bar.querySelector("[data-bulk-all]");
  const count = bar.querySelector("[data-bulk-count]");
  const show = () => {
    const selected = boxes.filter((box) => box.checked).length;
    all.checked = selected > 0 && selected === boxes.length;
    all.indeterminate = selected > 0 && selected < boxes.length;
    count.textContent = selected ? count.dataset.bulkCount.replace("#", selected) : "";
    for (const button of bar.querySelectorAll("button")) button.disabled = !selected;
  };
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  for (const box of boxes) box.addEventListener("change", show);
  show();
}

// Two at a time: tests wait for servers of others, and other users test too.
async function runChecks(table) {
  const forms = [...table.querySelectorAll("form[data-check]")];
  const total = forms.length;
  const summary = document.querySelector("[data-check-summary]");
  const stop = document.querySelector("[data-checks-stop]");
  let tested = 0;
  let failed = 0;
  stop.hidden = false;
  stop.addEventListener("click", () => { forms.length = 0; stop.hidden = true; });
  const testNext = async () => {
    for (let form = forms.shift(); form; form = forms.shift()) {
      const cell = form.parentElement;
      const body = new FormData(form);
      body.set("part", "1");
      form.querySelector("button").disabled = true;
      cell.setAttribute("aria-busy", "true");
      try {
        const response = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
        if (!response.ok || response.redirected) throw new Error(String(response.status));
        cell.innerHTML = await response.text();
      } catch (error) {
        form.querySelector("button").disabled = false;
        form.append(` ${error.message}`);
        failed += 1;
      }
      cell.removeAttribute("aria-busy");
      tested += 1;
      if (cell.querySelector("[data-failed]")) failed += 1;
      const numbers = [tested, total, failed];
      summary.textContent = summary.dataset.checkSummary.replace(/#/g, () => numbers.shift());
    }
  };
  await Promise.all([testNext(), testNext()]);
  stop.hidden = true;
}

for (const bar of document.querySelectorAll("[data-bulk]")) setUpBulkActions(bar);
for (const table of document.querySelectorAll("[data-checks]")) runChecks(table);
