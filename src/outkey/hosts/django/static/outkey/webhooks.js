// The form of a webhook shows only what its sender needs; without this, all fields are visible.
"use strict";

function setUpHookForm(form) {
  const show = () => {
    const scheme = form.elements.scheme.value;
    for (const part of form.querySelectorAll("[data-schemes]")) {
      part.hidden = !JSON.parse(part.dataset.schemes).includes(scheme) && !part.classList.contains("ok-bad");
    }
    const chosen = form.querySelector("input[name=does]:checked");
    for (const part of form.querySelectorAll("[data-does]")) {
      const isWrong = part.classList.contains("ok-bad") || part.querySelector(".ok-bad");
      part.hidden = Boolean(chosen) && !isWrong && !part.dataset.does.split(" ").includes(chosen.value);
    }
  };
  form.addEventListener("change", show);
  show();
}

for (const form of document.querySelectorAll(".ok-hook-form")) setUpHookForm(form);

// A delivery that waits for nothing but a worker is processed within seconds.
const RELOAD_SECONDS = 2;
function reloadSoon() {
  setTimeout(() => { if (document.hidden) reloadSoon(); else location.reload(); }, RELOAD_SECONDS * 1000);
}
if (document.querySelector("[data-reload]")) reloadSoon();
