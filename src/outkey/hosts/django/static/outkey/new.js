// The box that takes a command or files. Without it the form posts by itself.
"use strict";

for (const box of document.querySelectorAll("[data-import]")) {
  const text = box.elements.text;
  // Files are read here and sent like pasted text, so that no server stores them; nothing of either
  // stays in a page that the browser keeps for the button Back.
  box.addEventListener("change", async (event) => {
    if (event.target.type !== "file") return;
    event.stopPropagation(); // the frame of the page expects other elements around a file
    const [first, ...others] = await Promise.all([...event.target.files].map((file) => file.text()));
    text.value = first || "";
    for (const old of box.querySelectorAll("[data-import-more]")) old.remove();
    for (const other of others) {
      const more = text.cloneNode();
      more.removeAttribute("id");
      more.setAttribute("aria-label", box.querySelector("label[for]").textContent.trim());
      more.dataset.importMore = "";
      more.value = other;
      text.after(more);
    }
  }, true);
  // After an error the page stays, and with it the text: no response repeats it, since it may hold secrets.
  box.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = box.querySelector("button.ok-primary");
    button.disabled = true;
    try {
      const response = await fetch(box.action, { method: "POST", body: new FormData(box), headers: { Accept: "application/json" }, credentials: "same-origin" });
      if (response.ok && response.headers.get("Content-Type").startsWith("application/json")) {
        location.assign((await response.json()).url);
        return;
      }
      if (response.status !== 422) throw new Error(String(response.status));
      box.querySelector("[data-import-error]").innerHTML = await response.text();
      text.focus();
    } catch {
      box.submit(); // the page of the error says what happened
    }
    button.disabled = false;
  });
  addEventListener("pagehide", () => box.reset());
  addEventListener("load", () => text.focus()); // the frame of the page is hidden until then
}
