// The form of a configuration. Without it every field is visible and saving works.
"use strict";

(() => {
  const form = document.getElementById("configuration-form");
  if (!form) return;
  const testButton = form.querySelector('[data-act="test"]');
  const fieldOf = (path) => form.querySelector(`[data-field="${CSS.escape(path)}"]`);

  // Tabs: arrow keys move between them, and the place is kept while the page is.
  function setUpTabs() {
    // Not the tab's own id: the browser would scroll to it, past the messages.
    const place = (tab) => tab.id.replace("tab-", "#");
    const list = [...document.querySelectorAll('.ok-tabs [role="tab"]')];
    const choose = (chosen) => {
      for (const tab of list) {
        const here = tab === chosen;
        tab.setAttribute("aria-selected", String(here));
        tab.tabIndex = here ? 0 : -1;
        document.getElementById(tab.getAttribute("aria-controls")).hidden = !here;
      }
    };
    for (const tab of list) {
      tab.addEventListener("click", () => { choose(tab); history.replaceState(null, "", place(tab)); });
      tab.addEventListener("keydown", (event) => {
        const there = list.filter((other) => !other.hidden);
        const at = there.indexOf(tab);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + there.length, Home: 0, End: there.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        there[to % there.length].click(); // with all that a click does, such as to load the history
        there[to % there.length].focus();
      });
    }
    const there = list.filter((tab) => !tab.hidden);
    const wrong = (tab) => document.getElementById(tab.getAttribute("aria-controls")).querySelector(".ok-bad, .ok-plain .ok-error");
    const marked = there.find((tab) => place(tab) === location.hash);
    if (there.length) choose(there.find(wrong) || marked || there[0]);
  }

  // Open what a field is in: its tab, and whatever is folded around it.
  function goTo(path) {
    const row = form.querySelector(`[data-secret="${CSS.escape(path)}"]`);
    const place = fieldOf(path) || row;
    const panel = place ? place.closest(".ok-panel") : document.getElementById("panel-headers");
    for (let folded = (place || panel).closest("details"); folded; folded = folded.parentElement.closest("details")) folded.open = true;
    if (panel) document.querySelector(`[aria-controls="${panel.id}"]`).click();
    const input = place && place.querySelector(row ? "input[type=password]" : "input:not([hidden]), select, textarea");
    if (input) input.focus();
    return place;
  }

  function setUpLinks() {
    for (const link of document.querySelectorAll("[data-goto]")) {
      link.addEventListener("click", (event) => { event.preventDefault(); goTo(link.dataset.goto); });
    }
  }

  function markRefused(outcome) {
    for (const field of form.querySelectorAll(".ok-refused")) field.classList.remove("ok-bad", "ok-refused");
    const paths = [...outcome.querySelectorAll("[data-refused]")].map((note) => note.dataset.refused);
    const fields = paths.map(fieldOf);
    for (const field of fields.filter(Boolean)) field.classList.add("ok-bad", "ok-refused");
    if (fields[0]) goTo(paths[0]);
    return Boolean(fields[0]);
  }

  // A mark does not outlive the value that it was about.
  function unmark(event) {
    const field = event.target.closest("[data-field]");
    if (!field || !field.classList.contains("ok-bad")) return;
    const panel = field.closest(".ok-panel");
    field.classList.remove("ok-bad", "ok-refused");
    for (const message of field.querySelectorAll(".ok-message")) message.remove();
    for (const input of field.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    if (!panel || panel.querySelector(".ok-bad, .ok-note")) return;
    const dot = document.querySelector(`[aria-controls="${panel.id}"] .ok-dot`);
    if (dot) dot.remove();
  }

  // The status in the heading is the one after the test.
  function showStatus(outcome) {
    const old = [document.querySelector(".ok-head h1 .ok-chip"), document.getElementById("status-line")];
    const fresh = [...outcome.querySelectorAll("[data-status]")];
    for (const [number, part] of fresh.entries()) {
      part.hidden = false;
      if (old[number]) old[number].replaceWith(part);
    }
    if (!outcome.querySelector("[data-passed]")) return;
    // What asked for the test is done, and its verdict names the next step.
    for (const done of document.querySelectorAll(".ok-until-tested, .ok-page > [data-next-step]")) done.remove();
  }

  // Fields appear and disappear with what other fields say; a tab without any of its fields goes too.
  function setUpConditions() {
    const valueOf = (input) => (input.type === "checkbox" && !input.checked ? "" : input.value);
    const holds = ([name, values]) => values.includes(valueOf(form.elements[name]));
    const isFilled = (name) => Boolean(form.elements[name] && form.elements[name].value.trim());
    const show = () => {
      for (const part of form.querySelectorAll("[data-when]")) part.hidden = !JSON.parse(part.dataset.when).some((all) => all.every(holds));
      for (const part of form.querySelectorAll("[data-needs]")) part.hidden = !isFilled(part.dataset.needs);
      for (const tab of form.querySelectorAll('[role="tab"]')) {
        const fields = [...document.getElementById(tab.getAttribute("aria-controls")).querySelectorAll("[data-field]")];
        tab.hidden = fields.length > 0 && fields.every((field) => field.hidden);
      }
      const slash = form.querySelector(".ok-slash");
      slash.hidden = slash.closest("[data-field]").querySelector("input").value.trim() !== "/";
    };
    form.addEventListener("change", show);
    form.addEventListener("input", show);
    show();
  }

  // The URLs that an issuer publishes are filled in; they are stored when the user saves the form.
  function setUpDiscovery(button) {
    const message = document.getElementById("discovered");
    const fill = ({ fields, done, error }) => {
      for (const [name, url] of Object.entries(fields || {})) form.elements[name].value = url;
      if (fields) form.dispatchEvent(new Event("input"));
      message.className = error ? "ok-message" : "";
      message.textContent = error || done;
    };
    button.addEventListener("click", async () => {
      const body = new FormData();
      for (const name of ["csrfmiddlewaretoken", "network", "oauth2.issuer"]) body.set(name, form.elements[name].value);
      button.disabled = true;
      fill({ done: button.dataset.asking });
      try {
        fill(await (await fetch(button.dataset.discover, { method: "POST", body, credentials: "same-origin" })).json());
      } catch {
        fill({ error: button.dataset.failed });
      } finally {
        button.disabled = false;
      }
    });
  }

  // What is left of a token's life, second by second.
  function startCountdown(shown) {
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
  function setUpSecrets() {
    for (const input of form.querySelectorAll("[data-collapsed]")) input.hidden = true;
    for (const button of form.querySelectorAll("[data-replace]")) {
      button.addEventListener("click", () => {
        const input = document.getElementById(button.dataset.replace);
        for (const part of input.parentElement.querySelectorAll("[data-collapsed]")) part.hidden = false;
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

  // A key of several lines is hidden as soon as it is there: an input that masks has one line only.
  function setUpSecretLines(note) {
    const text = document.getElementById(note.dataset.linesEntered);
    const folded = text.closest("details");
    const line = folded.parentElement.querySelector("input[type=password]");
    const words = note.querySelector("[data-text]");
    const show = (entered) => {
      note.hidden = !entered;
      folded.hidden = entered;
      line.hidden = entered;
      words.textContent = `${words.dataset.text} ${text.value.trim().split("\n").length}`;
    };
    const enter = (value) => {
      text.value = value;
      line.value = "";
      if (value) show(true);
      text.dispatchEvent(new Event("input", { bubbles: true }));
    };
    line.addEventListener("paste", (event) => {
      const pasted = event.clipboardData.getData("text");
      if (!pasted.trim().includes("\n")) return;
      event.preventDefault();
      enter(pasted);
    });
    text.addEventListener("paste", () => setTimeout(() => enter(text.value)));
    text.addEventListener("change", () => { if (text.value) show(true); });
    folded.querySelector("[data-lines-file]").addEventListener("change", async (event) => {
      event.stopPropagation(); // the frame of the page expects other elements around a file
      if (event.target.files[0]) enter(await event.target.files[0].text());
      event.target.value = "";
    }, true);
    note.querySelector("button").addEventListener("click", () => {
      text.value = "";
      show(false);
      line.focus();
    });
  }

  function setUpRows() {
    for (const body of form.querySelectorAll("[data-rows]")) {
      const prefix = body.dataset.rows;
      const numbers = () => [...form.querySelectorAll(`[name^="${prefix}-"]`)].map((input) => Number(input.name.split("-").at(-1)));
      form.querySelector(`[data-add="${prefix}"]`).addEventListener("click", () => {
        const html = form.querySelector(`[data-new="${prefix}"]`).innerHTML.replaceAll("__N__", String(Math.max(-1, ...numbers()) + 1));
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
  async function ask(button, url, { keepsFocus = false } = {}) {
    const outcome = document.getElementById(button.dataset.outcome || "outcome");
    let leads = keepsFocus;
    outcome.hidden = false;
    outcome.replaceChildren();
    outcome.setAttribute("aria-busy", "true");
    button.disabled = true;
    try {
      const response = await fetch(url, { method: "POST", body: new FormData(form), credentials: "same-origin" });
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const pieces = (rest + part.value).split("<!-- end -->");
        rest = pieces.pop();
        for (const piece of pieces) outcome.insertAdjacentHTML("beforeend", piece);
      }
      outcome.insertAdjacentHTML("beforeend", rest);
      leads = markRefused(outcome) || leads;
      showStatus(outcome);
    } catch (error) {
      const note = document.createElement("p");
      note.className = "ok-note ok-error";
      note.textContent = `${outcome.dataset.failed || "The server did not respond."} (${error.message})`;
      outcome.append(note);
    } finally {
      button.disabled = false;
      if (!leads) button.focus();
      outcome.removeAttribute("aria-busy");
      outcome.scrollIntoView({ block: "nearest" });
    }
  }

  const test = (options) => ask(testButton, form.dataset.test, options);

  // A fix of what is not saved yet changes the inputs; a secret is only marked, and read without its quotes.
  function applyFix(button) {
    const changes = JSON.parse(button.dataset.changes);
    const isMark = (name) => /^tidy:|^(row|query)-tidy-/.test(name);
    const secretOf = (mark) => (mark.startsWith("tidy:") ? mark.replace("tidy:", "secret:") : mark.replace("-tidy-", "-value-"));
    for (const [name, value] of changes) {
      let input = form.elements[name];
      if (!input && isMark(name)) {
        input = document.createElement("input");
        input.type = "hidden";
        input.name = name;
        form.append(input);
      }
      if (input.type === "checkbox") input.checked = value === "true";
      else input.value = value;
    }
    form.dispatchEvent(new Event("change"));
    const first = form.elements[isMark(changes[0][0]) ? secretOf(changes[0][0]) : changes[0][0]];
    const field = first.closest("[data-field], [data-secret]");
    if (field) goTo(field.dataset.field || field.dataset.secret);
    else goTo("headers");
    test({ keepsFocus: true });
  }

  // Another value is not tidied because the one before was.
  function forgetMark(event) {
    const name = event.target === form ? "" : event.target.name || ""; // the form has an input named "name"
    const mark = name.replace(/^(secret|lines):/, "tidy:").replace(/^(row|query)-value-/, "$1-tidy-");
    const input = mark !== name && form.elements[mark];
    if (input) input.remove();
  }

  // Enter in the moment of a trial tries; anywhere else it saves.
  function enterRuns(moment) {
    moment.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      form.querySelector('[data-act="run"]').click();
    });
  }

  // What was typed is not lost by leaving, and a verdict does not outlive what it was about.
  function trackChanges() {
    let unsaved = false;
    form.addEventListener("input", (event) => {
      unsaved = unsaved || event.target.id !== "run-at";
      for (const outcome of document.querySelectorAll(".ok-outcome")) outcome.hidden = true;
      unmark(event);
      forgetMark(event);
    });
    form.addEventListener("submit", () => { unsaved = false; });
    addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
    document.addEventListener("submit", (event) => { if (event.target.id === "fix-form") unsaved = false; });
  }

  // The history is read again whenever it is opened: a test may have added to it.
  function reloadRecords(place) {
    document.getElementById("tab-history").addEventListener("click", async () => {
      const response = await fetch(place.dataset.history, { credentials: "same-origin" });
      if (response.ok && !response.redirected) place.innerHTML = await response.text();
    });
  }

  setUpConditions();
  setUpTabs();
  setUpLinks();
  setUpSecrets();
  setUpRows();
  trackChanges();
  for (const note of form.querySelectorAll("[data-lines-entered]")) setUpSecretLines(note);
  for (const act of ["test", "preview", "run"]) {
    const button = form.querySelector(`[data-act="${act}"]`);
    if (button) button.addEventListener("click", () => ask(button, form.dataset[act]));
  }
  for (const other of document.querySelectorAll("[data-press]")) {
    other.addEventListener("click", () => form.querySelector(`[data-act="${other.dataset.press}"]`).click());
  }
  document.getElementById("outcome").addEventListener("click", (event) => {
    const button = event.target.closest("[data-changes]");
    if (button) applyFix(button);
  });
  for (const moment of form.querySelectorAll("#run-at")) enterRuns(moment);
  for (const button of form.querySelectorAll("[data-discover]")) setUpDiscovery(button);
  for (const shown of document.querySelectorAll("[data-left]")) startCountdown(shown);
  for (const place of form.querySelectorAll("[data-history]")) reloadRecords(place);
  if (form.dataset.repeat !== undefined && testButton) {
    goTo(form.dataset.repeat);
    test({ keepsFocus: true });
  }
})();
