"use strict";
// Filters, sorts and searches the judged items, and marks differences in an item that is opened.
// Reads and writes text only: no text of an item ever becomes markup.
const list = document.getElementById("items");
const items = [...list.querySelectorAll(".item")];
const tools = document.querySelector(".tools");
const shown = document.getElementById("shown");
const search = document.getElementById("search");
const sort = document.getElementById("sort");
const more = document.getElementById("more");
const about = shown.textContent;
const numbers = new Map(items.map((item, number) => [item, number]));
const selects = [choice("group", "Group"), choice("system", "System")];
const AT_ONCE = 200; // items that are shown at a time, so that a search answers at once
const MOST_MARKED = 0.5; // of the words: with more, marks show nothing
let most = AT_ONCE;
let kind = "all";
let texts = null; // of each item, in lower case

function read() {
  texts ??= items.map((item) => item.textContent.toLowerCase());
}

// A choice of the values of `data-NAME`, if there are several.
function choice(name, label) {
  const values = [...new Set(items.map((item) => item.dataset[name] || ""))].sort();
  const select = document.createElement("select");
  select.name = name;
  select.add(new Option("all", "\u0000"));
  for (const value of values) select.add(new Option(value || "(none)", value));
  if (values.length > 1) {
    const box = document.createElement("label");
    box.append(label + " ", select);
    sort.parentElement.before(box);
  }
  return select;
}

function fits(item, number, words) {
  if (kind === "flipped" || kind === "differs" ? !item.hasAttribute(`data-${kind}`) : kind !== "all" && item.dataset.kind !== kind) return false;
  if (selects.some((one) => one.value !== "\u0000" && (item.dataset[one.name] || "") !== one.value)) return false;
  return words.every((word) => texts[number].includes(word));
}

function update() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) read();
  let found = 0;
  for (const item of list.children) {
    const fit = fits(item, numbers.get(item), words) && found++ < most;
    if (item.hidden === fit) item.hidden = !fit;
  }
  const all = items.length.toLocaleString("en");
  shown.textContent = found === items.length ? about : `${found.toLocaleString("en")} of ${all} fit.`;
  more.hidden = found <= most;
  more.textContent = `Show all ${found.toLocaleString("en")}`;
}

function again() {
  most = AT_ONCE;
  update();
}

function order() {
  const by = { "": () => 0, id: (a, b) => a.dataset.id.localeCompare(b.dataset.id, "en", { numeric: true }), score: (a, b) => (a.dataset.score || 2) - (b.dataset.score || 2) }[sort.value];
  list.append(...[...items].sort(by));
  again();
}

// The words of two texts that the other does not have in the same order: longest common subsequence.
function differing(a, b) {
  const width = b.length + 1;
  if (a.length * b.length > 6e6) return null;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const own = [new Set(a.keys()), new Set(b.keys())];
  for (let i = 0, j = 0; i < a.length && j < b.length; )
    if (a[i] === b[j]) { own[0].delete(i++); own[1].delete(j++); }
    else if (common[(i + 1) * width + j] >= common[i * width + j + 1]) i++;
    else j++;
  return own;
}

function mark(item) {
  const both = [...item.querySelectorAll(".output")];
  if (both.length !== 2 || item.dataset.marked) return;
  item.dataset.marked = "1";
  const parts = both.map((one) => one.textContent.split(/(\s+)/));
  const words = parts.map((part) => part.filter((_, at) => at % 2 === 0));
  const own = differing(...words);
  if (own === null) return;
  const all = words[0].length + words[1].length;
  if (own[0].size + own[1].size > MOST_MARKED * all) {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = "The two texts differ throughout, so that no words are marked.";
    both[0].closest(".two").after(note);
    return;
  }
  both.forEach((one, side) => {
    one.replaceChildren();
    for (let at = 0; at < parts[side].length; at++) {
      let end = at; // words that differ stand in one mark with the spaces between them
      while (end < parts[side].length && end % 2 === 0 && own[side].has(end / 2)) end += 2;
      if (end === at) { one.append(parts[side][at]); continue; }
      const marked = document.createElement("mark");
      marked.textContent = parts[side].slice(at, end - 1).join("");
      one.append(marked);
      at = end - 2;
    }
  });
}

tools.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  kind = button.value;
  for (const one of tools.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one === button));
  again();
});
let waiting;
search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(again, 60); });
sort.addEventListener("change", order);
for (const one of selects) one.addEventListener("change", again);
list.addEventListener("toggle", (event) => { if (event.target.open) mark(event.target); }, true);
more.addEventListener("click", () => { most = Infinity; update(); });
addEventListener("beforeprint", () => { most = Infinity; update(); });
tools.hidden = items.length < 2;
(window.requestIdleCallback || setTimeout)(read);
