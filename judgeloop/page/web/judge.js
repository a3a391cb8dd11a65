// The page on which a person judges. Texts of strangers come as text and as a tree of allowed tags: both become DOM nodes, never markup.
"use strict";
const $ = (id) => document.getElementById(id);
const TAGS = new Set(["p", "ul", "ol", "li", "strong", "em", "s", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "code", "pre"]);
const IDLE_S = 60, AWAY_S = 300, BEAT_S = 30, SOONEST_MS = 400, SAVED_MS = 3000, AGAIN_S = 5, MOST_MARKED = 0.6, FEWEST_JUDGED = 10;
const NAMES = { a: "A is better", b: "B is better", t: "equally good", x: "both are bad", s: "skipped", 1: "1 of 5", 2: "2 of 5", 3: "3 of 5", 4: "4 of 5", 5: "5 of 5" };
const kept = (store) => ({ get(k) { try { return store().getItem(k); } catch { return null; } }, set(k, v) { try { store().setItem(k, v); } catch { /* storage is switched off */ } } });
const ofWindow = kept(() => sessionStorage), ofBrowser = kept(() => localStorage);
const touch = matchMedia("(pointer: coarse)"); // where words for keys help nobody
const now = { view: "", pair: null, name: "", start: null, said: null, draft: null, progress: {}, seconds: 0, quiet: 0, shownAt: 0, sending: false, polling: 0, formatted: true, marked: false, seen: [false, false], size: 1, lost: false };

// --- Nodes of texts

function el(tag, name, text) { const one = document.createElement(tag); if (name) one.className = name; if (text !== undefined) one.textContent = text; return one; }
function node(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  let [tag, ...inner] = tree, start;
  if (inner.length && typeof inner[0] === "object" && !Array.isArray(inner[0])) start = inner.shift().start;
  if (tag === "url") { const one = el("span", "url"); one.append(...inner); return one; }
  if (tag === "h4") tag = "h3"; // below the heading of its answer
  else if (!TAGS.has(tag)) tag = "p";
  const one = document.createElement(tag);
  if (start !== undefined) one.start = start;
  one.append(...inner.map(node));
  if (["p", "ul", "ol", "h3", "table", "blockquote"].includes(tag)) { one.dir = "auto"; for (const low of one.querySelectorAll("[dir=auto]")) low.removeAttribute("dir"); } // a list takes the direction of its words, which inner `dir` would hide
  if (tag === "pre") one.dir = "ltr";
  if (tag === "table") { const box = el("div", "scroll"); box.append(one); return box; }
  return one;
}
function fill(place, part, formatted, why = part.tree ? "" : "Shown as plain text, because formatting would hide a part of it.") {
  place.className = formatted ? "text" : "text plain";
  place.dir = "auto";
  place.replaceChildren();
  if (!part.text.trim()) { place.append(el("p", "none", "(This text is empty.)")); return; }
  if (formatted && !why) { place.append(...part.tree.map(node)); return; }
  place.className = "text plain";
  if (formatted) place.append(el("span", "none", `${why}\n\n`));
  place.append(part.text);
}

