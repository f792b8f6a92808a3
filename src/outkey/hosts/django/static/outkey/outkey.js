// What the pages of outkey do by themselves. Without it every field is visible and saving works.
"use strict";

const form = document.querySelector(".ok-form[data-test]");

// Tabs: arrow keys move between them, and the place is kept while the page is.
function tabs() {
  // Not the tab's own id: the browser would scroll to it, past the messages.
  const place = (tab) => tab.id.replace("tab-", "#");
  const list = [...document.querySelectorAll('.ok-tabs [role="tab"]')];
  const choose = (chosen, focus) => {
    for (const tab of list) {
      const here = tab === chosen;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !here;
    }
    if (focus) chosen.focus();
  };
  for (const tab of list) {
    tab.addEventListener("click", () => { choose(tab); history.replaceState(null, "", place(tab)); });
    tab.addEventListener("keydown", (event) => {
      const there = list.filter((other) => !other.hidden);
      const at = there.indexOf(tab);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + there.length, Home: 0, End: there.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); choose(there[to % there.length], true); }
    });
  }
  const there = list.filter((tab) => !tab.hidden);
  const wrong = (tab) => document.getElementById(tab.getAttribute("aria-controls")).querySelector(".ok-bad, .ok-plain .ok-error");
  const marked = there.find((tab) => place(tab) === location.hash);
  if (there.length) choose(there.find(wrong) || marked || there[0]);
}

// A field is marked, or where a link leads to: its tab is opened.
function goTo(path) {
  const field = form.querySelector(`[data-field="${CSS.escape(path)}"]`);
  const panel = field ? field.closest(".ok-panel") : document.getElementById("panel-headers");
  document.querySelector(`[aria-controls="${panel.id}"]`).click();
  const input = field && field.querySelector("input, select, textarea");
  if (input) input.focus();
  return field;
}

function links() {
  for (const link of document.querySelectorAll("[data-goto]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); goTo(link.dataset.goto); });
  }
}

function markRefused(outcome) {
  for (const field of form.querySelectorAll(".ok-refused")) field.classList.remove("ok-bad", "ok-refused");
  const paths = [...outcome.querySelectorAll("[data-refused]")].map((note) => note.dataset.refused);
  const fields = paths.map((path) => form.querySelector(`[data-field="${CSS.escape(path)}"]`));
  for (const field of fields.filter(Boolean)) field.classList.add("ok-bad", "ok-refused");
  if (fields[0]) goTo(paths[0]);
}

// The status in the heading is the one after the test.
function showStatus(outcome) {
  const fresh = outcome.querySelector("[data-status]");
  const chip = document.querySelector(".ok-head h1 .ok-chip");
  if (!fresh || !chip) return;
  fresh.hidden = false;
  chip.replaceWith(fresh);
}

// Fields appear and disappear with what other fields say; a tab without any of its fields goes too.
function conditions() {
  const holds = ([name, values]) => values.includes(form.elements[name].value);
  const show = () => {
    for (const part of form.querySelectorAll("[data-when]")) part.hidden = !JSON.parse(part.dataset.when).some((all) => all.every(holds));
    for (const tab of form.querySelectorAll('[role="tab"]')) {
      const fields = [...document.getElementById(tab.getAttribute("aria-controls")).querySelectorAll("[data-field]")];
      tab.hidden = fields.length > 0 && fields.every((field) => field.hidden);
    }
  };
  form.addEventListener("change", show);
  show();
}

// The addresses that an issuer names are filled in, and kept only when a person saves them.
function discovery(button) {
  const told = document.getElementById("discovered");
  const fill = ({ fields, done, error }) => {
    for (const [name, url] of Object.entries(fields || {})) form.elements[name].value = url;
    if (fields) form.dispatchEvent(new Event("input"));
    told.className = error ? "ok-message" : "";
    told.textContent = error || done;
  };
  button.addEventListener("click", async () => {
    const asked = new FormData();
    for (const name of ["csrfmiddlewaretoken", "network", "oauth2.issuer"]) asked.set(name, form.elements[name].value);
    button.disabled = true;
    fill({ done: button.dataset.asking });
    try {
      fill(await (await fetch(button.dataset.discover, { method: "POST", body: asked, credentials: "same-origin" })).json());
    } catch {
      fill({ error: button.dataset.failed });
    } finally {
      button.disabled = false;
    }
  });
}

// What is left of a token's life, second by second.
function countdown(shown) {
  const ends = Date.now() + Number(shown.dataset.left) * 1000;
  const tick = () => {
    const left = Math.ceil((ends - Date.now()) / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const minutes = Math.floor(left / 60);
    shown.textContent = left > 0 ? `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(left % 60)}` : shown.dataset.ended;
    if (left <= 0) clearInterval(timer);
  };
  const timer = setInterval(tick, 1000);
  tick();
}

// A secret that is set shows its input only when it is to be replaced.
function secrets() {
  for (const input of form.querySelectorAll("[data-collapsed]")) input.hidden = true;
  for (const button of form.querySelectorAll("[data-replace]")) {
    button.addEventListener("click", () => {
      const input = document.getElementById(button.dataset.replace);
      input.hidden = false;
      input.focus();
    });
  }
  form.addEventListener("change", (event) => {
    if (!/^(row|query)-secret-/.test(event.target.name || "")) return;
    const beside = (part) => form.querySelector(`[name="${event.target.name.replace("-secret-", `-${part}-`)}"]`);
    beside("value").type = event.target.checked ? "password" : "text";
    beside("text").closest("label").hidden = !event.target.checked;
  });
}

function rows() {
  for (const body of form.querySelectorAll("[data-rows]")) {
    const prefix = body.dataset.rows;
    form.querySelector(`[data-add="${prefix}"]`).addEventListener("click", () => {
      const html = form.querySelector(`[data-new="${prefix}"]`).innerHTML.replaceAll("__N__", String(body.rows.length));
      body.insertAdjacentHTML("beforeend", html);
      body.lastElementChild.querySelector("input").focus();
    });
    // Names that usually carry a credential are secret by default.
    body.addEventListener("change", (event) => {
      const { name, value } = event.target;
      if (name && name.startsWith(`${prefix}-key-`) && /key|token|secret|auth|password|signature/i.test(value)) {
        const box = form.querySelector(`[name="${name.replace("-key-", "-secret-")}"]`);
        if (!box.checked) box.click();
      }
    });
  }
}

// Test, preview and run: the form is posted unsaved, and the response shown as it arrives.
async function ask(button, address) {
  const outcome = document.getElementById(button.dataset.outcome || "outcome");
  outcome.hidden = false;
  outcome.replaceChildren();
  outcome.setAttribute("aria-busy", "true");
  button.disabled = true;
  try {
    const response = await fetch(address, { method: "POST", body: new FormData(form), credentials: "same-origin" });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      outcome.insertAdjacentHTML("beforeend", part.value);
    }
    markRefused(outcome);
    showStatus(outcome);
  } catch (error) {
    const note = document.createElement("p");
    note.className = "ok-note ok-error";
    note.textContent = `${outcome.dataset.failed || "The server did not respond."} (${error.message})`;
    outcome.append(note);
  } finally {
    button.disabled = false;
    button.focus();
    outcome.removeAttribute("aria-busy");
    outcome.scrollIntoView({ block: "nearest" });
  }
}

// Enter in the moment of a trial tries; anywhere else it saves.
function enterRuns(moment) {
  moment.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    form.querySelector('[data-act="run"]').click();
  });
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (!copy) return;
  await navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
  copy.textContent = "✓ " + copy.textContent.replace("✓ ", "");
});

