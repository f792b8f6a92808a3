// Ctrl K opens the search. The focus stays in the field; the arrow keys choose a result.
"use strict";

{
  const dialog = document.getElementById("ok-search-dialog");
  const form = dialog.querySelector("form");
  const field = form.elements.q;
  const list = document.getElementById("ok-search-list");
  const none = dialog.querySelector("[data-search-none]");
  const opener = document.querySelector("[data-search-open]");
  let chosen = -1;
  let request = null;
  let timer = 0;

  const results = () => [...list.querySelectorAll('[role="option"]')];

  const choose = (number) => {
    const all = results();
    chosen = all.length ? (number + all.length) % all.length : -1;
    all.forEach((result, at) => result.setAttribute("aria-selected", String(at === chosen)));
    if (chosen < 0) {
      field.removeAttribute("aria-activedescendant");
      return;
    }
    field.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  };

  const search = async () => {
    if (request) request.abort();
    request = new AbortController();
    const query = field.value.trim();
    let html = "";
    if (query) {
      const url = `${form.action}?${new URLSearchParams({ q: query, part: "1" })}`;
      try {
        const response = await fetch(url, { signal: request.signal, credentials: "same-origin" });
        if (response.ok && !response.redirected) html = await response.text();
      } catch (error) {
        if (error.name === "AbortError") return;
      }
    }
    list.innerHTML = html;
    const hasResults = results().length > 0;
    field.setAttribute("aria-expanded", String(hasResults));
    none.textContent = query && !hasResults ? none.dataset.searchNone : "";
    choose(hasResults ? 0 : -1);
  };

  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    field.select();
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    }
  });
  form.addEventListener("submit", (event) => {
    const result = results()[chosen];
    if (!result) return;
    event.preventDefault();
    location.assign(result.href);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { if (opener) opener.focus(); });
  // The field of the header opens the dialog when it is used, not when it is passed.
  opener.addEventListener("mousedown", (event) => { event.preventDefault(); open(); });
  opener.addEventListener("keydown", (event) => {
    if (event.key === "Tab" || event.key === "Shift" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return;
    event.preventDefault();
    open();
    if (event.key.length === 1) {
      field.value = event.key;
      search();
    }
  });
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
}
