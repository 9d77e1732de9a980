// Looks at the page of HTML of every lesson in Chromium: node tests/browser/pages.js ATTNLAB
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { evaluate } from "./expression.js";

const attnlab = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "attnlab-pages-"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const widths = [1280, 768, 320];
const widthOfPaper = 718;  // pixels of A4 between margins of a centimetre
const cellsOfTable = 12;  // that are worked out
const longestWalk = 60;   // cells of a table through which the arrow keys go
let failures = 0;

function check(holds, what) {
  if (holds) return;
  failures += 1;
  console.error(`FAILED: ${what}`);
}

function pageOf(name, args) {
  const file = join(folder, `${name}.html`);
  execFileSync(attnlab, [...args, "--output", file]);
  return pathToFileURL(file).href;
}

/** Opens a page and calls `look` with it. Nothing may be said on the console, and nothing be fetched. */
async function open(browser, url, options, look) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("console", (message) => check(false, `${url} says ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => check(false, `${url} throws ${error.message}`));
  page.on("dialog", (dialog) => check(false, `${url} opens ${dialog.message()}`));
  page.on("request", (request) => check(request.url() === url, `${url} fetches ${request.url()}`));
  await page.goto(url);
  await look(page);
  await context.close();
}

/** Unfolds everything, and goes to a cell and away again: the page reads its tables when the first cell is looked at. */
async function unfold(page) {
  await page.evaluate(() => {
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    const cell = document.querySelector("table[data-tensor] td");
    cell.focus();
    cell.blur();
  });
}

async function checkAccess(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, nodes } of violations)
    if (impact === "serious" || impact === "critical")
      check(false, `${what}: axe-core finds ${id} (${impact}) ${nodes.length} times, first at ${nodes[0].html.slice(0, 200)}`);
}

async function checkWidths(page, what) {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= width, `${what}: ${wide} pixels wide in a window of ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function checkLinks(page, what) {
  const broken = await page.$$eval("a", (links) =>
    links.map((link) => link.getAttribute("href")).filter((href) => document.getElementById(href.slice(1)) === null));
  check(broken.length === 0, `${what}: links lead nowhere: ${broken.join(" ")}`);
  const dead = await page.$$eval(".attn-flow rect", (boxes) => boxes.filter((box) => box.closest("a") === null).length);
  check(dead === 0, `${what}: ${dead} boxes of the flow lead nowhere`);
}

/** Goes through tables with the arrow keys, as a person does: along each row, then down. */
async function checkKeyboard(page, what) {
  const tables = await page.$$("table[data-tensor]");
  let walked = 0;
  for (const table of tables) {
    const [rows, columns] = await table.evaluate((node) => {
      const cells = [...node.querySelectorAll("td[tabindex]")];
      const height = new Set(cells.map((cell) => cell.parentNode)).size;
      return [height, cells.length / height];
    });
    if (rows * columns > longestWalk || walked > 1) continue;
    walked += 1;
    check(await table.evaluate((node) => node.querySelectorAll('td[tabindex="0"]').length) === 1,
      `${what}: a table is not one stop of the Tab key`);
    await table.evaluate((node) => {
      node.querySelector('td[tabindex="0"]').focus();
      node.reached = new Set([document.activeElement]);
      node.addEventListener("focusin", (event) => node.reached.add(event.target));
    });
    for (let row = 0; row < rows; ++row) {
      for (let column = 1; column < columns; ++column) await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowDown");
    }
    const reached = await table.evaluate((node) => node.reached.size);
    check(reached === rows * columns, `${what}: the keyboard reaches ${reached} of ${rows * columns} cells`);
  }
  return walked;
}

/** What the page shows of some cells of each table: the cell, and the pieces of its expression. */
function readCells(cellsOfTable) {
  const shown = [];
  for (const table of document.querySelectorAll("table[data-tensor]")) {
    const cells = [...table.querySelectorAll("td[tabindex]")];
    const step = Math.max(1, Math.floor(cells.length / cellsOfTable));
    for (let i = 0; i < cells.length; i += step) {
      cells[i].focus();
      const pieces = [...document.getElementById("worked-text").childNodes].map((node) => ({
        text: node.textContent,
        value: node.nodeName === "DATA" ? node.value : undefined,
      }));
      const sources = document.querySelectorAll("td.source").length;
      shown.push({ cell: cells[i].textContent, isWhole: !cells[i].textContent.includes("."), pieces, sources });
    }
  }
  return shown;
}

const numberIn = (text) =>
  text === "·" ? 0 : Number(text.replaceAll("−", "-").replace("inf", "Infinity").replace("nan", "NaN"));

/** Half a unit of the last digit that the text shows. */
function halfUnit(text) {
  const [mantissa, exponent = "0"] = text.replaceAll("−", "-").split("e");
  const digits = mantissa.includes(".") ? mantissa.length - mantissa.indexOf(".") - 1 : 0;
  return 0.5 * 10 ** (Number(exponent) - digits);
}

const isNear = (a, b, tolerance) => Object.is(a, b) || a === b || Math.abs(a - b) <= tolerance;

/** Evaluates what is shown with all digits that the page holds. Returns how many cells were worked out. */
function checkCells(shown, what) {
  let worked = 0;
  let lit = 0;
  for (const { cell, pieces, sources } of shown) {
    const whole = pieces.map(({ text }) => text).join("");
    const start = pieces[0].text;
    if (/\((an input of|no single entry|too long)/.test(whole)) continue;
    worked += 1;
    const numbers = pieces.filter(({ value }) => value !== undefined);
    for (const { text, value } of numbers)
      check(isNear(numberIn(text), Number(value), 1.001 * halfUnit(text)) || String(value) === "NaN",
        `${what}: ${start} shows ${text} for ${value}`);
    lit += sources;
    const isCopy = pieces.length === 5 && pieces[2].value === undefined && pieces[3].text === " = ";
    const terms = isCopy ? pieces.slice(4) : pieces.slice(2, -1);
    const last = pieces[pieces.length - 1].text;
    check(isCopy || /^ [=≈] /.test(last), `${what}: ${start} has no result: ${whole}`);
    const text = terms.map(({ text: digits, value }) =>
      (value === undefined ? digits : value.replaceAll("Infinity", "inf").replaceAll("NaN", "nan"))).join("");
    const value = evaluate(text);
    const expected = numberIn(cell);
    check(isNear(value, expected, 1.001 * halfUnit(cell) + 1e-6 * Math.max(1, Math.abs(expected))) ||
      (Number.isNaN(value) && Number.isNaN(expected)),
      `${what}: ${start} is ${cell}, but ${whole} comes to ${value}`);
  }
  check(lit > 0, `${what}: no cell lights up the entries that it came from`);
  return worked;
}

/** What is printed stays between the edges of a page, unfolded tables too. */
async function checkPrint(page, what) {
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: widthOfPaper, height: 1000 });
  const wide = await page.evaluate(() => [...document.querySelectorAll("main *")]
    .filter((node) => node.getClientRects().length > 0 && node.getBoundingClientRect().right > innerWidth + 1)
    .map((node) => `${node.tagName} in ${node.closest("[id]").id}`));
  check(wide.length === 0, `${what}: printed, ${wide.length} elements are cut, first ${wide[0]}`);
  await page.emulateMedia({ media: "screen" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function checkLesson(browser, lesson) {
  const url = pageOf(lesson, [lesson]);
  await open(browser, url, {}, async (page) => {
    await unfold(page);
    await checkAccess(page, `${lesson}, light`);
    await checkWidths(page, lesson);
    await checkPrint(page, lesson);
    await checkLinks(page, lesson);
    const walked = await checkKeyboard(page, lesson);
    const shown = await page.evaluate(readCells, cellsOfTable);
    const worked = checkCells(shown, lesson);
    check(walked > 0, `${lesson}: no table to walk through`);
    check(worked > 0, `${lesson}: no cell is worked out`);
    console.log(`${lesson.padEnd(18)} ${String(worked).padStart(4)} of ${shown.length} cells worked out`);
  });
  await open(browser, url, { colorScheme: "dark" }, async (page) => {
    await checkAccess(page, `${lesson}, dark`);
    await page.setViewportSize({ width: 320, height: 900 });
    await checkAccess(page, `${lesson}, dark and narrow`);
  });
  await open(browser, url, { javaScriptEnabled: false }, async (page) => {
    check(await page.locator("table").count() > 0, `${lesson}: no table without JavaScript`);
    check(!await page.locator("#worked").isVisible(), `${lesson}: an empty panel without JavaScript`);
  });
}

async function checkHeads(browser) {
  await open(browser, pageOf("heads", ["multihead"]), {}, async (page) => {
    const tables = page.locator("#t-weights .sheet");
    const visible = async () => (await Promise.all((await tables.all()).map((table) => table.isVisible()))).filter(Boolean);
    check((await visible()).length === 2, "multihead: both heads are shown");
    await page.locator("#t-weights input.only-2").check();
    check((await visible()).length === 1 && await tables.nth(1).isVisible(), "multihead: head 1 alone is shown");
  });
}

async function checkLongInput(browser) {
  const words = Array.from({ length: 40 }, (_, i) => `word${i}`).join(" ");
  await open(browser, pageOf("long", ["sdpa", "--sentence", words]), {}, async (page) => {
    const kept = await page.locator("#t-weights .sheet").evaluate((sheet) => {
      sheet.scrollTo(400, 300);
      const box = sheet.getBoundingClientRect();
      const head = sheet.querySelector("thead th:nth-child(20)").getBoundingClientRect();
      const label = sheet.querySelector("tbody tr:nth-child(20) th").getBoundingClientRect();
      return sheet.scrollTop > 0 && sheet.scrollLeft > 0 && Math.abs(head.top - box.top) < 2 && Math.abs(label.left - box.left) < 2;
    });
    check(kept, "a long sentence: labels stay in sight while the table scrolls");
    await checkWidths(page, "a long sentence");
  });
}

async function checkHostile(browser) {
  const sentences = [
    "</script><script>window.hacked = 1</script>", '"><img src=x onerror="window.hacked = 1">', "' onfocus=alert(1) '",
    "\u202Eevil\u202C \u200F \uFFFE ]]> <!--", "x".repeat(10000),
  ];
  for (const [i, sentence] of sentences.entries())
    await open(browser, pageOf(`hostile-${i}`, ["sdpa", "--sentence", sentence]), {}, async (page) => {
      check(await page.evaluate(() => window.hacked === undefined), `a sentence ran: ${sentence.slice(0, 60)}`);
      check(await page.locator("script").count() === 2, `a sentence made a script: ${sentence.slice(0, 60)}`);
      await checkWidths(page, sentence.slice(0, 40));
    });
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const lessons = execFileSync(attnlab, ["list"], { encoding: "utf8" }).trim().split("\n").map((line) => line.split(" ")[0]);
try {
  for (const lesson of lessons) await checkLesson(browser, lesson);
  await checkHeads(browser);
  await checkLongInput(browser);
  await checkHostile(browser);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
console.log(failures === 0 ? `${lessons.length} pages hold` : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
