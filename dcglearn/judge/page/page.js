const $ = (id) => document.getElementById(id);
const KEYS = {
  f: "left", ArrowLeft: "left", j: "right", ArrowRight: "right", g: "both good", b: "both bad",
  s: "skip", u: "undo", n: "note", "?": "help",
};
const HELD = 4;        // pairs that this page holds at most
const SPARE = 20;      // pairs for the time without a server
const UNDONE = 50;     // verdicts that can be taken back
const file = globalThis.exported;  // the pairs of a page without a server: exported.js

let session, rater = "", shownAt = 0, sending = false, retry = 0, choosing = null;
let queue = [];        // pairs: the one shown, then those fetched ahead
let spare = [];
const judged = new Set();  // pairs judged on this page
let last = null;       // the last word of the server on progress
let trouble = "";

// A duplicated tab copies sessionStorage while the first is open, and is another tab; a reload is the same one.
const perTab = opened("sessionStorage") || {};
const tab = perTab.open || !perTab.tab ? newId() : perTab.tab;
markTab("tab", tab);
markTab("open", "yes");
window.addEventListener("pagehide", () => delete perTab.open);
window.addEventListener("pageshow", () => markTab("open", "yes"));

function markTab(name, value) {
  try { perTab[name] = value; } catch { /* full: a reload is taken for another tab */ }
}

// The browser's store: one entry a verdict, so that two pages do not overwrite each other's. Where the browser
// blocks it, or it is full, entries are in the page's memory until there is room.

const local = opened("localStorage"), memory = new Map();

function opened(name) {
  try { return window[name].length >= 0 ? window[name] : null; } catch { return null; }
}
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function stored(kind) {
  const prefix = `dcglearn.${session.study}.${kind}.`, keys = [...Object.keys(local || {}), ...memory.keys()];
  return [...new Set(keys)].filter((key) => key.startsWith(prefix)).sort();
}
function read(key, otherwise) {
  try { return JSON.parse(memory.get(key) ?? local.getItem(key)) ?? otherwise; } catch { return otherwise; }
}
function put(key, value) {
  memory.set(key, JSON.stringify(value));
  for (const [name, text] of memory) {
    try { local.setItem(name, text); memory.delete(name); } catch { /* it stays in memory */ }
  }
}
function store(key, value) { put(`dcglearn.${session.study}.${key}`, value); }
function remove(key) {
  memory.delete(key);
  if (local) local.removeItem(key);
}
let counter = 0;
function inOrder() {
  return `${String(Date.now()).padStart(15, "0")}.${String(counter++).padStart(6, "0")}`;
}
function keep(answer) {
  if (file) return file.keep(rater, answer);
  return store(`outbox.${inOrder()}.${answer.id}`, { rater, answer });
}
const past = file ? file.past : {
  get key() { return `history.${rater}`; },
  all() { return read(`dcglearn.${session.study}.${this.key}`, []); },
  push(entry) { store(this.key, [...this.all(), entry].slice(-UNDONE)); },
  pop() { const all = this.all(), entry = all.pop(); store(this.key, all); return entry; },
};

// The server.

async function ask(path, body) {
  const options = { headers: {}, signal: AbortSignal.timeout(15000) };
  if (body) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  if (response.status === 403) throw new Error("This page is from an earlier start of the server. Open the address "
    + "that it printed last: what is kept here will then be saved.");
  const value = await response.json();
  if (!response.ok) throw new Error(value.error);
  return value;
}