// Words that only one text has: longest common subsequence, marked in whatever is shown.
function words(place) {
  const found = [], walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) for (const m of walk.currentNode.data.matchAll(/\S+/g)) found.push({ node: walk.currentNode, from: m.index, to: m.index + m[0].length, word: m[0].replace(/^[*_`#|("'“]+|[*_`|)"'”.,;:!?]+$/g, "") || m[0] });
  return found;
}
function differing(a, b) {
  const w = b.length + 1;
  if (a.length * b.length > 6e6) return null;
  const common = new Uint16Array((a.length + 1) * w);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i * w + j] = a[i].word === b[j].word ? common[(i + 1) * w + j + 1] + 1 : Math.max(common[(i + 1) * w + j], common[i * w + j + 1]);
  const own = [[], []];
  let i = 0, j = 0;
  while (i < a.length || j < b.length)
    if (i < a.length && j < b.length && a[i].word === b[j].word) { i++; j++; }
    else if (j === b.length || (i < a.length && common[(i + 1) * w + j] >= common[i * w + j + 1])) own[0].push(a[i++]);
    else own[1].push(b[j++]);
  return own;
}
function mark() {
  const places = [$("texta"), $("textb")], all = places.map(words), own = differing(...all), note = $("diffnote");
  const share = own && (own[0].length + own[1].length) / Math.max(1, all[0].length + all[1].length);
  note.hidden = share !== null && share <= MOST_MARKED;
  note.textContent = own === null ? "The answers are too long to be compared word by word." : "The two answers differ throughout, so that no words are marked.";
  if (own === null || share > MOST_MARKED) return;
  own.forEach((side, at) => {
    const order = new Map(all[at].map((one, n) => [one, n])), runs = [];
    for (const one of side) { const last = runs.at(-1), n = order.get(one); if (last && last.node === one.node && last.n + 1 === n) { last.to = one.to; last.n++; } else runs.push({ ...one, n }); }
    for (const one of runs.reverse()) { const range = document.createRange(); range.setStart(one.node, one.from); range.setEnd(one.node, one.to); range.surroundContents(document.createElement("mark")); }
  });
}

// --- The server

class Gone extends Error { constructor(why) { super(why); this.why = why; } }
const wait = (seconds) => new Promise((done) => { setTimeout(done, 1000 * seconds); });

// Sends a request until there is an answer; throws `Gone` for one that says no.
async function call(path, body) {
  for (;;) {
    let reply = null;
    try {
      const headers = { "content-type": "application/json", authorization: `Bearer ${ofWindow.get("session") || ""}` };
      reply = await fetch(`/api/${path}`, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
    } catch { /* nobody answers */ }
    if (reply && reply.status < 500) {
      setLost(false);
      const said = await reply.json().catch(() => ({ error: "unreadable" }));
      if (reply.ok) return said;
      if (reply.status === 401 && said.error === "enter" && path !== "enter" && ofWindow.get("token")) { await enter(); continue; } // judgeloop was started again
      throw new Gone(reply.status === 403 || reply.status === 429 ? "link" : said.error);
    }
    setLost(true);
    await wait(AGAIN_S);
  }
}
async function enter() {
  const said = await call("enter", { token: ofWindow.get("token") || "" });
  ofWindow.set("session", said.session);
  ofWindow.set("start", JSON.stringify({ name: said.name, owner: said.owner, start: said.start }));
  Object.assign(now, { name: said.name, owner: said.owner, start: said.start, time: said.time, progress: said.progress });
}
function setLost(lost) {
  if (lost === now.lost) return;
  now.lost = lost;
  $("lost").hidden = !lost;
  $("lost").textContent = !lost ? "" : now.owner ? "No connection to judgeloop. Is it running, and is the tunnel up? This view goes on by itself." : "No connection. Leave this window open: it sends what you answered once judgeloop is back. If that takes long, tell whoever sent you the link.";
  saved(lost ? "not" : now.sending ? "busy" : "");
  if (!lost) say("Connected again.");
}
function refused(error) {
  if (!(error instanceof Gone)) throw error;
  if (error.why === "elsewhere") message("Two windows", "You are judging in another window", "This link was opened elsewhere. One person judges in one window, so that no answer is given twice.", [], ["Judge here instead", () => go(enter)]);
  else if (error.why === "taken") message("Started again", `This ${thing()} is no longer yours`, `judgeloop was started again, and meanwhile somebody else has this ${thing()}, or it is not needed any more. What you answered before counts.`, [], [`Next ${thing()}`, () => go()]);
  else if (error.why === "away") message("While you were away", `Someone else has this ${thing()} now`, `You were away for more than 2 minutes, and the ${thing()} was given to another person so that nobody had to wait. What you answered before counts.`, [], [`Next ${thing()}`, () => go()]);
  else message("Not your link?", "This link does not work", "It is mistyped, or belongs to a run that is over. Ask whoever sent it for a new one.");
}
// Does `first`, then shows what is to be judged next.
async function go(first) {
  const mine = ++now.polling;
  try {
    if (first) await first();
    if (ofWindow.get("pending")) await sent(JSON.parse(ofWindow.get("pending"))).catch((error) => { if (!(error instanceof Gone) || error.why === "elsewhere") throw error; }); // of before the page was loaded anew
    for (let path = "next?soon"; ; path = "next") {
      const said = await call(path);
      if (mine !== now.polling) return; // another one goes on
      now.progress = said.progress;
      if (said.over) { over(said.over); return; }
      if (said.pair) { show(said.pair); return; }
      waits(said);
    }
  } catch (error) { refused(error); }
}

async function sent(body) { // an answer, kept in the window until the server has it
  ofWindow.set("pending", JSON.stringify(body));
  try {
    const said = await call("answer", body);
    ofWindow.set("pending", "");
    return said;
  } catch (error) { if (error.why !== "elsewhere") ofWindow.set("pending", ""); throw error; }
}

// --- Views

function view(name) {
  now.view = name;
  for (const one of ["start", "judge", "owner", "message"]) $(one).hidden = one !== name;
  $("top").hidden = name === "start" || name === "owner";
  for (const id of ["pause", "help"]) $(id).hidden = name !== "judge";
}
function say(text) { $("live").textContent = ""; setTimeout(() => { $("live").textContent = text; }, 30); }
function saved(kind) {
  $("saved").className = `saved ${kind}`; $("saved").hidden = false;
  $("saved").textContent = { "": "Saved", busy: "Saving", not: "Not connected" }[kind];
  clearTimeout(now.fades); // it is of the pair before
  if (!kind) now.fades = setTimeout(() => { $("saved").hidden = true; }, SAVED_MS);
}
function message(kind, head, text, facts = [], act = null, note = "") {
  $("mkind").textContent = kind; $("mkind").hidden = kind === head; $("mhead").textContent = head; $("mtext").textContent = text; $("mnote").textContent = note;
  $("mfacts").replaceChildren(...facts.flatMap(([name, value]) => [el("dt", "", name), el("dd", "", value)]));
  $("mgo").replaceChildren();
  if (act) { const [name, , key = "Enter"] = act, button = el("button", key === "Enter" ? "primary" : ""); button.type = "button"; button.id = key === "Enter" ? "mbutton" : "mundo"; button.append(`${name} `, el("kbd", "", key)); button.addEventListener("click", act[1]); $("mgo").append(button); }
  view("message"); $("live").textContent = ""; progress(); $("top").hidden = kind !== "Paused" && kind !== "A moment"; document.title = `${head} · judgeloop`;
  $("mhead").focus();
}
// While nothing is to be judged: what is waited for, and whether the last answer may be taken back.
function waits({ others, awaits, money, last: key, noted: withNote }) {
  const head = money ? `The next ${thing()} waits for money` : others ? `The others have the next ${thing()}s in hand` : awaits ? `What is left is for another person` : now.progress.mine || now.progress.skips ? "Nothing waits for you right now" : "Nothing is to be judged yet";
  const held = key ? `${sentence({ key, noted: withNote })} For a few seconds you can still take it back.` : "", does = key ? ["Undo", undo, "z"] : null;
  const text = `${held} ${money ? `The budget holds no more ${thing()}s than people have in hand: it comes as soon as one of these is answered.` : others || awaits ? `${others ? "" : `What is left are ${thing()}s that you answered or skipped: another person judges them. `}You may wait or close this window: more will probably come.` : "This page goes on by itself."}`;
  if (now.view !== "message" || $("mhead").textContent !== head || $("mtext").textContent !== text.trim()) message("A moment", head, text.trim(), [], does, "Everything is saved. The same link works again.");
}
const limitOf = ({ most, again }, things = "") => `${most}${things}${again ? ` (${again} of them second readings)` : ""}`;
const openOf = ({ needs }, more = "") => (typeof needs === "number" ? `most runs like this end there without a decision${needs ? ` (with ${needs}${more}, most would decide)` : ""}` : "");
const twice = (n, again) => (again ? (again < n ? `, ${again} of them twice: ${n} answers` : ", a second time") : now.start?.each > 1 ? `, each read by two of you: ${now.start.each * n} answers` : "");
const byOne = ({ skipped }) => (skipped ? `, ${skipped} skipped by one or both` : "");
const thing = () => (now.start?.rates ? "answer" : "pair");
const things = (n, more = "") => `${n}${more} ${thing()}${n === 1 ? "" : "s"}`;
// How many more the budget pays for, where these are fewer than decide; null where it pays for enough.
const paysFor = ({ affords, judged }) => (typeof affords !== "number" ? null : Math.max(0, affords - judged));
const did = () => [["judged by you", `${now.progress.mine ?? 0}`], ...(now.progress.skips ? [["skipped by you", `${now.progress.skips}`]] : [])];
const mine = () => [...did(), ["your time", minutesOf(now.progress.seconds ?? 0)], ["saved", "everything"]];
const about = (seconds) => { // no more exact than it is known, and as the terminal says it
  const minutes = seconds > 630 ? 5 * Math.round(seconds / 300) : Math.max(1, Math.round(seconds / 60)), hours = Math.floor(minutes / 60), rest = minutes % 60;
  return seconds < 45 ? "half a minute" : minutes === 1 ? "a minute" : [hours ? `${hours} h` : "", rest ? `${rest} min` : ""].filter(Boolean).join(" ");
};
const minutesOf = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);
const SEES = "Whoever runs this sees what came of it.";
function over(why) {
  if (why === "stopped") message("Stopped", "The run was stopped", "Your answers are saved. Nothing more is asked now.", mine(), null, "If the run goes on, the same link works again.");
  else if (why === "budget") message("Stopped", "The budget is used up", "Your answers are saved. Nothing more is asked now.", mine(), null, "If the run goes on, the same link works again.");
  else if (why === "skips") message("Stopped", "Too much was skipped", `Your answers are saved. More ${thing()}s were skipped than the run allows.`, mine(), null, "Whoever runs this is told, and may ask about them again: the same link works then.");
  else if (why === "open") message("Done", "Nothing more is asked now", "Your answers are saved. Whoever runs this may go on; the same link works then. Thank you.", mine(), null, SEES);
  else if (why === "left") message("Done", "Nothing more is asked now", "All that counts for the result is judged, and your answers are saved. Some was to be read a second time: if the run goes on for that, the same link works again. Thank you.", mine(), null, SEES);
  else if (why === "failed") message("Thank you", "Nothing more is asked of you now", "Some of what you were shown has a known answer, and you gave another one more than once. Whoever runs this has been told, and can say more. Your answers are saved, and stay.", mine());
  else message("Done", "That was all. Close the page.", "Nobody has to judge anything further. Thank you.", mine(), null, SEES);
}
function pause() {
  if (now.view !== "judge") return;
  const mine = ++now.polling;
  call("pause", {}).then(() => hears(mine)).catch((error) => { if (mine === now.polling) refused(error); });
  message("Paused", "Paused", `Everything is saved, and the clock stands still. The ${thing()} on your screen is kept for you${now.start?.people > 1 ? " for 2 minutes; after that someone else may get it" : ""}.`, did(), ["Go on", () => go()], "You may close the page. The same link goes on where you left.");
}

async function hears(mine) { // while somebody pauses, that the run is over
  for (;;) {
    const said = await call(`watch/${now.pair.id}`);
    if (mine !== now.polling || said.gone) return;
    if (said.over) { now.progress = said.progress; over(said.over); return; }
  }
}

function start() {
  const { usual, most, again, judged, mine, needs } = now.progress, pays = paysFor(now.progress), left = Math.max(1, now.progress.left ?? 1), { people, paid, rubric, checks, rates } = now.start, together = people > 1 ? ", by all of you together" : "";
  $("hello").textContent = `${now.name ? `Hello ${now.name}. ` : ""}${rates ? "How good is this answer?" : "Which answer is better?"}`;
  const { each_s: each, usual_s: all } = now.time ?? {}, fixed = usual && usual[0] >= most, known = usual && usual[1] < most && judged <= usual[1], pace = each ? `about ${each < 150 ? `${Math.round(each)} s` : about(each)} each` : "", more = judged ? " more" : "", rest = judged ? left : most, only = Boolean(judged) && again >= rest, limit = limitOf({ most: `${rest}${more}`, again }), open = pays !== null ? "" : openOf({ needs: needs && Math.max(0, needs - judged) }, more), time = all ? `, ${about(all)}` : "";
  $("ends").textContent = `${only ? "All else is judged. " : fixed ? "" : "The run ends as soon as it is clear. "}You can stop at any time and go on later with the same link.`;
  $("howlong").textContent = only ? `${things(rest, " more")}, which ${rest === 1 ? "was" : "were"} judged before${together}` : pays !== null ? `${pays ? `About ${things(pays, more)}, as` : "As"} far as the budget goes${together}` : known ? judged && people > 1 ? `Usually about ${things(usual[1])} in all${together}` : `Usually about ${things(usual[1] - judged, more)}${twice(usual[1] - judged)}${time}${together}` : most ? `${fixed ? "" : "At most "}${things(again < rest ? rest - again : rest, more)}${twice(rest, again)}${open || fixed ? time : ""}${together}` : "Until it is clear";
  const said = [...(known ? [judged ? `${judged} ${judged === 1 ? "is" : "are"} ${people > 1 || mine ? "judged" : "known"}` : pays !== null ? `a decision usually takes ${usual[1]}` : `at least ${usual[0]}`, `at most ${limit}`] : []), ...(pace ? [pace] : [])].join(", ");
  $("howmany").textContent = [said, open].map((one) => one.replace(/^./, (first) => first.toUpperCase()).replace(/.$/, "$&.")).join(" ").trim();
  $("startrubric").textContent = rubric || (rates ? "How well the answer serves whoever asked." : "Better is the one that you would rather send to whoever asked.");
  $("keeps").textContent = `Your answers, your notes, how long each ${thing()} was on the screen, and whether you saw the end of each text${now.name ? `, under the name ${now.name}` : ""}. Whoever runs this sees them.${paid ? ` Your time is paid while you are there, at most 5 minutes for each ${thing()}.` : ""}${checks ? ` A few ${thing()}s are checks: what is right of them is known, so that it is seen whether the task is understood.` : ""}`;
  $("notyou").textContent = now.name ? `You are not ${now.name}? Ask for a link of your own.` : "";
  document.body.classList.toggle("rates", rates);
  view("start");
  document.title = "Begin · judgeloop";
}

function show(pair) {
  const rates = pair.kind === "rating", again = pair.id === now.pair?.id; // after a pause
  Object.assign(now, { pair, seconds: again ? now.seconds : 0, quiet: 0, shownAt: performance.now(), marked: false, sending: false, seen: again ? now.seen : [false, rates] });
  view("judge");
  fill($("task"), pair.prompt, now.formatted);
  unfold(true);
  $("reference").hidden = !pair.reference;
  if (pair.reference) fill($("reftext"), pair.reference, now.formatted);
  $("two").classList.toggle("one", rates);
  for (const id of ["artb", "pairkeys", "bad", "diff", "wide"]) $(id).hidden = rates;
  $("ratekeys").hidden = !rates;
  document.body.classList.toggle("rates", rates);
  $("enda").textContent = rates ? "End of the answer" : "End of answer A";
  $("heada").lastChild.data = rates ? " Answer" : " Answer A"; $("heada").firstChild.hidden = rates;
  $("rubric").textContent = now.start.rubric; $("rubricbox").hidden = !now.start.rubric;
  document.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
  answers();
  $("before").hidden = !(pair.said || pair.skipped);
  $("beforesaid").textContent = pair.said ? `You said: ${NAMES[pair.said]}. Answer again, or keep it.` : "You skipped this before.";
  $("keepanswer").hidden = !pair.said;
  document.body.classList.remove("moved"); // the pointer is still where the button before was
  for (const button of document.querySelectorAll("[data-key]")) button.setAttribute("aria-pressed", String(button.dataset.key === pair.said));
  if (pair.last) now.said = { unseen: now.said?.unseen, key: pair.last, noted: pair.noted };
  last(Boolean(pair.last));
  const draft = JSON.parse(ofWindow.get("draft") || "null");
  $("note").value = pair.note || (draft?.of === textOf(pair) ? draft.note : "");
  noted();
  openNote(Boolean(pair.said && pair.note), false);
  $("itemtitle").textContent = `${rates ? "Answer" : "Pair"} ${pair.number}`;
  scrollTo(0, 0);
  $("itemtitle").focus({ preventScroll: true });
  progress();
  look();
  watch(pair);
}
// The last answer, below the texts of the next one, where it can be taken back until it counts.
function last(open) {
  $("last").hidden = !now.said || Boolean(now.pair.said);
  if (now.said) $("lastsaid").textContent = sentence(now.said);
  $("undo").hidden = !open;
}
const sentence = ({ key, noted, unseen }) => `${key === "s" ? `You skipped the last ${thing()}.` : `Last ${thing()}, you said: ${NAMES[key]}.`}${noted ? " Note kept." : ""}${unseen ? ` You had not seen the end of ${unseen}.` : ""}`;
const unseen = (key) => (key === "s" ? "" : now.pair.kind === "rating" ? (now.seen[0] ? "" : "the answer") : ["A", "B"].filter((_, at) => !now.seen[at]).join(" and "));
const textOf = (pair) => pair.outputs.map((one) => one.text).join("\n").slice(0, 5000);
function noted() { $("notelabel").textContent = $("note").value.trim() ? "Note kept" : "Note"; }
// Hears it if the run ends, or the pair goes to somebody else, while it is on the screen.
async function watch(pair) {
  try {
    while (now.pair === pair && now.view === "judge" && !now.sending) {
      const said = await call(`watch/${pair.id}`);
      if (now.pair !== pair || now.view !== "judge" || now.sending) return;
      if (said.over) { now.progress = said.progress; over(said.over); return; }
      if (said.gone) throw new Gone(said.gone);
      if (!said.last && pair.last) { pair.last = null; last(false); } // it counts by now
    }
  } catch (error) { if (now.pair === pair && now.view === "judge" && !now.sending) refused(error); }
}
function answers() {
  const { outputs } = now.pair, cut = outputs[1] && outputs.some((one) => one.tree === null) ? "Both answers are shown as plain text, because formatting would hide a part of one." : undefined;
  outputs.forEach((one, at) => fill($(["texta", "textb"][at]), one, now.formatted, cut));
  $("format").setAttribute("aria-pressed", String(now.formatted));
  $("diff").setAttribute("aria-pressed", String(now.marked));
  $("diffnote").hidden = true;
  if (now.marked && outputs[1]) mark();
  for (const one of document.querySelectorAll("#two .scroll")) if (one.scrollWidth > one.clientWidth) { one.tabIndex = 0; one.role = "group"; one.ariaLabel = `Table in answer ${one.closest("#arta") ? "A" : "B"}`; }
}
function progress() {
  const { judged = 0, mine = 0, skips, most, again = 0, more, near, usual, minutes } = now.progress, pays = paysFor({ ...now.progress, judged }), left = Math.max(now.view === "judge" ? 1 : 0, now.progress.left ?? 0), together = now.start?.people > 1;
  const limit = `at most ${limitOf(now.progress)}`;
  const live = near !== undefined && judged >= FEWEST_JUDGED; // of one person alone; several would learn from it who leads
  $("count").textContent = `${together ? `You judged ${mine}` : `${mine} judged${judged > mine ? `, ${judged - mine} known` : ""}`}${skips ? `, ${skips} skipped` : ""}${now.start?.each > 1 ? `; ${judged} judged by two${byOne(now.progress)}` : together ? `, all of you ${judged}` : ""}`;
  $("helpmore").hidden = !live;
  $("helpskip").hidden = !most;
  $("helpskip").textContent = `${together ? `A ${thing()} that all skip` : "A skip"} uses up one of the ${most - again}.`;
  const many = Math.min(left, fives(more?.[1], Math.ceil));
  if (pays !== null && !(live && more && more[1] <= pays)) $("forecast").replaceChildren(`· ${pays ? `about ${pays} more, as far as the budget goes` : "until the budget is used up"}`);
  else if (live && more) $("forecast").replaceChildren(`· about ${fives(more[0], Math.floor)} to ${many} more`, el("span", "if", many < left ? " until a decision, if it goes on like this" : " until a decision or the limit"), ...(many < left ? [el("span", "if most", `; at most ${left} more`)] : []));
  else if (live) $("forecast").replaceChildren(left ? `· ${near ? "a decision may be near, " : ""}at most ${left} more` : "");
  else if (usual && judged <= usual[1] && usual[1] < most) $("forecast").replaceChildren(`· usually ${usual[1]} in all`, el("span", "if", `${again ? "" : " until a decision"}, ${limit}`));
  else $("forecast").replaceChildren(...(most ? [`· ${usual && judged > usual[1] ? "more than usual, " : ""}${limit}`] : []));
  now.minutes = live && (pays === null || more?.[1] <= pays) ? minutes?.map((one) => Math.max(1, Math.round(one))) : undefined;
  clock();
  if (now.view === "judge") document.title = `${mine} judged · judgeloop`;
}
const fives = (n, round) => (n > 10 ? 5 * round(n / 5) : n); // no more exact than it is known
function clock() {
  const s = Math.floor(now.seconds), late = now.quiet >= IDLE_S;
  const shown = now.view === "judge" ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} on this ${thing()}${late ? " (stands still)" : ""}` : "";
  const [few, many] = now.minutes || [];
  $("left").textContent = [shown, many ? `about ${few < many ? `${few} to ${many}` : many} min to go in all` : ""].filter(Boolean).join(" · ");
}

// --- What whoever runs this sees: never who leads

async function watchPeople() {
  try {
    for (let path = "owner"; ; path = "owner?wait") {
      const said = await call(path);
      if (said.over) { message("Over", said.over === "stopped" ? "The run was stopped" : said.over === "budget" ? "The budget is used up" : "The run is over", `${counted(said.judged - said.read, "item")}${said.read ? ` and ${counted(said.read, "second reading")}` : ""} judged by ${counted(said.people.length, "person", "people")}${said.each > 1 ? `, each by two${byOne(said)}` : ""}. ${said.over === "stopped" ? "There is no result so far. What was judged is kept, and the same command goes on." : `judgeloop prints the result where it was started.${said.over === "left" ? " Some second readings are missing: the same command asks for them." : ""}`}`); return; }
      overview(said);
    }
  } catch (error) { refused(error); }
}
const linkCells = new Map(); // of people, so that a button keeps its focus and what it says
function linkCell(name) {
  if (linkCells.has(name)) return linkCells.get(name);
  const cell = el("td"), copy = owners("Copy link", () => copied(name, false, copy)), fresh = owners("New link", () => sure(fresh, "End the old link?", () => copied(name, true, fresh)));
  cell.append(copy, " ", fresh);
  linkCells.set(name, cell);
  return cell;
}
function owners(text, does) { const one = el("button", "small", text); one.type = "button"; one.addEventListener("click", () => { Promise.resolve(does()).catch(refused); }); return one; }
function sure(button, question, does) { // asks once more, for a few seconds
  if (button.dataset.before) { button.textContent = button.dataset.before; delete button.dataset.before; return does(); }
  button.dataset.before = button.textContent;
  button.textContent = question; say(question);
  setTimeout(() => { if (button.dataset.before) { button.textContent = button.dataset.before; delete button.dataset.before; } }, 5000);
  return null;
}
async function copied(name, anew, button) {
  const { token } = await call("owner/link", { name, new: anew });
  await given(name, token, button);
}
async function given(name, token, button) { // to the clipboard; where the browser has none, to be selected
  const link = `${location.origin}/#${token}`, before = button.dataset.text ||= button.textContent;
  const there = await navigator.clipboard?.writeText(link).then(() => true, () => false);
  $("ocopy").hidden = Boolean(there);
  $("ocopy").replaceChildren(...(there ? [] : [`The link of ${name}: `, el("code", "", link)]));
  say(there ? `The link of ${name} is copied.` : `The link of ${name} stands below the table.`);
  if (!there) return;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 3000);
}
async function addPerson() {
  const name = $("newname").value.trim();
  try {
    const { token } = await call("owner/person", { name });
    $("newname").value = "";
    await given(name, token, $("addperson"));
  } catch (error) {
    if (!(error instanceof Gone) || error.why === "link") throw error;
    $("ocopy").hidden = false; $("ocopy").textContent = `${name || "An empty name"}: ${error.why}.`; say(error.why);
  }
}
async function stop() { await call("owner/stop", {}); say("The run stops."); }
const counted = (n, one, more = `${one}s`) => `${n} ${n === 1 ? one : more}`;
const dollars = (usd) => `$${usd.toFixed(2)}`;
const STATES = { unopened: "has not begun", judging: "judges", waiting: "waits", paused: "pauses", failed: "is asked no more" };
const readingsOf = ({ for_another: another, for_same: same }) => [another && `${counted(another, "item waits", "items wait")} for a second person`, same && `${counted(same, "item waits", "items wait")} for the same person once more`].filter(Boolean).join(" and ");
function overview(said) {
  const paid = said.usd !== undefined, { people, usual } = said, readings = readingsOf(said), checked = people.some((one) => one.checks);
  $("ohead").textContent = `${said.judged} judged${said.each > 1 ? ` by two${byOne(said)}` : ""}`;
  $("olead").textContent = `${usual ? `Foreseen before the first answer: a decision takes at least ${usual[0]} in all, usually about ${usual[1]}, at most ${limitOf(said)}${said.judged > usual[1] ? "; this one takes more than usual" : ""}. ` : said.most ? `At most ${limitOf(said, " are judged")}${openOf(said) && `; ${openOf(said)}`}. ` : ""}Who leads is printed where judgeloop was started, once the run has ended: to know it would sway those who judge.`;
  $("ohand").textContent = said.in_hand ? counted(said.in_hand, "item") : "Nothing";
  $("ohandnote").textContent = readings && !said.in_hand ? `All else is judged: ${readings} for at most 10 minutes.` : paid ? `${said.in_hand ? `${dollars(said.aside)} is set aside: at` : "Nothing is set aside. At"} most 5 minutes are paid for each answer.` : "What is on people’s screens now.";
  $("otime").textContent = paid ? `${dollars(said.usd)}${said.budget === null ? "" : ` of ${dollars(said.budget)}`}` : minutesOf(said.seconds);
  $("otimenote").textContent = paid ? `${minutesOf(said.seconds)} while somebody was there.` : "While somebody was there.";
  const columns = ["name", "now", "judged", "skipped", "usual time", "time in all", ...(checked ? ["checks right"] : []), ...(paid ? ["cost"] : []), "link"];
  $("ocolumns").replaceChildren(...columns.map((name) => { const one = el("th", "", name); one.scope = "col"; return one; }));
  const focused = document.activeElement;
  $("orows").replaceChildren(...people.map((one) => {
    const row = el("tr"), head = el("th", "", one.name || "you");
    head.scope = "row";
    const cells = [one.state !== "away" ? STATES[one.state] : `away for ${minutesOf(one.away)}`, one.judged, one.skips, one.usual === null ? "–" : minutesOf(one.usual), minutesOf(one.seconds), ...(checked ? [one.checks ? `${one.checks.right} of ${one.checks.right + one.checks.tied + one.checks.wrong}` : "–"] : []), ...(paid ? [dollars(one.usd)] : [])];
    row.append(head, ...cells.map((text) => el("td", "", `${text}`)), linkCell(one.name));
    [...row.children].forEach((cell, at) => { cell.dataset.name = columns[at]; }); // a phone has no row of heads
    return row;
  }));
  if (focused !== document.activeElement) focused.focus(); // the rows were made anew around it
  $("stop").hidden = said.stops; if (!$("stop").textContent) $("stop").textContent = "Stop after what is in hand";
  $("ostop").textContent = said.stops ? "Nothing new is given to anybody. The run ends once what is in hand is answered." : "What was judged is kept, and the same command goes on.";
  const look = people.filter((one) => one.state === "failed").map((one) => `${one.name} preferred an answer to another question in ${one.checks.wrong} checks, and is asked no more. What ${one.name} answered before stays.`);
  look.push(...people.flatMap((one) => (one.unseen ? [`${one.name} answered ${one.unseen} of ${one.judged} before the end of each text had been on the screen.`] : [])));
  $("olook").replaceChildren(...look.map((text) => el("li", "", text)));
  $("olookcard").hidden = !look.length;
  if (now.view === "owner") return;
  view("owner");
  document.title = "People · judgeloop";
  $("ohead").focus();
}

