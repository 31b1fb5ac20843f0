// The page of a rater: its pairs are in the file, and verdicts in the browser until they are handed over.

const $ = (id) => document.getElementById(id);
const KEYS = {
  f: "left", ArrowLeft: "left", j: "right", ArrowRight: "right", g: "both good", b: "both bad",
  s: "skip", u: "undo", n: "note", "?": "help",
};
const WINNERS = {
  left: (left) => left, right: (left) => (left === "a" ? "b" : "a"), "both good": () => "tie", "both bad": () => "tie",
  skip: () => "open", undo: () => "open",
};
const data = JSON.parse($("data").textContent);
const pairs = new Map(data.pairs.map((pair) => [pair.pair, pair]));

let rater = "", current = null, shownAt = 0;
let offered = false;   // whether the file was offered because the store is full

const counted = (n, things) => `${n.toLocaleString("en")} ${n === 1 ? things.slice(0, -1) : things}`;

// The browser's store. Where the browser blocks it, or it is full, entries are in the page's memory until there is
// room. A reload of a tab goes on under its rater's name.

const perTab = opened("sessionStorage") || {};
const local = opened("localStorage"), memory = new Map();

function opened(name) {
  try { return window[name].length >= 0 ? window[name] : null; } catch { return null; }
}
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function stored(kind) {
  const prefix = `dcglearn.${data.study}.${kind}.`, keys = [...Object.keys(local || {}), ...memory.keys()];
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
function store(key, value) { put(`dcglearn.${data.study}.${key}`, value); }
let counter = 0;
function inOrder() {
  return `${String(Date.now()).padStart(15, "0")}.${String(counter++).padStart(6, "0")}`;
}

// Verdicts, one entry each, under the rater's name: no tab and no rater overwrites another's. What another page
// clears is put back.

const answers = new Map();
const inKey = (name) => encodeURIComponent(name).replaceAll(".", "%2E");

function keysOf(name) {
  const there = new Set(stored("answer"));
  for (const key of there) if (!answers.has(key)) answers.set(key, read(key, null));
  for (const [key, answer] of answers) if (!there.has(key)) put(key, answer);
  const prefix = `dcglearn.${data.study}.answer.${inKey(name)}.`;
  return [...answers.keys()].filter((key) => key.startsWith(prefix)).sort();
}

const answersOf = (name) => keysOf(name).map((key) => answers.get(key)).filter(Boolean);
const handed = (name) => read(`dcglearn.${data.study}.handed.${inKey(name)}`, 0);
const open = (name) => answersOf(name).length - handed(name);

function raters() {
  return [...new Set([...stored("answer"), ...answers.keys()].map((key) => decodeURIComponent(key.split(".")[3])))];
}

// How many are in the page alone: neither in the browser's store nor handed over.
function atRisk() {
  if (!memory.size) return 0;
  return raters().reduce((n, name) => {
    const inMemory = keysOf(name).filter((key) => memory.has(key)).length;
    return n + Math.max(Math.min(inMemory, open(name)), 0);
  }, 0);
}

function standing(name) {
  const all = answersOf(name), undone = new Set(all.map((answer) => answer.supersedes));
  return all.filter((answer) => answer.choice !== "undo" && !undone.has(answer.id));
}

function keep(answer) {
  // read again, since another tab may have been quicker
  if (answer.choice !== "undo" && standing(rater).some((other) => other.pair === answer.pair)) {
    return "Judged in another tab already: that verdict stands";
  }
  const time = new Date().toISOString().replace(/\.\d+Z$/, "+00:00");
  store(`answer.${inKey(rater)}.${inOrder()}.${answer.id}`, { ...answer, time });
  if (local && memory.size && !offered) { offered = true; setTimeout(handOver); }
  return "";
}

// What is shown.

function element(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// The side of the better list of a pair for practice.
function better(pair) {
  return pair.left === "a" ? "left" : "right";
}

function nextPair() {
  const done = new Set(standing(rater).map((answer) => answer.pair));
  return data.pairs.find((pair) => !done.has(pair.pair)) ?? null;
}

function show() {
  current = nextPair();
  const pair = current;
  $("note-text").value = "";
  $("lists").hidden = !pair;
  $("empty").hidden = Boolean(pair);
  for (const button of document.querySelectorAll("#bar button[data-choice]")) {
    button.disabled = !pair && ![ "undo", "help" ].includes(button.dataset.choice);
  }
  $("kind").hidden = !(pair && pair.known === "practice");
  $("query").textContent = pair ? pair.text || pair.query || "Which list is better?" : "Thank you";
  $("intent").textContent = pair ? pair.intent : "";
  if (!pair) {
    $("empty").textContent = "Every pair of this page is judged. Please hand your verdicts over now, by the button above.";
  } else {
    fill($("left"), pair, pair.left);
    fill($("right"), pair, WINNERS.right(pair.left));
    scrollTo(0, 0);
    if ($("motion").checked && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      $("lists").animate([{ opacity: 0.4 }, { opacity: 1 }], { duration: 140, easing: "ease-out" });
    }
  }
  if (!document.querySelector("dialog[open]")) $("query").focus({ preventScroll: true });
  shownAt = performance.now();
  status();
}

// Follow what another tab has judged.
function refresh() {
  if (!rater) return;
  if (nextPair() !== current) show();
  else status();
}

function fill(list, pair, side) {
  const items = pair[`items_${side}`];
  list.replaceChildren(...(items ? items.map(item) : pair[side].map(graded)));
}

function item(content) {
  const node = element("li");
  const safe = /^https?:\/\//i.test(content.url || "");
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
  bar.style.width = `${100 * Math.max(grade, 0) / (data.n_grades - 1)}%`;
  track.append(bar);
  const words = element("span", "grade", grade < 0 ? "no grade" : String(grade));
  if (grade >= 0) words.append(element("span", "of", ` of ${data.n_grades - 1}`));
  node.append(element("span", "position", position + 1), track, words);
  return node;
}

function status() {
  const n = atRisk(), left = open(rater);
  $("saved").textContent = kept(n, left);
  $("saved").className = n ? "waiting" : "";
  $("hand").className = n || (!current && left > 0) ? "urgent" : "";

  // how far the rater is, without practice, checks and what was skipped
  const given = standing(rater).filter((answer) => pairs.has(answer.pair) && !pairs.get(answer.pair).known);
  const skipped = given.filter((answer) => answer.choice === "skip").length, own = given.length - skipped;
  const all = data.pairs.filter((pair) => !pair.known).length - skipped;
  $("count").textContent = `${rater} · ${own} of ${all} judged`;
  $("meter").hidden = false;
  $("meter").max = Math.max(all, 1);
  $("meter").value = own;
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

const SAID = {
  left: "Left is better", right: "Right is better", "both good": "Both are good", "both bad": "Both are bad",
  skip: "Skipped",
};

// What the rater does.

function act(choice) {
  if (choice === "help") return $("help").showModal();
  if (choice === "undo") return undo();
  if (!current) return undefined;
  if (choice === "note") return $("note").showModal();
  return judge(choice);
}

function judge(choice) {
  const pair = current, seconds = Math.round((performance.now() - shownAt) / 10) / 100;
  // Read here, since a dialog's close event can come after the next key.
  const note = $("note-text").value.trim();
  const refused = keep({ id: newId(), pair: pair.pair, choice, shown_left: pair.left, seconds, note });
  const words = refused || SAID[choice];
  if (refused) {
    confirm(words, "", 3);
  } else if (pair.known === "practice") {
    const fits = choice === better(pair) ? "That fits" : `The ${better(pair)} list is better`;
    confirm(`${fits}: it has the same results, with the best first.`, "", 3);
  } else {
    confirm(words, " · undo with U");
  }
  show();
  say(`${words}. ${current ? "Next pair." : ""}`);
}

function undo() {
  const last = standing(rater).filter(({ pair }) => pairs.has(pair)).at(-1);
  if (!last) {
    confirm("There is no verdict to undo");
    return say("There is no verdict to undo");
  }
  keep({ id: newId(), pair: last.pair, choice: "undo", supersedes: last.id, shown_left: last.shown_left });
  say("Undone. Judge this pair again.");
  confirm("Undone: judge this pair again");
  return show();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || !rater) return;
  if (document.querySelector("dialog[open]") || /^(input|textarea)$/i.test(event.target.tagName)) return;
  if (event.key === "?") { event.preventDefault(); return act("help"); }
  if (!$("keys").checked) return;
  const choice = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (choice) { event.preventDefault(); act(choice); }
}

// The file that is handed over: native lines of a log.

function line(answer, name) {
  const { query, a, b, items_a, items_b, known } = pairs.get(answer.pair);
  const winner = WINNERS[answer.choice](answer.shown_left), counts = !known;
  const check = known ? `${known} ${winner === "a" ? "right" : "wrong"}` : null;
  const fields = {
    id: answer.id, query: query || null, a, b, items_a, items_b,
    winner: counts ? winner : "open", tie: counts && winner === "tie" ? answer.choice : null,
    shown_left: answer.shown_left, rater: name, time: answer.time, seconds: answer.seconds ?? null,
    note: answer.note || null, supersedes: answer.supersedes ?? null, check, scale: data.scale,
  };
  const escaped = (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(fields).replace(/[\u0085\u2028\u2029]/g, escaped)}\n`;
}

const lines = (name) => answersOf(name).filter(({ pair }) => pairs.has(pair)).map((answer) => line(answer, name));
const fileOf = (name) => `verdicts-${data.name}-${name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.jsonl`;

function setHanded(name, n) {
  store(`handed.${inKey(name)}`, Math.max(n, handed(name)));
  tell();
  status();
}

function linkTo(name) {
  const text = lines(name), row = element("p"), link = element("a", name === rater ? "button first" : "button", "");
  link.textContent = `Save ${fileOf(name)}`;
  link.href = URL.createObjectURL(new Blob(text, { type: "application/x-ndjson" }));
  link.download = fileOf(name);
  link.addEventListener("click", () => setHanded(name, text.length));
  row.append(link, element("span", "hint", ""));
  row.dataset.rater = name;
  return row;
}

function tell() {
  const n = answersOf(rater).length, left = open(rater);
  $("hand-words").textContent = n === 0 ? "There is nothing to hand over yet."
    : left > 0 ? "Save the file, and give it to whoever sent you this page. It holds all that you have said so far, "
      + "so hand it over again whenever there is more."
      : "All that you have said is in a file that was saved or copied. Give it to whoever sent you this page.";
  for (const row of $("hand-files").children) {
    const name = row.dataset.rater, more = Math.max(open(name), 0);
    row.lastChild.textContent = `${name}: ${counted(standing(name).length, "answers")}, `
      + (more ? `${counted(more, "lines")} to hand over` : "all handed over");
  }
}

function handOver() {
  const names = [rater, ...raters().filter((name) => name !== rater)].filter((name) => answersOf(name).length);
  for (const link of $("hand-files").querySelectorAll("a")) URL.revokeObjectURL(link.href);
  $("hand-files").replaceChildren(...names.map(linkTo));
  $("hand-by-text").open = false;
  $("hand-by-text").hidden = answersOf(rater).length === 0;
  $("hand-store").textContent = atRisk() ? danger(atRisk()) : "";
  tell();
  if (!document.querySelector("dialog[open]")) $("hand-over").showModal();
}

let inText = 0;   // how many lines the text has

function fillText() {
  const text = $("hand-by-text").open ? lines(rater) : [];
  inText = text.length;
  $("hand-text").value = text.join("");
  $("hand-copied").textContent = "";
}

async function copy() {
  const text = $("hand-text");
  try {
    await navigator.clipboard.writeText(text.value);
  } catch {
    text.select();
    if (!document.execCommand("copy")) {
      $("hand-copied").textContent = "The text is marked: copy it by Ctrl-C.";
      return;
    }
  }
  $("hand-copied").textContent = "Copied.";
  setHanded(rater, inText);
}

// What is said of the store.

const reason = () => (local ? "the browser's store for this page is full" : "the browser blocks its store for this page");
const danger = (n) => `${counted(n, "verdicts")} not kept, since ${reason()}. Hand over before you close the page.`;

// Of n verdicts at risk, and those that are left to hand over.
function kept(n, left) {
  const none = answersOf(rater).length === 0;
  if (n) return danger(n);
  if (left > 0) return `Kept in this browser, ${left} to hand over`;
  if (!local && none) return `Nothing is kept: ${reason()}`;
  return none ? "" : "All handed over";
}

// The beginning.

function begin(name) {
  rater = name;
  store("rater", name);
  show();
}

function askName(again = false) {
  const known = read(`dcglearn.${data.study}.rater`, perTab.begun || "");
  $("name").value = known;
  if (!again && known && perTab.begun === known) return begin(known);
  const names = raters().map((name) => `${name} (${answersOf(name).length})`);
  const blocked = `Nothing is kept here: ${reason()}. Hand your verdicts over before you close or reload the page.`;
  const there = names.length ? `Kept in this browser, under the name of: ${names.join(", ")}.` : "";
  $("start-note").textContent = local ? there : blocked;
  $("start-note").className = local ? "hint" : "warning";
  return $("start").showModal();
}

function onName() {
  const name = $("name").value.replace(/\p{C}/gu, "").trim();
  if (!name) return $("start").showModal();
  try { perTab.begun = name; } catch { /* full: a reload asks for the name again */ }
  return begin(name);
}

function main() {
  $("start").addEventListener("cancel", (event) => event.preventDefault());
  $("start").addEventListener("close", onName);
  document.addEventListener("keydown", onKey);
  for (const button of document.querySelectorAll("#bar button[data-choice]")) {
    button.addEventListener("click", (event) => event.detail < 2 && act(button.dataset.choice));
  }
  for (const dialog of ["note", "help", "hand-over"]) $(dialog).addEventListener("close", () => $("query").focus());
  $("motion").checked = read("dcglearn.motion", true);
  $("motion").addEventListener("change", () => put("dcglearn.motion", $("motion").checked));
  $("hand").addEventListener("click", handOver);
  $("rater").addEventListener("click", () => askName(true));
  $("hand-copy").addEventListener("click", copy);
  $("hand-by-text").addEventListener("toggle", fillText);
  window.addEventListener("storage", refresh);
  window.addEventListener("pageshow", (event) => event.persisted && refresh());
  window.addEventListener("beforeunload", (event) => {
    if (atRisk()) event.preventDefault();
  });
  return askName();
}

main();