async function send() {
  if (file) { take(file.next(rater, queue.map((pair) => pair.pair))); return status(); }
  if (sending) return;
  sending = true;
  clearTimeout(retry);
  try {
    do {
      const waiting = stored("outbox").slice(0, 100).map((key) => ({ key, ...read(key, {}) }));
      const first = waiting.length ? waiting[0].rater : rater;
      const batch = waiting.filter((entry) => entry.rater === first);
      const holding = first === rater ? queue.map((pair) => pair.pair) : [];
      const body = { rater: first, tab, holding, spare: first === rater ? SPARE - spare.length : 0 };
      const answer = batch.length
        ? await ask("/api/verdicts", { ...body, verdicts: batch.map((entry) => entry.answer) })
        : await ask("/api/next", body);
      const refused = new Map((answer.refused || []).map((item) => [item.id, item.reason]));
      for (const { key, answer: verdict } of batch) {
        if (refused.has(verdict.id)) store(`refused.${verdict.id}`, { verdict, reason: refused.get(verdict.id) });
        remove(key);
      }
      trouble = refused.size ? `Refused by the server, kept in this browser: ${[...refused.values()][0]}` : "";
      if (first === rater) take(answer);
    } while (stored("outbox").length);
  } catch (error) {
    trouble = error.name === "TypeError" || error.name === "TimeoutError" ? "The server does not answer." : error.message;
    retry = setTimeout(send, 1000);
  } finally {
    sending = false;
    status();
  }
  if (!queue.length && !trouble) retry = setTimeout(send, 2000);  // other raters may give pairs back
}

function take(answer) {
  last = answer;
  const first = queue[0];
  queue = queue.filter((pair, i) => (!i && !file) || !answer.dropped.includes(pair.pair));
  const held = new Set(queue.map((pair) => pair.pair));
  const unsent = new Set(stored("outbox").map((key) => read(key, {}).answer).filter((a) => a && a.choice !== "undo")
    .map((a) => a.pair));
  queue.push(...answer.pairs.filter((pair) => !held.has(pair.pair) && !unsent.has(pair.pair)));
  const there = new Set([...judged, ...unsent, ...queue.map((pair) => pair.pair)]);
  spare = answer.done ? [] : [...spare, ...answer.spare].filter((pair) => !there.has(pair.pair));
  if (!first || queue[0] !== first) show();
}

// What is shown.

function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function offerVerdicts() {
  choosing = null;
  $("strengths").hidden = true;
  $("verdicts").hidden = false;
}

function show() {
  if (!queue.length && spare.length) queue.push(spare.shift());
  const pair = queue[0], done = last && last.done;
  offerVerdicts();
  $("note-text").value = "";
  $("lists").hidden = !pair;
  $("empty").hidden = Boolean(pair);
  for (const button of document.querySelectorAll("#bar button[data-choice]")) {
    button.disabled = !pair && ![ "undo", "help" ].includes(button.dataset.choice);
  }
  $("kind").hidden = !(pair && pair.practice);
  $("query").textContent = pair ? pair.query || "Which list is better?" : done ? "Thank you" : "One moment";
  $("intent").textContent = pair ? pair.intent : "";
  if (!pair) {
    $("empty").textContent = done || "The next pair is on its way.";
  } else {
    fill($("left"), pair.left);
    fill($("right"), pair.right);
    scrollTo(0, 0);
    if ($("motion").checked && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      $("lists").animate([{ opacity: 0.4 }, { opacity: 1 }], { duration: 140, easing: "ease-out" });
    }
  }
  if (!document.querySelector("dialog[open]")) $("query").focus({ preventScroll: true });
  shownAt = performance.now();
  status();
}

function fill(list, side) {
  list.replaceChildren(...(side.items ? side.items.map(item) : side.grades.map(graded)));
}

