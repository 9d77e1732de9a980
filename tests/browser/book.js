// Looks at the book in Chromium: node tests/browser/book.js ATTNLAB BOOK
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const [, , attnlab, book] = process.argv;
const url = pathToFileURL(resolve(book)).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "attnlab-book-"));
const largestBook = 10.5e6;  // bytes
const changesTimed = 60;
/** Milliseconds, at the 95th percentile. Training runs as long as it takes. */
const goals = { sdpa: 16, "self-attention": 16, multihead: 16, scaling: 250, complexity: 250, training: null };
const usualGoal = 60;
const goalOfSixtyTokens = 500;
const goalOfFirstPaint = 1000;
const slowMachine = 2.5;  // times as long as the goal
let failures = 0;

function check(holds, what) {
  if (holds) return;
  failures += 1;
  console.error(`FAILED: ${what}`);
}

function checkTime(what, milliseconds, goal) {
  console.log(`${what}: ${milliseconds.toFixed(1)} ms, ${goal === null ? "no goal" : `the goal is ${goal} ms`}`);
  check(goal === null || milliseconds <= slowMachine * goal, `${what}: ${milliseconds.toFixed(1)} ms are more than ${slowMachine} times the goal`);
}

/** Sentences of many scripts and lengths; a lesson takes them with its own options. None is one word again and again: weights
 * that are the same but for rounding have another largest one where exp rounds otherwise. */
const sentences = [
  "the cat sat", "the small black cat slept", "the dog that saw the cats was hungry", "J'aime les chats", "l'apple, s'il vous plaît!",
  "我喜欢猫", "猫は静かに眠った", "고양이가 잔다", "الكلب نام", "кошка спит", "naïve café — déjà vu", "e\u0301le\u0300ve", "👩‍👩‍👧 and 🐈‍⬛ met",
  "3.14 is π, 2 × 3 = 6", "the the cat", "A", "can't won't don't", "ΑΒΓ αβγ ς", "हिन्दी में बिल्ली", "ไทย แมว",
];

/** 200 sentences: the pieces of those above in other orders. */
function manySentences() {
  const words = sentences.flatMap((sentence) => sentence.split(" "));
  return Array.from({ length: 200 }, (_, i) =>
    Array.from({ length: 2 + (i % 5) }, (_, j) => words[(i * 7 + j * (3 + (i % 11))) % words.length]).join(i % 3 === 0 ? "  " : " "));
}

/** The options that give a lesson a sentence. */
function optionsFor(lesson, sentence) {
  const help = execFileSync(attnlab, [lesson, "--help"], { encoding: "utf8" });
  if (help.includes("--source TEXT")) return ["--source", sentence, "--target", "the cat slept"];
  return help.includes("--sentence TEXT") ? ["--sentence", sentence] : ["--seed", String(7 + sentence.length)];
}

/** The program that the book holds, called as a shell would call it. */
async function runInPage(page, args) {
  return page.evaluate((words) => globalThis.bookProgram(words), args);
}

async function open(browser, look, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (message) => check(false, `the book says ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => check(false, `the book throws ${error.message}`));
  page.on("request", (request) => check(request.url().split("#")[0] === url, `the book fetches ${request.url()}`));
  await page.goto(url);
  await page.waitForSelector("body.live");
  await look(page);
  await context.close();
}

async function checkNumbers(page, lessons) {
  let compared = 0;
  for (const lesson of lessons) {
    const runs = sentences.map((sentence) => optionsFor(lesson, sentence));
    for (const options of [[], ...new Set(runs.map((run) => JSON.stringify(run)))]) {
      const words = typeof options === "string" ? JSON.parse(options) : options;
      const native = spawnSync(attnlab, [lesson, "--format", "html", ...words], { encoding: "utf8", maxBuffer: 1e9 });
      const live = await runInPage(page, [lesson, "--format", "html", ...words]);
      check(native.status === live.status, `${lesson} ${words.join(" ")}: status ${live.status}, the program's is ${native.status}`);
      check(native.status === 2 || native.stdout === live.text, `${lesson} ${words.join(" ")}: the page in the browser is another`);
      compared += 1;
    }
  }
  console.log(`${compared} pages are those of the program, byte for byte`);
}

