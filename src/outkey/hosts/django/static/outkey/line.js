// The page of a sync line: each change is posted, and the parts that follow from it are drawn anew.
// Without it every button is a submit button, and the server draws the whole page.
"use strict";

const lineForm = document.getElementById("line-form");
const parts = document.getElementById("line-parts");
const announcement = document.getElementById("line-said");
let isUnsaved = lineForm.dataset.unsaved === "1";
let lastRequest = 0; // only the response to the newest request is shown
let pendingChange = null;
let isOutdated = false; // a response was dropped, because something was typed meanwhile

// Where the focus goes after the parts are drawn anew: the same field, or what a button names.
function focusPlace(button) {
  const element = document.activeElement;
  if (button && button.dataset.focus) return { id: button.dataset.focus, isElsewhere: true };
  if (!element || !parts.contains(element)) return null;
  const place = { id: element.id };
  if (typeof element.selectionStart === "number") place.selection = [element.selectionStart, element.selectionEnd];
  return place;
}

function restoreFocus(place) {
  const element = place && place.id && document.getElementById(place.id);
  if (!element) return;
  element.focus({ preventScroll: !place.isElsewhere });
  if (place.selection && typeof element.setSelectionRange === "function" && element.type !== "number") {
    element.setSelectionRange(...place.selection);
  }
}

// What was opened stays open, and what was typed after the request stays typed.
function draw(html, place) {
  const open = [...parts.querySelectorAll("details[id]")].map((details) => [details.id, details.open]);
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const drawn = fresh.content.getElementById("line-parts");
  if (!drawn) throw new Error("unexpected response");
  parts.replaceChildren(...drawn.childNodes);
  for (const [id, isOpen] of open) {
    const details = document.getElementById(id);
    if (details && !details.hasAttribute("data-open")) details.open = isOpen;
  }
  announcement.textContent = drawn.dataset.announcement || "";
  restoreFocus(place);
}

async function refresh(button) {
  clearTimeout(pendingChange);
  pendingChange = null;
  isOutdated = false;
  const number = ++lastRequest;
  const body = new FormData(lineForm);
  if (button) body.set(button.name, button.value);
  const place = focusPlace(button);
  const isSlow = button && button.hasAttribute("data-slow");
  if (isSlow) {
    announcement.textContent = lineForm.dataset.working;
    parts.inert = true; // what is typed meanwhile would be lost
  }
  parts.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(lineForm.dataset.check, { method: "POST", body, credentials: "same-origin" });
    if (response.redirected || !(response.ok || response.status === 422)) throw new Error(String(response.status));
    const html = await response.text();
    isOutdated = number !== lastRequest;
    if (!isOutdated) draw(html, button ? place : focusPlace());
  } catch (error) {
    announcement.textContent = `${lineForm.dataset.failed} (${error.message})`;
  } finally {
    if (isSlow) {
      parts.inert = false;
      restoreFocus(place);
    }
    if (number === lastRequest) parts.removeAttribute("aria-busy");
  }
}

lineForm.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=do]");
  if (!button) return;
  event.preventDefault();
  if (!button.hasAttribute("data-looks")) isUnsaved = true;
  refresh(button);
});

lineForm.addEventListener("input", (event) => {
  if (!event.target.hasAttribute("data-looks")) isUnsaved = true;
  lastRequest++; // a response to what was typed before would undo what is typed now
});

// A little later: Tab or a click elsewhere must move the focus first.
function refreshSoon() {
  if (parts.inert) return; // a button is at work, with what was posted
  clearTimeout(pendingChange);
  pendingChange = setTimeout(() => refresh(), 20);
}

lineForm.addEventListener("change", (event) => {
  if (event.target.id === "l-problems") document.getElementById("sample").classList.toggle("ok-only-problems", event.target.checked);
  if (event.target.hasAttribute("data-quiet")) return;
  refreshSoon();
});

lineForm.addEventListener("focusout", () => { if (isOutdated) refreshSoon(); });

// Enter in a field looks at its result; the button Save saves.
lineForm.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  if (["checkbox", "radio", "submit"].includes(event.target.type)) return;
  event.preventDefault();
  refresh();
});

// The sample survives a save in this window only: the server stores nothing of it.
function sampleInput() {
  return parts.querySelector("[name=sample]");
}

lineForm.addEventListener("submit", () => {
  isUnsaved = false;
  if (sampleInput().value) sessionStorage.setItem("outkey-sample", sampleInput().value);
});
addEventListener("beforeunload", (event) => { if (isUnsaved) event.preventDefault(); });
for (const link of document.querySelectorAll("[data-discards]")) link.addEventListener("click", () => { isUnsaved = false; });

const storedSample = sessionStorage.getItem("outkey-sample");
sessionStorage.removeItem("outkey-sample");
if (storedSample && !sampleInput().value && lineForm.dataset.saved === "1") {
  sampleInput().value = storedSample;
  refresh();
}
