// Charts by keyboard: one stop for each chart, arrow keys from column to column, Escape closes a tip.
"use strict";

for (const group of document.querySelectorAll(".ok-columns")) {
  const columns = [...group.querySelectorAll(".ok-column")];
  const choose = (chosen) => {
    for (const column of columns) column.tabIndex = column === chosen ? 0 : -1;
  };
  if (columns.length) choose(columns[columns.length - 1]);
  group.addEventListener("keydown", (event) => {
    const at = columns.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: columns.length - 1 }[event.key];
    if (event.key === "Escape") document.activeElement.classList.add("ok-dismissed");
    if (to === undefined || !columns[to]) return;
    event.preventDefault();
    choose(columns[to]);
    columns[to].focus();
  });
  for (const column of columns) {
    for (const left of ["blur", "mouseleave"]) column.addEventListener(left, () => column.classList.remove("ok-dismissed"));
  }
}
