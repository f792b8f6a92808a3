// What the pages of outkey do by themselves. Without it every field is visible and saving works.
"use strict";

const form = document.querySelector(".ok-form[data-test]");

// Tabs: arrow keys move between them, and the place is kept while the page is.
function tabs() {
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
  list.forEach((tab, at) => {
    tab.addEventListener("click", () => { choose(tab); history.replaceState(null, "", "#" + tab.id); });
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + list.length, Home: 0, End: list.length - 1 }[event.key];
      if (to !== undefined) { event.preventDefault(); choose(list[to % list.length], true); }
    });
  });
  const wrong = document.querySelector(".ok-bad, .ok-panel .ok-error");
  const panel = wrong && wrong.closest('[role="tabpanel"]');
  const marked = list.find((tab) => "#" + tab.id === location.hash);
  if (list.length) choose(panel ? document.getElementById(panel.getAttribute("aria-labelledby")) : marked || list[0]);
}

// Fields appear and disappear with the authentication type.
function types() {
  const type = form.querySelector('[name="authentication_type"]');
  const show = () => {
    for (const field of form.querySelectorAll("[data-when]")) {
      field.hidden = !field.dataset.when.split(" ").includes(type.value);
    }
  };
  type.addEventListener("change", show);
  show();
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
    if (!event.target.name || !event.target.name.startsWith("row-secret-")) return;
    const value = form.querySelector(`[name="${event.target.name.replace("secret", "value")}"]`);
    value.type = event.target.checked ? "password" : "text";
  });
}

function rows() {
  const body = document.getElementById("rows");
  form.querySelector('[data-act="add-row"]').addEventListener("click", () => {
    const html = document.getElementById("new-row").innerHTML.replaceAll("__N__", String(body.rows.length));
    body.insertAdjacentHTML("beforeend", html);
    body.lastElementChild.querySelector("input").focus();
  });
  // Names that usually carry a credential are secret by default.
  body.addEventListener("change", (event) => {
    const { name, value } = event.target;
    if (name && name.startsWith("row-key-") && /key|token|secret|auth|password|signature/i.test(value)) {
      const box = form.querySelector(`[name="${name.replace("key", "secret")}"]`);
      if (!box.checked) box.click();
    }
  });
}

// Test and preview: the form as it stands is posted, and the answer shown as it arrives.
async function ask(button, address) {
  const outcome = document.getElementById("outcome");
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
  } catch (error) {
    const note = document.createElement("p");
    note.className = "ok-note ok-error";
    note.textContent = `${outcome.dataset.failed || "The server did not answer."} (${error.message})`;
    outcome.append(note);
  } finally {
    button.disabled = false;
    button.focus();
    outcome.removeAttribute("aria-busy");
    outcome.scrollIntoView({ block: "nearest" });
  }
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
  form.addEventListener("input", () => {
    unsaved = true;
    document.getElementById("outcome").hidden = true;
  });
  form.addEventListener("submit", () => { unsaved = false; });
  addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
}

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

if (form) {
  tabs();
  types();
  secrets();
  rows();
  changes();
  for (const act of ["test", "preview"]) {
    const button = form.querySelector(`[data-act="${act}"]`);
    if (button) button.addEventListener("click", () => ask(button, form.dataset[act]));
  }
}
