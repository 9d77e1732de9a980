(() => {
  const holder = document.getElementById("lesson");
  const form = document.getElementById("controls");
  const turn = document.getElementById("turn");
  const allControls = JSON.parse(document.getElementById("all-controls").textContent);
  const lessons = Object.keys(allControls);
  const first = document.body.dataset.lesson;
  const outputFile = "/page";
  const inputFile = "/inputs.json";
  const savedInputs = "inputs.json";
  const pause = 200;     // milliseconds without a change, after which the folded part of a page follows
  let lab = null;        // the program, once it runs
  let said = [];         // by the program, to stderr
  let current = first;   // the lesson or "glossary"
  let words = [];        // the options that differ from the defaults: ["--causal", "--seed", "7"]
  let edited = null;     // the trace of which a reader has changed inputs
  let changes = [];      // in it: ["Q[the, 0] = 2.5"]
  let parts = [];        // of the lesson's page, from the first change on
  let waiting = 0;       // the next change of the page
  let warming = 0;       // the next run before a reader changes anything
  let completing = 0;    // what follows a change: the folded part of the page
  let lastRun = 0;       // milliseconds

  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  // The program

  /// Calls it as a shell would. Returns its exit status.
  function call(args) {
    said = [];
    const stack = lab.stackSave();
    try {
      return lab.callMain([...args, "--output", outputFile]);
    } finally {
      lab.stackRestore(stack);
    }
  }

  const written = () => lab.FS.readFile(outputFile, { encoding: "utf8" });

  function unpacked(base64, format) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
  }

  /// Puts the pages of the lessons, where the book holds them packed, into the document.
  async function unpackPages() {
    const packed = document.getElementById("pages");
    if (packed !== null) packed.outerHTML = await unpacked(packed.textContent, "deflate").text();
  }

  async function start() {
    const code = document.getElementById("program");
    if (code === null) return;
    const options = {
      wasmBinary: new Uint8Array(await unpacked(code.textContent, "gzip").arrayBuffer()),
      print: () => undefined, printErr: (line) => said.push(line),
    };
    const started = await globalThis.attnlab(options);
    started.FS.writeFile(outputFile, "");
    lab = started;
    // For the console: bookProgram(["sdpa", "--format", "json"]).
    globalThis.bookProgram = (args) => {
      const status = call(args);
      return { status, text: status === 2 ? said.join("\n") : written() };
    };
    document.body.classList.add("live");
    markCommands();
    fillForm();
    if (words.length > 0) update();
    else warmUp();
  }

  /// Runs the lesson as it stands on the page a few times while nothing else happens, so that a browser has compiled its
  /// code well, and its model is read, before a reader changes anything.
  function warmUp(runs = 10) {
    if (lab === null || allControls[current] === undefined || words.length > 0 || edited !== null || runs === 0) return;
    const began = performance.now();
    call([current, "--format", "html", ...(runs > 1 ? ["--brief"] : [])]);
    const took = performance.now() - began;
    clearTimeout(warming);
    if (took < 100) warming = setTimeout(warmUp, 2 * took, runs - 1);  // a reader who scrolls comes first
  }

  // The controls

  const inQuotes = (word) => (/^[\w./=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

  const commandLine = () =>
    ["attnlab", current, ...words.map(inQuotes), ...(edited === null ? [] : ["--input", savedInputs])].join(" ");

  function saveInputs() {
    const file = new Blob([JSON.stringify(edited)], { type: "application/json" });
    const link = element("a", { href: URL.createObjectURL(file), download: savedInputs });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  /// Shows the command of the page and, where a reader has changed numbers, which ones and the file that has them.
  function showCommand() {
    form.querySelector(".command code").textContent = commandLine();
    const remark = form.querySelector(".changes");
    const hint = "Double-click a number in an input, or press Enter on it, to change it.";
    if (edited === null) return remark.textContent === hint ? undefined : remark.replaceChildren(hint);
    const save = element("button", { type: "button" }, `Save ${savedInputs}`);
    save.addEventListener("click", saveInputs);
    remark.replaceChildren(`Changed: ${changes.join(", ")}. `, save);
  }

  /// The words of a command as a shell reads them.
  function wordsOf(command) {
    const pieces = command.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) || [];
    return pieces.map((piece) => piece.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
  }

  /// The values that follow a flag in the options.
  const typed = (flag) => words.flatMap((word, i) => (word === `--${flag}` && i + 1 < words.length ? [words[i + 1]] : []));

  function sliderFor(control, value) {
    const isCount = control.kind === "count";
    const start = Number(control.value) || 0;
    const least = isCount ? control.smallest : 0;
    const most = isCount ? Math.max(8, 2 * start) : control.flag === "dropout" ? 0.9 : Math.max(4, 2 * start);
    const slider = element("input", {
      type: "range", min: least, max: Math.max(most, Number(value)), step: isCount ? 1 : 0.05, value: value === "" ? least : value,
    });
    const shown = element("output", {}, value === "" ? "default" : value);
    slider.untouched = typed(control.flag).length === 0;
    slider.addEventListener("input", () => {
      shown.textContent = slider.value;
      slider.untouched = false;
    });
    return [slider, shown];
  }

  /// Sets the sliders that nobody has moved to what the page says that it ran with.
  function followPage() {
    const told = new Map([...holder.querySelectorAll(".options code")].map((code) => code.textContent.split("=")));
    for (const [control, slider] of fields) {
      const value = told.get(control.flag.replaceAll("-", "_"));
      if (!slider.untouched || value === undefined) continue;
      slider.max = Math.max(slider.max, value);
      slider.value = value;
      slider.nextElementSibling.textContent = value;
    }
  }

  function fieldFor(control) {
    const [given] = typed(control.flag);
    if (control.kind === "switch") {
      const box = element("input", { type: "checkbox" });
      box.checked = control.value || words.includes(`--${control.flag}`);
      return [box];
    }
    if (control.kind === "choice") {
      const list = element("select", {});
      const choices = control.choices.includes(control.value) || control.value === "" ? control.choices : [control.value, ...control.choices];
      if (control.value === "") list.append(element("option", { value: "" }, "default"));
      for (const choice of choices) list.append(element("option", { value: choice }, choice));
      list.value = given === undefined ? control.value : given;
      return [list];
    }
    if (control.kind === "sentences") {
      const texts = typed(control.flag).length > 0 ? typed(control.flag) : control.value;
      const area = element("textarea", { rows: Math.max(1, texts.length), spellcheck: "false" });
      area.value = texts.join("\n");
      return [area];
    }
    const value = given === undefined ? control.value : given;
    if (control.kind === "count" || control.kind === "number") return sliderFor(control, value);
    return [element("input", { type: control.kind === "seed" ? "number" : "text", min: "0", value })];
  }

  /// What a field adds to the command: nothing where it has the default.
  function wordsOfField(control, field) {
    if (control.kind === "switch") return field.checked && !control.value ? [`--${control.flag}`] : [];
    if (control.kind === "sentences") {
      const texts = linesOf(field);
      return texts.join("\n") === control.value.join("\n") ? [] : texts.flatMap((text) => [`--${control.flag}`, text]);
    }
    if (field.untouched || field.value === "" || field.value === String(control.value)) return [];
    return [`--${control.flag}`, field.value];
  }

  const rare = new Set(["rng", "draws", "weight-scale", "dtype", "samples", "d-a", "d-v"]);
  let fields = [];

  /// Also the second sentence of a lesson that reads one unless it is told otherwise.
  const isRare = (control) =>
    rare.has(control.flag) || (control.kind === "sentences" && control.value.length === 0 && typed(control.flag).length === 0);

  function fillForm() {
    const controls = allControls[current];
    form.hidden = controls === undefined || lab === null;
    if (form.hidden) return;
    const seen = element("div", { class: "fields" });
    const more = element("div", { class: "fields" });
    fields = controls.map((control) => {
      const [field, ...rest] = fieldFor(control);
      field.title = control.help;
      const label = element("label", { class: `of-${control.kind}` }, element("span", {}, control.flag), field, ...rest);
      (isRare(control) ? more : seen).append(label);
      field.addEventListener("input", readForm);
      return [control, field];
    });
    const reset = element("button", { type: "button", class: "reset" }, "As it was");
    reset.addEventListener("click", () => go(current, []));
    const details = element("details", {}, element("summary", {}, "More"), more);
    form.replaceChildren(seen, ...(more.children.length > 0 ? [details] : []),
      element("p", { class: "command" }, element("code", {}), reset, element("span", { class: "changes" })),
      element("p", { class: "trouble", role: "status" }));
    showCommand();
    followPage();
  }

  const linesOf = (field) => field.value.split("\n").filter((text) => text.trim() !== "");

  /// A source is given with its target, although only one of them has changed.
  function withPair() {
    const isTyped = ["source", "target"].map((flag) => words.includes(`--${flag}`));
    if (isTyped[0] === isTyped[1]) return;
    const other = isTyped[0] ? "target" : "source";
    for (const [control, field] of fields)
      if (control.flag === other) words.push(...linesOf(field).flatMap((text) => [`--${other}`, text]));
  }

  function readForm() {
    words = fields.flatMap(([control, field]) => wordsOfField(control, field));
    withPair();
    // A page that takes long follows when the reader pauses; the one before is completed no more.
    clearTimeout(completing);
    clearTimeout(waiting);
    waiting = setTimeout(update, lastRun > 60 ? Math.min(2 * lastRun, 600) : 0);
  }

  function say(text) {
    form.querySelector(".trouble").textContent = text;
  }

  // The page

  /// Which part of the page it is: "t-heads 0".
  function placeOf(details) {
    const home = details.closest("[id]");
    return `${home.id} ${[...home.querySelectorAll("details")].indexOf(details)}`;
  }

  const between = (text, start, end) => text.slice(text.indexOf(start) + start.length, text.lastIndexOf(end));

  function nodeOf(markup) {
    const template = element("template", {});
    template.innerHTML = markup;
    return template.content.firstElementChild;
  }

  /// Replaces those parts of main that have changed.
  function replaceParts(next) {
    const main = holder.querySelector("main");
    const isSame = next.length === parts.length && next.length === main.children.length;
    if (isSame) next.forEach((part, i) => (part === parts[i] ? undefined : main.children[i].replaceWith(nodeOf(part))));
    else main.innerHTML = `\n${next.join("")}`;
    parts = next;
  }

  /// Puts what the run has written in place of what stands here, with the command that it was; what was unfolded stays
  /// so.
  function replacePage() {
    const text = written();
    const body = text.slice(text.indexOf("<body"));
    const unfolded = new Set([...holder.querySelectorAll("details[open]")].map(placeOf));
    holder.querySelector("header").innerHTML = between(body, "<header>", "</header>");
    replaceParts(between(body, "<main>\n", "</main>").split(/^(?=<section |<div class="earlier">)/m));
    holder.querySelector("#workings").textContent = between(body, 'id="workings">', "<\/script>\n<script>");
    if (unfolded.size > 0)
      for (const details of holder.querySelectorAll("details")) details.open ||= unfolded.has(placeOf(details));
    markCommands();
    lessonPage.open();
    showCommand();
    followPage();
  }

  /// Runs the lesson as the controls say. Returns its exit status.
  function runLesson(...extra) {
    return call([current, "--format", "html", ...extra, ...words, ...(edited === null ? [] : ["--input", inputFile])]);
  }

  /// Whether a reader looks at something that a brief page lacks.
  const needsWholePage = () =>
    lessonPage.entryOf(document.activeElement) !== null || holder.querySelector("details[open]:not(.claims details)") !== null;

  /// Shows the page with what a brief one lacks.
  function complete() {
    if (runLesson() !== 2) replacePage();
  }

  /// Runs the lesson as the controls say, and shows its page: first what is in sight, the rest in the next pause.
  function update() {
    clearTimeout(completing);
    if (lab === null || allControls[current] === undefined) return;
    const began = performance.now();
    const brief = needsWholePage() ? [] : ["--brief"];
    let status = runLesson(...brief);
    let remark = "";
    if (status === 2 && edited !== null) {
      forgetChanges();
      remark = "The numbers that you changed are as they were: the new options ask for other inputs.";
      status = runLesson(...brief);
    }
    const done = () => {
      lastRun = performance.now() - began;
      document.body.dataset.milliseconds = lastRun.toFixed(1);
    };
    if (status === 2) {
      showCommand();
      say(said.join(" ").replace(/^attnlab: /, ""));
      return done();
    }
    const focus = lessonPage.entryOf(document.activeElement);
    if (focus !== null) focus.cell.blur();  // so that it takes the focus again, and shows how it came about
    replacePage();
    if (focus !== null) focusOn(focus.id, focus.offset);
    if (brief.length > 0) completing = setTimeout(complete, pause);
    say(remark);
    done();
  }

  function focusOn(id, offset) {
    const cells = [...holder.querySelectorAll("table[data-tensor] td")];
    const cell = cells.find((one) => {
      const entry = lessonPage.entryOf(one);
      return entry !== null && entry.id === id && entry.offset === offset;
    });
    if (cell !== undefined) cell.focus({ preventScroll: true });
  }

  /// Shows a lesson with these options, or the glossary.
  function go(name, options) {
    clearTimeout(completing);
    const isNew = name !== current;
    current = name;
    words = options;
    forgetChanges();
    lastRun = 0;
    const page = document.getElementById(`page-${name}`);
    parts = [];
    holder.replaceChildren(page.content.cloneNode(true));
    document.body.dataset.lesson = name;
    document.title = `${name} · Attention Lab`;
    if (allControls[name] !== undefined) lessonPage.open();
    markCommands();
    fillForm();
    fillTurn();
    for (const link of document.querySelectorAll("#contents a"))
      if (link.hash === `#/${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    if (options.length > 0) update();
    else requestAnimationFrame(() => setTimeout(warmUp, 0));
    if (isNew) document.querySelector("#contents details").open = false;
    if (isNew || options.length > 0) window.scrollTo(0, 0);
  }

  function fillTurn() {
    const place = lessons.indexOf(current);
    const link = (name, text) => (name === undefined ? "" : element("a", { href: `#/${name}` }, text));
    turn.replaceChildren(link(lessons[place - 1], `← ${lessons[place - 1]}`),
      place === -1 ? "" : link(lessons[place + 1], `${lessons[place + 1]} →`));
  }

  // One cell of an input

  function forgetChanges() {
    edited = null;
    changes = [];
  }

  /// The trace that the page shows, with all digits.
  function traceOfPage() {
    if (edited !== null) return edited;
    return call([current, "--format", "json", ...words]) === 2 ? null : JSON.parse(written());
  }

  function changeEntry(entry, number) {
    const trace = traceOfPage();
    if (trace === null) return;
    let list = trace.events.find(({ id }) => id === entry.id).data;
    const index = [];
    let rest = entry.offset;
    for (let axis = entry.shape.length - 1; axis >= 0; --axis) {
      index.unshift(rest % entry.shape[axis]);
      rest = Math.floor(rest / entry.shape[axis]);
    }
    for (const place of index.slice(0, -1)) list = list[place];
    list[index[index.length - 1]] = number;
    edited = trace;
    changes = [...changes.filter((change) => !change.startsWith(`${entry.name} = `)), `${entry.name} = ${number}`];
    lab.FS.writeFile(inputFile, JSON.stringify(trace));
    update();
    focusOn(entry.id, entry.offset);
  }

  function edit(entry) {
    const before = [...entry.cell.childNodes];
    const field = element("input", { type: "text", inputmode: "decimal", "aria-label": `${entry.name}, a new number` });
    field.value = entry.cell.textContent;
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;  // what is replaced loses the focus, which would close it again
      entry.cell.replaceChildren(...before);
      entry.cell.focus({ preventScroll: true });
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") close();
      if (event.key !== "Enter") return;
      const number = Number(field.value.trim() === "" ? NaN : field.value.replaceAll("−", "-"));
      if (!Number.isFinite(number)) return say(`${entry.name} = ${field.value} is no number; valid: digits, such as -0.5`);
      close();
      changeEntry(entry, number);
    });
    field.addEventListener("blur", close);
    entry.cell.replaceChildren(field);
    field.select();
  }

  /// A cell that a reader may change: one of an input of numbers.
  function editable(node) {
    const entry = lab === null ? null : lessonPage.entryOf(node);
    return entry !== null && entry.origin === "input" && entry.cell.querySelector("input") === null ? entry : null;
  }

  document.addEventListener("dblclick", (event) => {
    const entry = editable(event.target);
    if (entry !== null) edit(entry);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "F2") return;
    const entry = editable(event.target);
    if (entry === null) return;
    event.preventDefault();
    edit(entry);
  });

  // Commands on the page run here

  const runsHere = ([program, name]) => program === "attnlab" && allControls[name] !== undefined;

  function markCommands() {
    if (lab === null) return;
    for (const code of holder.querySelectorAll(".commands code")) code.classList.toggle("runs", runsHere(wordsOf(code.textContent)));
  }

  /// Writes below a command what came of it, in place of what stood there.
  function tellBelow(code, node) {
    const item = code.closest("li");
    for (const old of item.querySelectorAll(".told")) old.remove();
    node.classList.add("told");
    node.setAttribute("role", "status");
    item.append(node);
  }

  /// A page of text, such as entries worked out, has its place below the command.
  function tellAsText(code, args) {
    const isRefused = call([...args, "--format", "text"]) === 2;
    if (isRefused) return tellBelow(code, element("p", { class: "trouble" }, said.join(" ").replace(/^attnlab: /, "")));
    tellBelow(code, element("pre", { tabindex: "0", "aria-label": code.textContent }, written().trimEnd()));
  }

  holder.addEventListener("click", (event) => {
    const code = event.target instanceof Element ? event.target.closest(".commands code") : null;
    if (code === null || lab === null) return;
    const [program, name, ...options] = wordsOf(code.textContent);
    if (program !== "attnlab") return;
    if (!runsHere([program, name]))
      return tellBelow(code, element("p", {}, `attnlab ${name} needs threads or files, which a page lacks: it runs in a terminal.`));
    if (options.some((option) => /^--explain(=|$)/.test(option))) return tellAsText(code, [name, ...options]);
    history.pushState(null, "", `#/${name}`);
    go(name, options);
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  function followHash() {
    const name = decodeURIComponent(location.hash.replace(/^#\/?/, ""));
    if (name !== "" && name !== current && document.getElementById(`page-${name}`) !== null) go(name, []);
  }

  window.addEventListener("hashchange", followHash);
  fillTurn();
  document.addEventListener("DOMContentLoaded", async () => {
    await unpackPages();
    followHash();
    // The page is painted first.
    requestAnimationFrame(() => setTimeout(start, 0));
  });
})();
