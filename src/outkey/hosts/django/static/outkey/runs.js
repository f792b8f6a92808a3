// The page of a run follows it: a small part is fetched every two seconds, the whole page when it has ended.
"use strict";

function followRun(run) {
  const announcement = document.getElementById("run-said");
  const SECONDS = 2;
  const ANNOUNCED_SECONDS = 20; // so that a screen reader is not interrupted all the time
  let announcedAt = Date.now();

  const read = async (url) => {
    const response = await fetch(url, { credentials: "same-origin" });
    if (!response.ok || response.redirected) throw new Error(String(response.status));
    return new DOMParser().parseFromString(await response.text(), "text/html");
  };
  const chip = (part) => part.querySelector("[data-chip]").textContent.trim();
  const show = (live) => {
    document.getElementById("run-live").replaceWith(live);
    const progress = live.querySelector(".ok-progress");
    if (!progress || Date.now() - announcedAt < ANNOUNCED_SECONDS * 1000) return;
    announcement.textContent = progress.innerText;
    announcedAt = Date.now();
  };
  // The whole page, when the run has begun or ended; the focus stays on its button. If that is gone, the heading
  // has it: whoever was about to press it must not press another one.
  const showPage = async () => {
    const page = await read(run.dataset.page);
    const focused = run.contains(document.activeElement) ? document.activeElement.textContent : null;
    run.replaceChildren(...page.getElementById("run").childNodes);
    const button = [...run.querySelectorAll("a, button, summary")].find((other) => other.textContent === focused);
    if (focused !== null) (button || run.querySelector("h1")).focus();
  };
  const finish = async () => {
    await showPage();
    announcement.textContent = `${announcement.dataset.ended} ${document.querySelector("h1 .ok-chip").textContent}`;
  };
  const step = async () => {
    try {
      if (!document.hidden) {
        const live = (await read(run.dataset.live)).getElementById("run-live");
        if (!("follows" in live.dataset)) return await finish();
        if (chip(live) === chip(run)) show(live);
        else await showPage();
      }
    } catch {
      // A server that restarts is back soon: the next step asks it again.
    }
    return setTimeout(step, SECONDS * 1000);
  };
  setTimeout(step, SECONDS * 1000);
}

if (document.querySelector("#run-live[data-follows]")) followRun(document.getElementById("run"));