// --- What a person does

async function answer(key) {
  const rates = now.pair?.kind === "rating";
  if (now.view !== "judge" || now.sending || performance.now() - now.shownAt < SOONEST_MS) return;
  if (/[1-5]/.test(key) !== rates && key !== "s") return;
  now.sending = true;
  if (key === "a") $("arta").classList.add("chosen");
  if (key === "b") $("artb").classList.add("chosen");
  document.querySelector(`[data-key="${key}"]`).setAttribute("aria-pressed", "true");
  saved("busy");
  const notSeen = unseen(key);
  try {
    const said = await sent({ id: now.pair.id, key, seconds: now.seconds, note: $("note").value, seen: now.seen.every(Boolean), plain: !now.formatted, marked: now.marked });
    now.progress = said.progress;
    saved("");
    now.said = { key, noted: Boolean($("note").value.trim()), unseen: notSeen };
    ofWindow.set("draft", "");
    if (said.over) { over(said.over); return; }
    await go();
    if (now.view === "judge") say(`You ${key === "s" ? "skipped it" : `said: ${NAMES[key]}`}. Saved.${now.said.noted ? " Note kept." : ""}${notSeen ? ` You had not seen the end of ${notSeen}.` : ""} ${$("itemtitle").textContent}.${now.pair.last ? ` ${touch.matches ? "Undo" : "z"} takes it back.` : ""}`);
  } catch (error) { refused(error); }
}
async function undo() {
  const waiting = now.view === "message" && Boolean($("mundo"));
  if (waiting) now.polling++;
  else if (now.view !== "judge" || now.sending) return;
  if (!waiting && !now.pair.last) { if (now.said && !now.pair.said) $("lastsaid").textContent = `${sentence(now.said)} It counts already.`; say("Nothing to take back."); return; }
  now.sending = true;
  try {
    const said = await call("undo", {});
    Object.assign(now, { progress: said.progress, said: null });
    show(said.pair);
    say(`Back at ${$("itemtitle").textContent}. You said: ${NAMES[said.pair.said]}.`);
  } catch (error) {
    now.sending = false;
    if (waiting && error instanceof Gone && error.why === "final") go();
    else if (error instanceof Gone && error.why === "final") { now.pair.last = null; last(false); undo(); } else refused(error);
  }
}
function openNote(open, focus = true) {
  const inside = $("notebox").contains(document.activeElement);
  $("notebox").hidden = !open; $("addnote").setAttribute("aria-expanded", String(open));
  if (open && focus) $("note").focus({ preventScroll: true });
  else if (inside) { $("addnote").focus({ preventScroll: true }); if ($("note").value.trim()) say("Note kept. It is sent with your answer."); }
}
function unfold(open) {
  $("fold").setAttribute("aria-expanded", String(open)); $("task").hidden = !open;
  $("peek").textContent = open ? "" : now.pair.prompt.text.slice(0, 200);
}
function format() {
  now.formatted = !now.formatted; ofBrowser.set("plain", now.formatted ? "" : "yes");
  fill($("task"), now.pair.prompt, now.formatted);
  if (now.pair.reference) fill($("reftext"), now.pair.reference, now.formatted);
  answers(); say(now.formatted ? "Formatted" : "Plain text");
}
function differences() { if (now.pair.kind === "rating") return; now.marked = !now.marked; answers(); say(now.marked ? "Differences marked" : "Differences not marked"); }
function wide() { const on = $("two").classList.toggle("below"); $("wide").setAttribute("aria-pressed", String(on)); say(on ? "One below the other" : "Side by side"); look(); }
function resize(by) { now.size = Math.min(1.8, Math.max(0.85, Math.round((now.size + by) * 100) / 100)); document.documentElement.style.setProperty("--size", now.size); ofBrowser.set("size", now.size); look(); }
function look() { // whether an answer goes on below, whether its end was seen, and which one a phone shows
  const bottom = $("verdict").getBoundingClientRect().top;
  const ends = [...document.querySelectorAll("article:not([hidden]) .text")].map((one) => one.getBoundingClientRect().bottom <= bottom + 4);
  const below = ["A", "B"].filter((_, at) => ends[at] === false);
  $("below").hidden = now.view !== "judge" || !below.length;
  $("below").className = ends.length > 1 ? below.join("").toLowerCase() : "";
  $("below").textContent = ends.length > 1 && below.length === 1 ? `${below[0]} goes on below ↓` : "Goes on below ↓";
  if (now.view === "judge") ends.forEach((end, at) => { now.seen[at] ||= end; });
  document.documentElement.style.setProperty("--head", `${$("top").offsetHeight}px`);
  const tops = ["taskhead", "heada", "headb"].map((id) => $(id).getBoundingClientRect().top);
  const atEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 4; // where the last may not reach the top
  const nowAt = tops.findLastIndex((top) => top < innerHeight / (atEnd ? 1 : 3));
  document.querySelectorAll(".jump a").forEach((one, i) => one.setAttribute("aria-current", String(i === nowAt)));
}
const helps = () => { $("helpbox").showModal(); $("closehelp").focus({ preventScroll: true }); $("helpbox").scrollTop = 0; };
function tokenIn({ hash }) { return document.getElementById(hash.slice(1)) ? "" : hash.slice(1); }
function begin() { ofWindow.set("begun", "yes"); go(); }