async function checkTokens(page) {
  const tokensOf = (text) => JSON.parse(text).config.tokens;
  for (const sentence of manySentences()) {
    const words = ["self-attention", "--format", "json", "--sentence", sentence];
    const native = execFileSync(attnlab, words, { encoding: "utf8" });
    const live = await runInPage(page, words);
    check(live.status === 0 && JSON.stringify(tokensOf(native)) === JSON.stringify(tokensOf(live.text)),
      `"${sentence}" has other tokens in the browser`);
  }
  console.log(`${manySentences().length} sentences have the same tokens`);
}

/** By the nearest rank. */
const percentile95 = (numbers) => [...numbers].sort((a, b) => a - b)[Math.ceil(0.95 * numbers.length) - 1];

/** Milliseconds from a change of a field to the changed page, of many changes. */
async function timeChanges(page, lesson, texts) {
  await page.evaluate((name) => { location.hash = `#/${name}`; }, lesson);
  await page.waitForFunction((name) => document.body.dataset.lesson === name, lesson);
  return page.evaluate(async ({ count, words }) => {
    const times = [];
    const area = document.querySelector("#controls .of-sentences textarea") || document.querySelector("#controls input[type=number]");
    for (let i = 0; i < count; ++i) {
      area.value = area.type === "number" ? String(100 + i) : words[i % words.length];
      delete document.body.dataset.milliseconds;
      area.dispatchEvent(new Event("input", { bubbles: true }));
      const patience = performance.now() + 10000;
      while (document.body.dataset.milliseconds === undefined) {
        if (performance.now() > patience) throw new Error("a change has had no effect for ten seconds");
        await new Promise((ready) => { setTimeout(ready, 1); });
      }
      times.push(Number(document.body.dataset.milliseconds));
    }
    return times;
  }, { count: changesTimed, words: texts });
}

async function timeLessons(page, lessons) {
  const six = ["the small cat saw the dog", "a dog saw the black cat", "the hungry cat saw a dog", "the cats saw the small dog"];
  const long = [0, 1].map((shift) => Array.from({ length: 60 }, (_, i) => `word${(i * 7 + shift) % 60}`).join(" "));
  for (const lesson of lessons) {
    const times = await timeChanges(page, lesson, six);
    checkTime(`${lesson.padEnd(18)} a change of the sentence`, percentile95(times), lesson in goals ? goals[lesson] : usualGoal);
  }
  checkTime("sdpa               60 tokens", percentile95(await timeChanges(page, "sdpa", long)), goalOfSixtyTokens);
}

/** Whether two values of JSON are the same; numbers, which two programs summed up, to 1e-12. */
function areSame(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a));
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => name in b && areSame(a[name], b[name]));
}

