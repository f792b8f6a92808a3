// The editor of scripts: line numbers and colours for a textarea, which stays what is typed into
// and posted. What is shown is built of text only, so that nothing in a script becomes a page.
"use strict";

const INDENT = "    ";
const KEYWORDS = "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
// In the order of what wins: a keyword in a string is a string, a quote in a comment a comment.
const PYTHON = new RegExp([
  /(?<comment>#[^\n]*)/,
  /(?<string>(?:\b[bfruBFRU]{1,2})?(?<quote>"""|''')(?:\\[^]|(?!\k<quote>)[^])*(?:\k<quote>)?)/,
  /(?<text>(?:\b[bfruBFRU]{1,2})?(?:"(?:\\[^]|[^"\\\n])*"?|'(?:\\[^]|[^'\\\n])*'?))/,
  /(?<name>(?<=\b(?:def|class)[ \t]+)\w+)/,
  new RegExp(`(?<keyword>\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b)`),
  /(?<number>\b(?:0[boxBOX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\b)/,
].map((part) => part.source).join("|"), "gu");

// Each line as its pieces, a kind and a text; what goes over several lines is cut.
function pieces(source) {
  const lines = [[]];
  const add = (kind, text) => text.split("\n").forEach((part, number) => {
    if (number) lines.push([]);
    if (part) lines.at(-1).push([kind, part]);
  });
  let done = 0;
  for (const found of source.matchAll(PYTHON)) {
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    add("", source.slice(done, found.index));
    add(kind, found[0]);
    done = found.index + found[0].length;
  }
  add("", source.slice(done));
  return lines;
}

function coloured(line) {
  const made = document.createElement("span");
  for (const [kind, text] of line) {
    const piece = document.createElement("span");
    piece.className = kind && `ok-py-${kind}`;
    piece.textContent = text;
    made.append(piece);
  }
  made.append("\n");  // so that an empty line has its height
  return made;
}

// Only the lines that differ are drawn again: a long script stays as quick as a short one.
function painter(layer) {
  let before = [];
  return (source) => {
    const lines = pieces(source);
    const after = lines.map((line) => JSON.stringify(line));
    const shorter = Math.min(before.length, after.length);
    let head = 0;
    let tail = 0;
    while (head < shorter && before[head] === after[head]) head += 1;
    while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
    const end = layer.children[before.length - tail] || null;
    for (const gone of [...layer.children].slice(head, before.length - tail)) gone.remove();
    for (const line of lines.slice(head, lines.length - tail)) layer.insertBefore(coloured(line), end);
    before = after;
  };
}

function number(gutter, lines, wrong) {
  while (gutter.children.length > lines) gutter.lastChild.remove();
  while (gutter.children.length < lines) {
    const line = document.createElement("span");
    line.textContent = gutter.children.length + 1;
    if (line.textContent === wrong) line.className = "ok-wrong";
    gutter.append(line);
  }
}

// The browser's own typing, so that it can be undone.
function type(area, text) {
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function indent(area) {
  const { value, selectionStart, selectionEnd } = area;
  if (!value.slice(selectionStart, selectionEnd).includes("\n")) { type(area, INDENT); return; }
  const start = value.lastIndexOf("\n", selectionStart - 1) + 1;
  area.setSelectionRange(start, selectionEnd);
  const text = value.slice(start, selectionEnd).replace(/^(?=[^\n])/gm, INDENT);
  type(area, text);
  area.setSelectionRange(start, start + text.length);
}

function keys(area) {
  let leaving = false;
  area.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    const plain = !event.shiftKey && !area.readOnly;
    if (event.key === "Tab" && plain && !leaving) {
      event.preventDefault();
      indent(area);
    } else if (event.key === "Enter" && plain) {
      event.preventDefault();
      const before = area.value.slice(0, area.selectionStart);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      type(area, "\n" + line.match(/^[ \t]*/)[0] + (/:[ \t]*$/.test(line) ? INDENT : ""));
    }
    if (event.key !== "Shift") leaving = event.key === "Escape";
  });
  area.addEventListener("blur", () => { leaving = false; });
}

function editor(box) {
  const area = box.querySelector("textarea");
  const layer = document.createElement("pre");
  const gutter = document.createElement("div");
  layer.className = "ok-layer";
  gutter.className = "ok-numbers";
  for (const part of [layer, gutter]) part.setAttribute("aria-hidden", "true");
  const paint = painter(layer);
  let waits = false;
  const show = () => {
    waits = false;
    paint(area.value);
    number(gutter, layer.children.length, box.dataset.wrong);
  };
  area.addEventListener("input", () => {
    if (!waits) requestAnimationFrame(show);
    waits = true;
  });
  box.prepend(gutter, layer);
  box.classList.add("ok-live");
  for (const note of document.querySelectorAll(`[id="${area.id}-keys"]`)) note.hidden = false;
  keys(area);
  show();
}

for (const box of document.querySelectorAll(".ok-editor")) editor(box);
