// Light, dark or as the system is; set before the page is drawn, so that nothing flashes.
"use strict";

{
  const root = document.documentElement;
  const stored = () => {
    try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; }
  };
  root.dataset.theme = stored();

  document.addEventListener("DOMContentLoaded", () => {
    const buttons = [...document.querySelectorAll("[data-theme-choice] button")];
    const show = () => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === root.dataset.theme));
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        root.dataset.theme = button.value;
        try { localStorage.setItem("theme", button.value); } catch { /* the choice holds for this page */ }
        show();
      });
    }
    show();
  });
}