addEventListener("keydown", (event) => {
  now.quiet = 0;
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || $("helpbox").open) return;
  if (event.target.closest("textarea, input, select")) { if (event.key === "Escape") { event.preventDefault(); openNote(false); } return; }
  if (event.key === "Enter" && !event.target.closest("button, a, summary")) {
    const button = { start: $("begin"), message: $("mbutton"), judge: now.pair?.said ? $("keepanswer") : null }[now.view];
    if (button) { event.preventDefault(); button.click(); } return;
  }
  const key = event.key.toLowerCase(), pressed = now.view !== "message" || !$("letters").checked ? null : key === "z" ? $("mundo") : key === "p" && $("mkind").textContent === "Paused" ? $("mbutton") : null;
  if (pressed) { event.preventDefault(); pressed.click(); return; }
  if (now.view !== "judge" || !$("letters").checked) return;
  const does = { z: undo, n: () => openNote(true), c: () => unfold($("task").hidden), m: format, d: differences, w: wide, p: pause, "?": helps };
  if (Object.hasOwn(NAMES, key)) { event.preventDefault(); answer(key); }
  else if (Object.hasOwn(does, key)) { event.preventDefault(); does[key](); }
});
for (const button of document.querySelectorAll("[data-key]")) button.addEventListener("click", () => answer(button.dataset.key));
$("note").addEventListener("input", () => { noted(); ofWindow.set("draft", JSON.stringify({ of: textOf(now.pair), note: $("note").value })); });
const clicks = { begin, pause, help: helps, closehelp: () => $("helpbox").close(), fold: () => unfold($("task").hidden), format, diff: differences, wide, smaller: () => resize(-0.1), larger: () => resize(0.1), addnote: () => openNote($("notebox").hidden), closenote: () => openNote(false), undo, keepanswer: () => answer(now.pair.said) };
const asks = { addperson: addPerson, stop: () => sure($("stop"), "Really stop?", stop) };
for (const [id, does] of Object.entries(asks)) $(id).addEventListener("click", () => { Promise.resolve(does()).catch(refused); });
for (const [id, does] of Object.entries(clicks)) $(id).addEventListener("click", does);
addEventListener("click", (event) => { const button = event.target.closest?.("button"); if (event.detail && button && button === document.activeElement && now.view === "judge" && !$("helpbox").open) button.blur(); }); // so that Space scrolls after a click
addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && (event.movementX || event.movementY)) document.body.classList.add("moved"); }, { passive: true });
for (const kind of ["pointermove", "scroll"]) addEventListener(kind, () => { now.quiet = 0; look(); }, { passive: true });
addEventListener("resize", look);
addEventListener("hashchange", () => { if (tokenIn(location)) location.reload(); }); // another link, pasted into this window
$("letters").checked = ofBrowser.get("letters") !== "off";
$("letters").addEventListener("change", () => ofBrowser.set("letters", $("letters").checked ? "" : "off"));
setInterval(() => {
  if (now.view !== "judge" || now.sending) return;
  now.quiet++;
  if (!document.hidden && now.quiet <= IDLE_S) { now.seconds++; if (now.seconds % BEAT_S === 0 && !now.lost) call("beat", {}).catch(refused); }
  else if (now.quiet === AWAY_S) pause();
  clock();
}, 1000);

// --- The beginning

now.formatted = !ofBrowser.get("plain");
resize(Number(ofBrowser.get("size") || 1) - 1);
const token = tokenIn(location);
if (token) { // not in the address bar, and in no history
  if (token !== ofWindow.get("token")) { for (const one of ["begun", "session", "pending"]) ofWindow.set(one, ""); }
  ofWindow.set("token", token);
  history.replaceState(null, "", location.pathname);
}
const before = JSON.parse(ofWindow.get("start") || "null");
if (ofWindow.get("session") && before && (before.owner || ofWindow.get("begun"))) { Object.assign(now, before); if (now.owner) watchPeople(); else go(); }
else enter().then(() => (now.owner ? watchPeople() : ofWindow.get("begun") ? go() : start()), refused);