/** Opens all that an element is folded into. */
const unfold = (page, element) => page.evaluate((selector) => {
  for (let e = document.querySelector(selector); e !== null; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
}, element);

/** A changed entry gives what the program computes from that input. */
async function checkEdit(page) {
  await page.evaluate(() => { location.hash = "#/sdpa"; });
  await page.waitForFunction(() => document.body.dataset.lesson === "sdpa");
  await page.locator("#controls .reset").click();
  const cell = page.locator("#t-Q td").first();
  await unfold(page, "#t-Q td");
  await cell.dblclick();
  await page.keyboard.type("2.5");
  await page.keyboard.press("Enter");
  const file = join(folder, "trace.json");
  const trace = JSON.parse(execFileSync(attnlab, ["sdpa", "--format", "json"], { encoding: "utf8" }));
  trace.events.find(({ id }) => id === "Q").data[0][0] = 2.5;
  writeFileSync(file, JSON.stringify(trace));
  execFileSync(attnlab, ["sdpa", "--input", file, "--output", join(folder, "changed.html")]);
  const expected = await page.evaluate((text) => {
    const table = new DOMParser().parseFromString(text.slice(text.indexOf("<body")), "text/html")
      .querySelector("#t-output table");
    return [...table.querySelectorAll("td")].map((node) => node.textContent).join(" ");
  }, readFileSync(join(folder, "changed.html"), "utf8"));
  const shown = await page.locator("#t-output table").first().evaluate((table) =>
    [...table.querySelectorAll("td")].map((node) => node.textContent).join(" "));
  check(shown === expected, `a changed entry of Q gives ${shown}, the program ${expected}`);
  check(await cell.textContent() === "2.5000", `the changed cell shows ${await cell.textContent()}`);
  const command = await page.locator("#controls .command").textContent();
  check(command.includes("--input inputs.json"), `after a change the command is ${command}`);
  check(/Changed: Q\[[^\]]+\] = 2\.5\./.test(command), `the change is not told: ${command}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#controls .changes button").click()]);
  const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
  check(areSame(saved.events, trace.events), "the saved inputs are others");
}

/** A slider that nobody has moved shows what the run on the page has; one that is moved changes the run. */
async function checkSliders(page) {
  await page.evaluate(() => { location.hash = "#/sdpa"; });
  await page.waitForFunction(() => document.body.dataset.lesson === "sdpa");
  await page.locator("#controls textarea").first().fill("wombats saw the cat");
  await page.waitForFunction(() => document.querySelector("#lesson").textContent.includes("wombats"));
  const told = (await page.locator(".options code").allTextContents()).find((text) => text.startsWith("d_v="));
  const shown = await page.locator("#controls label", { hasText: /^d-v/ }).locator("output").textContent();
  check(told === `d_v=${shown}`, `the page has ${told}, the slider shows ${shown}`);
  const slider = page.locator("#controls label", { hasText: /^d-k/ }).locator("input[type=range]");
  // On a slow machine the slider moves while the folded part of the page before is still to come.
  const session = await page.context().newCDPSession(page);
  for (const rate of [1, 30]) {
    await session.send("Emulation.setCPUThrottlingRate", { rate });
    await page.locator("#controls textarea").first().fill(`wombats saw ${rate} cats`);
    await page.waitForFunction((word) => document.querySelector("#lesson").textContent.includes(word), `${rate}`);
    const moved = Number(await slider.inputValue()) + 1;
    await slider.press("ArrowRight");
    const command = await page.waitForFunction((option) =>
      [...document.querySelectorAll(".options code")].some(({ textContent }) => textContent === option) &&
      document.querySelector("#controls .command code").textContent, `d_k=${moved}`);
    const told = await command.jsonValue();
    check(told.includes(`--d-k ${moved}`), `a slider moved to ${moved} gives the command ${told}`);
  }
  await session.send("Emulation.setCPUThrottlingRate", { rate: 1 });
}

/** After a change the folded part of the page follows, and with it how each number came about. */
async function checkWholePage(page) {
  await page.evaluate(() => { location.hash = "#multihead"; });
  await page.waitForFunction(() => document.body.dataset.lesson === "multihead");
  const hasWorkings = () => document.getElementById("workings").textContent !== "null";
  await page.locator("#controls textarea").first().fill("the dog saw girls");
  check(!await page.evaluate(hasWorkings), "a changed page is whole at once");
  await page.waitForFunction(hasWorkings);
  const expected = execFileSync(attnlab, ["multihead", "--format", "html", "--sentence", "the dog saw girls"], { encoding: "utf8" });
  check(await page.evaluate((text) => {
    const main = new DOMParser().parseFromString(text.slice(text.indexOf("<body")), "text/html").querySelector("main");
    return main.textContent === document.querySelector("#lesson main").textContent;
  }, expected), "after a change the whole page is another than the program's");
  const idea = await page.$("#idea");
  await unfold(page, "#t-heads td");
  await page.locator("#controls textarea").first().fill("the cat saw girls");
  await page.waitForFunction(() => document.querySelector("#t-heads").textContent.includes("cat"));
  check(await page.locator("#t-heads td").first().isVisible(), "a change folds a table that was unfolded");
  check(await idea.evaluate((node) => node.isConnected), "a change of the sentence replaces the idea, too");
}

/** Shows the lesson afresh, with everything unfolded. */
async function showUnfolded(page, lesson) {
  for (const name of ["glossary", lesson]) {
    await page.evaluate((to) => { location.hash = `#/${to}`; }, name);
    await page.waitForFunction((to) => document.body.dataset.lesson === to, name);
  }
  await page.evaluate(() => document.querySelectorAll("#lesson details").forEach((details) => { details.open = true; }));
}

