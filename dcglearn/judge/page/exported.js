// A page without a server: its pairs are in the file, and verdicts in the browser until they are handed over.
// It stands before page.js in one script, and takes the server's place there.

{
const data = JSON.parse(document.getElementById("data").textContent);
const pairs = new Map(data.pairs.map((pair) => [pair.pair, pair]));
const WINNERS = {
  left: (left) => left, right: (left) => (left === "a" ? "b" : "a"), "both good": () => "tie", "both bad": () => "tie",
  skip: () => "open", undo: () => "open",
};
const counted = (n, things) => `${n.toLocaleString("en")} ${n === 1 ? things.slice(0, -1) : things}`;
let offered = false;   // whether the file was offered because the store is full

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

function keep(name, answer) {
  // read again, since another tab may have been quicker
  if (answer.choice !== "undo" && standing(name).some((other) => other.pair === answer.pair)) {
    return "Judged in another tab already: that verdict stands";
  }
  const time = new Date().toISOString().replace(/\.\d+Z$/, "+00:00");
  store(`answer.${inKey(name)}.${inOrder()}.${answer.id}`, { ...answer, time });
  if (local && memory.size && !offered) { offered = true; setTimeout(handOver); }
  return "";
}

// What the server answers elsewhere.

function next(name, holding) {
  const given = standing(name), done = new Set(given.map((answer) => answer.pair));
  const left = data.pairs.filter((pair) => !done.has(pair.pair) && !holding.includes(pair.pair));
  const counted = given.filter((answer) => pairs.has(answer.pair) && !pairs.get(answer.pair).known);
  const skipped = counted.filter((answer) => answer.choice === "skip").length, own = counted.length - skipped;
  const all = data.pairs.filter((pair) => !pair.known).length - skipped;
  const dropped = holding.filter((key) => done.has(key));
  return {
    pairs: left.slice(0, Math.max(3 - holding.length, 0)).map(shown), spare: [], dropped,
    done: left.length > 0 || holding.length > dropped.length ? ""
      : "Every pair of this page is judged. Please hand your verdicts over now, by the button above.",
    progress: { judged: own, skipped, all: own, goal: [all, all], enough: false, changes: 0 },
  };
}

function shown(pair) {
  const side = (name) => {
    const items = pair[`items_${name}`];
    return items ? { items: items.map((number) => data.items[number]) } : { grades: pair[name] };
  };
  const left = pair.left, right = WINNERS.right(left), better = left === "a" ? "left" : "right";
  return {
    pair: pair.pair, query: pair.text || pair.query, intent: pair.intent, left: side(left), right: side(right),
    shown_left: left, practice: pair.known === "practice" ? better : undefined,
  };
}

const past = {
  push() {},
  pop() {
    const answer = standing(rater).filter(({ pair }) => pairs.has(pair)).at(-1);
    return answer && { id: answer.id, pair: shown(pairs.get(answer.pair)) };
  },
};

// The file that is handed over: lines of the server's log.

function line(answer, name) {
  const { query, a, b, known, ...pair } = pairs.get(answer.pair);
  const items = (numbers) => numbers && numbers.map((number) => data.whole[number] || data.items[number]);
  const winner = WINNERS[answer.choice](answer.shown_left), counts = !known;
  const check = known ? `${known} ${winner === "a" ? "right" : "wrong"}` : null;
  const fields = {
    id: answer.id, query: query || null, a, b, items_a: items(pair.items_a), items_b: items(pair.items_b),
    winner: counts ? winner : "open", tie: counts && winner === "tie" ? answer.choice : null,
    strength: counts && winner !== "open" ? answer.strength ?? null : null, shown_left: answer.shown_left,
    rater: name, time: answer.time, seconds: answer.seconds ?? null, note: answer.note || null,
    supersedes: answer.supersedes ?? null, check, scale: data.scale,
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

function kept(name) {
  const n = atRisk(), left = open(name), none = answersOf(name).length === 0;
  $("hand").className = n || (last && last.done && left > 0) ? "urgent" : "";
  if (n) return danger(n);
  if (left > 0) return `Kept in this browser, ${left} to hand over`;
  if (!local && none) return `Nothing is kept: ${reason()}`;
  return none ? "" : "All handed over";
}

function begins() {
  const names = raters().map((name) => `${name} (${answersOf(name).length})`);
  const blocked = `Nothing is kept here: ${reason()}. Hand your verdicts over before you close or reload the page.`;
  const there = names.length ? `Kept in this browser, under the name of: ${names.join(", ")}.` : "";
  $("start-note").textContent = local ? there : blocked;
  $("start-note").className = local ? "hint" : "warning";
}

function start() {
  $("rater").hidden = data.raters.length === 1;
  $("hand").addEventListener("click", handOver);
  $("rater").addEventListener("click", () => askName(true));
  $("hand-copy").addEventListener("click", copy);
  $("hand-by-text").addEventListener("toggle", fillText);
  window.addEventListener("pageshow", (event) => event.persisted && rater && send());
  window.addEventListener("beforeunload", (event) => {
    if (atRisk()) event.preventDefault();
  });
  $("hand-over").addEventListener("close", () => $("query").focus());
}

const { study, raters: named, strengths, n_grades } = data;
globalThis.exported = { session: { study, raters: named, strengths, n_grades }, keep, next, past, kept, atRisk, begins, start };
}