// What was typed is not lost by leaving, and a verdict does not outlive what it was about.
function changes() {
  let unsaved = false;
  form.addEventListener("input", (event) => {
    unsaved = unsaved || event.target.id !== "run-at";
    for (const outcome of document.querySelectorAll(".ok-outcome")) outcome.hidden = true;
  });
  form.addEventListener("submit", () => { unsaved = false; });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
}

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
// Files are read here and sent like pasted text, so that no server stores them; nothing of either
// stays in a page that the browser keeps for the button Back.
for (const box of document.querySelectorAll("[data-import]")) {
  const text = box.elements.text;
  box.addEventListener("change", async (event) => {
    if (event.target.type !== "file") return;
    event.stopPropagation(); // the frame of the page expects other elements around a file
    const [first, ...others] = await Promise.all([...event.target.files].map((file) => file.text()));
    text.value = first || "";
    for (const old of box.querySelectorAll("[data-import-more]")) old.remove();
    for (const other of others) {
      const more = text.cloneNode();
      more.removeAttribute("id");
      more.dataset.importMore = "";
      more.value = other;
      text.after(more);
    }
  }, true);
  addEventListener("pagehide", () => box.reset());
  addEventListener("load", () => text.focus()); // the frame of the page is hidden until then
}

// The response of a provider does not stay in the URL.
if (document.querySelector("[data-forget-query]")) history.replaceState(null, "", location.pathname);

if (form) {
  conditions();
  tabs();
  links();
  secrets();
  rows();
  changes();
  for (const act of ["test", "preview", "run"]) {
    const button = form.querySelector(`[data-act="${act}"]`);
    if (button) button.addEventListener("click", () => ask(button, form.dataset[act]));
  }
  for (const other of document.querySelectorAll("[data-press]")) {
    other.addEventListener("click", () => form.querySelector(`[data-act="${other.dataset.press}"]`).click());
  }
  for (const moment of form.querySelectorAll("#run-at")) enterRuns(moment);
  for (const button of form.querySelectorAll("[data-discover]")) discovery(button);
  for (const shown of document.querySelectorAll("[data-left]")) countdown(shown);
}