/** Clicks on a command of a page: it runs the lesson, shows the text of the program, or says why it does not run. */
async function checkCommand(page, code, lessons) {
  const command = await code.textContent();
  const name = command.split(" ")[1];
  const runs = lessons.includes(name);
  check(await code.evaluate((node) => node.classList.contains("runs")) === runs, `"${command}" ${runs ? "lacks" : "has"} the looks of what runs`);
  await code.click();
  const trouble = (await page.locator(".trouble").allTextContents()).join("");
  check(trouble === "", `a click on "${command}" gives: ${trouble}`);
  const told = (await page.locator(".told").allTextContents()).join("");
  if (!runs) {
    check(told.includes("terminal"), `a click on "${command}" says "${told}"`);
  } else if (command.includes("--explain")) {
    const text = execFileSync("sh", ["-c", command.replace(/^attnlab/, '"$0"'), attnlab], { encoding: "utf8" });
    check(told === text.trimEnd(), `a click on "${command}" shows "${told}"`);
  } else {
    check((await page.locator("#controls .command code").textContent()).split(" ")[1] === name,
      `a click on "${command}" runs another lesson`);
  }
}

async function checkExercises(page, lessons) {
  const commands = ".exercises .commands code, #next .commands code";
  let clicked = 0;
  for (const lesson of lessons) {
    await showUnfolded(page, lesson);
    const count = await page.locator(commands).count();
    check(count >= 3, `${lesson} has ${count} commands`);
    for (let i = 0; i < count; ++i) {
      await showUnfolded(page, lesson);
      await checkCommand(page, page.locator(commands).nth(i), lessons);
      clicked += 1;
    }
  }
  check(clicked >= 60, `the book has ${clicked} commands`);
  console.log(`${clicked} commands of exercises and of what to try next`);
}

async function checkTrouble(page) {
  await page.evaluate(() => { location.hash = "#/multihead"; });
  await page.waitForFunction(() => document.body.dataset.lesson === "multihead");
  await page.locator("#controls textarea").first().fill("\u200B");
  await page.waitForFunction(() => document.querySelector(".trouble").textContent !== "");
  check(await page.locator("#t-weights td").count() > 0, "a sentence without a word takes the page away");
}

/** Another formula in the place of a step of a document, and one that is wrong. */
async function checkDefine(page) {
  for (const lesson of ["sdpa", "masking"]) {
    await showUnfolded(page, lesson);
    await page.locator("#controls details summary").click();
    const field = page.locator("#controls label", { hasText: /^define/ }).locator("textarea");
    const formula = "scaled = scores / d_k";
    await field.fill(formula);
    await page.waitForFunction((text) => document.querySelector(".options").textContent.includes(text), formula);
    const expected = execFileSync(attnlab, [lesson, "--format", "html", "--define", formula], { encoding: "utf8" });
    check((await runInPage(page, [lesson, "--format", "html", "--define", formula])).text === expected,
      `${lesson} with another formula is another page than the program's`);
    await field.fill("scaled = scores / nothing");
    await page.waitForFunction(() => document.querySelector(".trouble").textContent !== "");
    const trouble = await page.locator(".trouble").textContent();
    check(trouble.includes("column 19: nothing is unknown"), `${lesson} says of a wrong formula: ${trouble}`);
    check(await page.locator("#t-scores td").count() > 0, `${lesson}: a wrong formula takes the page away`);
  }
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const lessons = execFileSync(attnlab, ["list"], { encoding: "utf8" }).trim().split("\n").map((line) => line.split(" ")[0]);
try {
  check(statSync(book).size < largestBook, `the book has ${statSync(book).size} bytes`);
  for (const colorScheme of ["light", "dark"])
    await open(browser, async (page) => {
      for (const lesson of [...lessons, "glossary"]) {
        await page.evaluate((name) => { location.hash = `#/${name}`; }, lesson);
        await page.waitForFunction((name) => document.body.dataset.lesson === name, lesson);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
        for (const { id, impact, nodes } of violations)
          if (impact === "serious" || impact === "critical")
            check(false, `${lesson}, ${colorScheme}: axe-core finds ${id}, first at ${nodes[0].html.slice(0, 200)}`);
        for (const width of [1280, 768, 320]) {
          await page.setViewportSize({ width, height: 900 });
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          check(wide <= width, `${lesson}: ${wide} pixels wide in a window of ${width}`);
        }
      }
    }, { colorScheme });
  await open(browser, async (page) => {
    const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    console.log(`${statSync(book).size} bytes`);
    checkTime("first painted", painted, goalOfFirstPaint);
    await timeLessons(page, lessons);
    await checkEdit(page);
    await checkSliders(page);
    await checkWholePage(page);
    await checkExercises(page, lessons);
    await checkTrouble(page);
    await checkDefine(page);
    await checkTokens(page);
    await checkNumbers(page, lessons);
  });
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(failures === 0 ? `the book holds: ${lessons.length} lessons` : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
