// Times in words stay right while a page is open, and the browser's time zone is offered.
"use strict";

// The words for now, minutes and hours come with each time, in the language of the page.
function refreshTimes() {
  for (const shown of document.querySelectorAll("time[data-words]")) {
    const words = shown.dataset.words.split("|");
    const seconds = (Date.now() - Date.parse(shown.dateTime)) / 1000;
    const distance = "future" in shown.dataset ? -seconds : seconds;
    if (distance < 60) shown.textContent = words[0];
    else if (distance < 3600) shown.textContent = words[1].replace("#", Math.floor(distance / 60));
    else if (distance < 6 * 3600) shown.textContent = words[2].replace("#", Math.floor(distance / 3600));
    else shown.textContent = shown.title;
  }
}

function offerZone(offer) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || zone === offer.dataset.zoneOffer) return;
  const use = offer.querySelector("[data-zone-use]");
  use.value = zone;
  use.textContent = zone;
  offer.hidden = false;
}

setInterval(refreshTimes, 20_000);
addEventListener("pageshow", (event) => { if (event.persisted) refreshTimes(); });
for (const offer of document.querySelectorAll("[data-zone-offer]")) offerZone(offer);