function item(content) {
  const node = element("li");
  const safe = /^https?:\/\//i.test(content.url || "");
  if (content.image) {
    const image = element("img");
    image.alt = "";
    image.referrerPolicy = "no-referrer";
    image.src = content.image;
    node.append(image);
  }
  const title = element(safe ? "a" : "div", "title");
  title.append(element("span", "name", content.title || content.url || "(no title)"));
  if (content.url) title.append(element("span", "address", content.url.replace(/^https?:\/\//i, "")));
  if (safe) {
    title.href = content.url;
    title.target = "_blank";
    title.rel = "noopener noreferrer";
  }
  node.append(title);
  if (content.snippet) node.append(element("p", "", content.snippet));
  return node;
}

function graded(grade, position) {
  const node = element("li", "graded"), track = element("span", "track"), bar = element("span", "fill");
  bar.style.width = `${100 * Math.max(grade, 0) / (session.n_grades - 1)}%`;
  track.append(bar);
  const words = element("span", "grade", grade < 0 ? "no grade" : String(grade));
  if (grade >= 0) words.append(element("span", "of", ` of ${session.n_grades - 1}`));
  node.append(element("span", "position", position + 1), track, words);
  return node;
}

function status() {
  const waiting = file ? file.atRisk() : stored("outbox").length, progress = last && last.progress;
  let kept = trouble ? "" : "All verdicts saved";
  if (waiting) kept = `${waiting} not saved yet`;
  if (file) kept = file.kept(rater);
  $("saved").textContent = [kept, trouble].filter(Boolean).join(". ");
  $("saved").className = waiting || trouble ? "waiting" : "";
  if (!progress) return;
  const { judged: own, all, goal, enough, changes } = progress;
  const about = file ? "" : "about ";
  const wanted = goal ? ` of ${about}${goal[0] === goal[1] ? goal[0] : `${goal[0]} to ${goal[1]}`}` : "";
  const parts = all === own ? [`${own}${wanted} judged`] : [`${own} judged by you`, `${all}${wanted} by all`];
  if (enough) parts.push("the goal is reached; more still helps");
  if (changes) parts.push("the log was changed by another program and read again");
  $("count").textContent = [rater, ...parts].join(" · ");
  $("meter").hidden = !goal;
  if (!goal) return;
  $("meter").max = Math.max(goal[1], 1);
  $("meter").value = Math.min(all, goal[1]);
}

function say(words) { $("live").textContent = words; }

// Confirm what was done by a word that everybody sees, for a second or as long as it takes to read.
let saidUntil;
function confirm(words, more = "", seconds = 1.2) {
  $("said").replaceChildren(element("span", "", words), element("span", "key", more));
  $("said").className = "shown";
  clearTimeout(saidUntil);
  saidUntil = setTimeout(() => { $("said").className = ""; }, 1000 * seconds);
}

const STRENGTHS = ["slightly", "clearly", "much", "very much", "beyond compare"];
const SAID = { "both good": "Both are good", "both bad": "Both are bad", skip: "Skipped" };
function inWords(choice, strength) {
  if (SAID[choice]) return SAID[choice];
  const side = choice === "left" ? "Left" : "Right";
  return `${side} is ${strength ? `${STRENGTHS[strength - 1]} ` : ""}better`;
}

// What the rater does.

function act(choice) {
  if (choice === "help") return $("help").showModal();
  if (choice === "undo") return undo();
  const pair = queue[0];
  if (!pair) return undefined;
  if (choice === "note") return $("note").showModal();
  if (session.strengths > 1 && (choice === "left" || choice === "right")) return offerStrengths(choice);
  return judge(choice, null);
}

function offerStrengths(choice) {
  choosing = choice;
  $("strengths").replaceChildren(...Array.from({ length: session.strengths }, (_, i) => {
    const button = element("button", "", `${choice}: ${STRENGTHS[i]} better `);
    button.type = "button";
    button.append(element("kbd", "", i + 1));
    button.addEventListener("click", (event) => event.detail < 2 && judge(choice, i + 1));
    return button;
  }));
  $("strengths").hidden = false;
  $("verdicts").hidden = true;
  $("strengths").firstChild.focus();
  say(`How much better is the ${choice} list? 1 to ${session.strengths}, Escape to go back`);
}

function judge(choice, strength) {
  const pair = queue.shift(), seconds = Math.round((performance.now() - shownAt) / 10) / 100;
  // Read here, since a dialog's close event can come after the next key.
  const note = $("note-text").value.trim();
  const answer = { id: newId(), pair: pair.pair, choice, strength, shown_left: pair.shown_left, seconds, note };
  const refused = keep(answer), words = refused || inWords(choice, strength);
  if (!refused) past.push({ id: answer.id, pair });
  judged.add(pair.pair);
  if (refused) {
    confirm(words, "", 3);
  } else if (pair.practice) {
    const fits = choice === pair.practice ? "That fits" : `The ${pair.practice} list is better`;
    confirm(`${fits}: it has the same results, with the best first.`, "", 3);
  } else {
    confirm(words, " · undo with U");
  }
  show();
  say(`${words}. ${queue.length ? "Next pair." : ""}`);
  send();
}

function undo() {
  const entry = past.pop();
  if (!entry) {
    confirm("There is no verdict to undo");
    return say("There is no verdict to undo");
  }
  judged.delete(entry.pair.pair);
  keep({ id: newId(), pair: entry.pair.pair, choice: "undo", supersedes: entry.id, shown_left: entry.pair.shown_left });
  queue = [entry.pair, ...queue.filter((pair) => pair.pair !== entry.pair.pair)].slice(0, HELD);
  say("Undone. Judge this pair again.");
  confirm("Undone: judge this pair again");
  show();
  return send();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !session || !rater) return;
  if (document.querySelector("dialog[open]") || /^(input|textarea|select)$/i.test(event.target.tagName)) return;
  if (event.key === "?") { event.preventDefault(); return act("help"); }
  if (!$("keys").checked) return;
  if (choosing) {
    if (event.key === "Escape") { offerVerdicts(); $("query").focus(); }
    const strength = Number(event.key);
    if (strength >= 1 && strength <= session.strengths) judge(choosing, strength);
    return;
  }
  const choice = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (choice) { event.preventDefault(); act(choice); }
}

// What is learned.

async function report() {
  try {
    draw(await ask("/api/progress"));
    $("saved").textContent = "";
  } catch (error) {
    $("saved").textContent = error.name === "TypeError" ? "The server does not answer." : error.message;
  }
  setTimeout(report, 1000);
}

let drawn = "";
function draw(found) {
  $("count").textContent = found.count;
  // The server escapes all names. What has not changed stays, with what is marked in it.
  if (found.html !== drawn) $("found").innerHTML = found.html;
  drawn = found.html;
}

// The beginning.

function begin(name) {
  [rater, queue, spare, last] = [name, [], [], null];
  store("rater", name);
  show();
  send();
}

function askName(anew = false) {
  const names = session.raters, listed = names.length > 0;
  if (names.length === 1) return begin(names[0]);
  const known = read(`dcglearn.${session.study}.rater`, perTab.begun || "");
  $("names").replaceChildren(...names.map((name) => element("option", "", name)));
  $("names").hidden = !listed;
  $("name").hidden = listed;
  $("name").required = !listed;
  if (names.includes(known)) $("names").value = known;
  $("name").value = known;
  if (!anew && known && perTab.begun === known && (!listed || names.includes(known))) return begin(known);
  if (file) file.begins();
  return $("start").showModal();
}

function onName() {
  const name = $(session.raters.length ? "names" : "name").value.replace(/\p{C}/gu, "").trim();
  if (!name) return $("start").showModal();
  markTab("begun", name);
  return begin(name);
}

async function main() {
  const progress = !file && location.pathname === "/progress";
  if (!file && location.search) window.history.replaceState(null, "", location.pathname);
  try {
    session = file ? file.session : await ask("/api/session");
  } catch (error) {
    $("count").textContent = error.name === "TypeError" ? "The server does not answer." : error.message;
    return setTimeout(main, 1000);
  }
  $(progress ? "learned" : "judging").hidden = false;
  if (progress) {
    document.title = "Progress of the study - dcglearn";
    return report();
  }
  $("start").addEventListener("cancel", (event) => event.preventDefault());
  $("start").addEventListener("close", onName);
  document.addEventListener("keydown", onKey);
  for (const button of document.querySelectorAll("#bar button[data-choice]")) {
    button.addEventListener("click", (event) => event.detail < 2 && act(button.dataset.choice));
  }
  for (const dialog of ["note", "help"]) $(dialog).addEventListener("close", () => choosing || $("query").focus());
  $("motion").checked = read("dcglearn.motion", true);
  $("motion").addEventListener("change", () => put("dcglearn.motion", $("motion").checked));
  window.addEventListener("online", () => rater && send());
  window.addEventListener("storage", () => (file && rater ? send() : status()));
  if (file) file.start();
  return askName();
}

main();
