// Measures the picture of every lesson in Chromium: node tests/browser/pictures.js ATTNLAB
import { execFileSync } from "node:child_process";

import { chromium } from "playwright-core";

const attnlab = process.argv[2];
const lessons = execFileSync(attnlab, ["list"], { encoding: "utf8" }).trim().split("\n").map((line) => line.split(" ")[0]);
const pictures = [
  ...lessons.flatMap((lesson) => [[lesson], [lesson, "--theme", "dark"], [lesson, "--size", "1920x1080"]]),
  ...["arcs", "flow"].map((kind) => ["self-attention", "--picture", kind]),
  ["multihead", "--sentence", Array.from({ length: 30 }, (_, i) => `extraordinary${i}`).join(" "), "--model", "none"],
  ["sdpa", "--steps", "Q,weights", "--theme", "dark", "--size", "640x900"],
];
const slack = 1;             // pixels by which boxes may touch
const smallestLetters = (args) => (args.includes("1920x1080") ? (20 * 680) / 1920 : 10);  // pixels, in a column of 680
const leastContrast = 4.5;   // of words and what they stand on

/** What is wrong with the boxes of the words in a picture that is 680 pixels wide. */
function faultsIn({ slack, smallestLetters, leastContrast }) {
  const picture = document.querySelector("svg");
  const paper = picture.getBoundingClientRect();
  const words = [...picture.querySelectorAll("text")].map((node) => {
    const box = node.getBBox();
    const matrix = node.getScreenCTM();
    const corners = [[box.x, box.y], [box.x + box.width, box.y], [box.x + box.width, box.y + box.height], [box.x, box.y + box.height]]
      .map(([x, y]) => new DOMPoint(x, y).matrixTransform(matrix));
    const size = parseFloat(getComputedStyle(node).fontSize) * Math.hypot(matrix.a, matrix.b);
    return { node, text: node.textContent, corners, size };
  });
  const luminance = (colour) => {
    const linear = colour.match(/[\d.]+/g).slice(0, 3).map((channel) => channel / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const areas = [...picture.querySelectorAll("rect, .attn-cells path")].filter((node) => getComputedStyle(node).fill !== "none")
    .map((node) => ({ box: node.getBoundingClientRect(), light: luminance(getComputedStyle(node).fill) }));
  /** The contrast of words and of the last area that their middle stands on. */
  const contrast = ({ node, corners }) => {
    const x = (corners[0].x + corners[2].x) / 2;
    const y = (corners[0].y + corners[2].y) / 2;
    const { light } = areas.findLast(({ box }) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom);
    const [low, high] = [light, luminance(getComputedStyle(node).fill)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  };
  /** Whether a line parallel to a side of one box stands between the two. */
  const isApart = (one, other) => one.some((corner, i) => {
    const next = one[(i + 1) % 4];
    const length = Math.hypot(next.x - corner.x, next.y - corner.y);
    const along = ({ x, y }) => ((x - corner.x) * (next.x - corner.x) + (y - corner.y) * (next.y - corner.y)) / length;
    const places = other.map(along);
    return Math.min(...places) > length - slack || Math.max(...places) < slack;
  });
  const faults = [];
  words.forEach((word, i) => {
    const { text, corners, size } = word;
    if (!(contrast(word) >= leastContrast)) faults.push(`"${text}" has a contrast of ${contrast(word).toFixed(1)}`);
    if (corners.some(({ x, y }) => x < paper.left || x > paper.right || y < paper.top || y > paper.bottom))
      faults.push(`"${text}" is outside`);
    if (size < smallestLetters) faults.push(`"${text}" has letters of ${size.toFixed(1)} pixels`);
    for (const other of words.slice(i + 1))
      if (!isApart(corners, other.corners) && !isApart(other.corners, corners)) faults.push(`"${text}" overlaps "${other.text}"`);
  });
  for (const node of picture.querySelectorAll("rect, path, image, line")) {
    const box = node.getBoundingClientRect();
    if (box.left < paper.left - slack || box.right > paper.right + slack || box.top < paper.top - slack || box.bottom > paper.bottom + slack)
      faults.push(`a ${node.nodeName} is outside`);
  }
  const heading = getComputedStyle(document.querySelector("h1"));
  if (heading.color !== "rgb(1, 2, 3)" || heading.fontSize !== "31px") faults.push("the heading of the page around it changes");
  return { faults, count: words.length };
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
let failures = 0;
try {
  const page = await browser.newPage({ viewport: { width: 680, height: 900 } });
  for (const args of pictures) {
    const picture = execFileSync(attnlab, [...args, "--format", "svg"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    await page.setContent(`<style>body { margin: 0 } svg { width: 680px; height: auto; font: 40px serif } text { letter-spacing: 9px }
      h1 { color: rgb(1, 2, 3); font-size: 31px } path { opacity: 1 }</style>${picture}<h1>A heading</h1>`);
    const { faults, count } = await page.evaluate(faultsIn, { slack, smallestLetters: smallestLetters(args), leastContrast });
    if (count === 0) faults.push("no words");
    failures += faults.length;
    for (const fault of faults.slice(0, 5)) console.error(`FAILED: ${args.join(" ")}: ${fault}`);
  }
} finally {
  await browser.close();
}
console.log(failures === 0 ? `${pictures.length} pictures hold` : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
