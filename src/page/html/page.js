"use strict";
const lessonPage = (() => {
  let page;        // the tensors of the page and how their entries came about; null until a cell is pointed at
  let lesson;
  let panel, panelText, panelFrom;
  let places;      // of cells: their tensor and offset, and where they stand in their table
  let cellsOf;     // by tensor and offset
  let marked = [];

  const positions = (list, count) =>
    list === undefined ? [...Array(count).keys()] : list.split(",").map((text) => (text === "" ? -1 : Number(text)));

  function readTable(table) {
    const number = Number(table.dataset.tensor);
    const shape = page.tensors[number].shape;
    const columnCount = shape[shape.length - 1];
    const rows = [...table.tBodies[0].rows];
    const rowAt = positions(table.dataset.rows, rows.length);
    const columnAt = positions(table.dataset.columns, columnCount);
    const grid = [];
    rows.forEach((row, i) => {
      if (rowAt[i] === -1) return;
      const line = [];
      columnAt.forEach((column, j) => {
        if (column === -1) return;
        const cell = row.cells[j + 1];
        const offset = Number(table.dataset.first) + rowAt[i] * columnCount + column;
        places.set(cell, {
          number, offset, grid, row: grid.length, column: line.length,
          heads: [row.cells[0], table.tHead.rows[0].cells[j + 1]],
        });
        if (!cellsOf[number].has(offset)) cellsOf[number].set(offset, []);
        cellsOf[number].get(offset).push(cell);
        cell.tabIndex = -1;
        line.push(cell);
      });
      grid.push(line);
    });
    if (grid.length > 0) grid[0][0].tabIndex = 0;
  }

  function read() {
    if (page !== null) return;
    page = JSON.parse(document.getElementById("workings").textContent);
    places = new Map();
    if (page === null) return;
    cellsOf = page.tensors.map(() => new Map());
    for (const table of tables()) readTable(table);
  }

  const tables = () => document.querySelectorAll("table[data-tensor]");

  function indexAt(offset, shape) {
    const index = [];
    for (let axis = shape.length - 1; axis >= 0; --axis) {
      index.unshift(offset % shape[axis]);
      offset = Math.floor(offset / shape[axis]);
    }
    return index;
  }

  /// "weights[cat, the#2]"
  function nameOf(tensor, offset) {
    const index = indexAt(offset, tensor.shape);
    if (index.length === 0) return tensor.id;
    const names = index.map((place, axis) => {
      const lists = tensor.axes[axis] || [];
      if (lists.length === 0) return String(place);
      return page.names[lists.length > 1 ? lists[index[0]] : lists[0]][place] || String(place);
    });
    return `${tensor.id}[${names.join(", ")}]`;
  }

  /// A number with the digits of the page.
  function shown(value, isWhole) {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (isWhole) return String(value);
    const digits = Math.max(page.precision, 2);
    const magnitude = Math.abs(value);
    if (Number.isInteger(value) && magnitude < 1e5) return (value + 0).toFixed(0);
    if (magnitude >= 10 ** (1 - digits) && magnitude < 1e5) return value.toFixed(digits);
    const [mantissa, exponent] = value.toExponential(digits).split("e");
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }

  /// The entries that a cell came from, and the text that they stand in; undefined where the page has none.
  function workingOf(tensor, offset) {
    const step = tensor.steps.find(([, cells]) => cells === 0 || cells.includes(offset));
    if (step === undefined) return undefined;
    const [text, , strides, terms] = step;
    const index = indexAt(offset, tensor.shape);
    const entries = [];
    for (let i = 0; i < terms.length; i += 2) {
      const [number, ...along] = strides[terms[i]];
      const at = terms[i + 1] + along.reduce((sum, stride, axis) => sum + stride * index[axis], 0);
      entries.push({ number, offset: at, value: Number(page.tensors[number].values[at]) });
    }
    return { text: page.texts[text], entries };
  }

  function element(name, text) {
    const node = document.createElement(name);
    node.textContent = text;
    return node;
  }

  /// A number that holds all its digits and shows those of the page.
  function numberElement(value, isWhole) {
    const node = element("data", shown(value, isWhole));
    node.value = String(value);
    return node;
  }

  function expression(working) {
    const entries = [...working.entries];
    return working.text.split(/(\$|\{[^}]*\})/).filter((part) => part !== "").map((part) => {
      if (part[0] === "{") return numberElement(Number(part.slice(1, -1)), false);
      if (part !== "$") return document.createTextNode(part);
      const entry = entries.shift();
      const tensor = page.tensors[entry.number];
      const node = numberElement(entry.value, tensor.whole);
      node.title = nameOf(tensor, entry.offset);
      return node;
    });
  }

  function explanation(tensor, offset, cell) {
    const name = nameOf(tensor, offset);
    const value = cell.textContent;
    const start = [element("b", name), document.createTextNode(" = ")];
    if (tensor.origin === "input") return [...start, value, " (an input of this run)"];
    if (tensor.origin !== "worked") return [...start, value, " (no single entry of this step is worked out)"];
    const working = workingOf(tensor, offset);
    if (working === undefined)
      return [...start, value, ` (too long for this page: attnlab ${lesson} --explain '${name}')`];
    if (working.text === "$") {
      const [entry] = working.entries;
      return [...start, nameOf(page.tensors[entry.number], entry.offset), " = ", ...expression(working)];
    }
    const parts = expression(working);
    const isExact = parts.every((part) => /^[\d ()+·−-]*$/.test(part.textContent));
    return [...start, ...parts, tensor.whole || isExact ? ` = ${value}` : ` ≈ ${value}`];
  }

  const foldOf = (node) => node.closest("details:not([open])");
  const cellsAt = ({ number, offset }) => cellsOf[number].get(offset) || [];

  /// "from Q (4 numbers), K (4 numbers, folded)": links where the page shows them.
  function origins(working) {
    const counts = new Map();
    const inSight = new Set();  // tensors of which a cell is, or which have none
    const seen = new Set();
    for (const { number, offset } of working.entries) {
      if (seen.has(`${number} ${offset}`)) continue;
      seen.add(`${number} ${offset}`);
      counts.set(number, (counts.get(number) || 0) + 1);
      const cells = cellsAt({ number, offset });
      if (cells.length === 0 || cells.some((cell) => foldOf(cell) === null)) inSight.add(number);
    }
    const nodes = [];
    for (const [number, count] of counts) {
      const { id } = page.tensors[number];
      const isShown = document.getElementById(`t-${id}`) !== null;
      const source = element(isShown ? "a" : "span", id);
      if (isShown) source.href = `#t-${id}`;
      nodes.push(nodes.length === 0 ? "from " : ", ", source, ` (${count} ${count === 1 ? "number" : "numbers"}${inSight.has(number) ? "" : ", folded"})`);
    }
    return nodes;
  }

  function mark(node, name) {
    node.classList.add(name);
    marked.push([node, name]);
  }

  function hide() {
    for (const [node, name] of marked) node.classList.remove(name);
    marked = [];
    panel.hidden = true;
  }

  function show(cell) {
    const { number, offset, heads } = places.get(cell);
    const tensor = page.tensors[number];
    hide();
    mark(cell, "here");
    for (const head of heads) mark(head, "of-here");
    const working = workingOf(tensor, offset);
    const folds = new Set();  // that hide what the cell came from
    for (const entry of working === undefined ? [] : working.entries)
      for (const source of cellsAt(entry)) {
        mark(source, "source");
        for (let fold = foldOf(source); fold !== null; fold = foldOf(fold.parentElement)) folds.add(fold);
      }
    for (const fold of folds) mark(fold.querySelector("summary"), "source");
    panelText.replaceChildren(...explanation(tensor, offset, cell));
    panelFrom.replaceChildren(...(working === undefined ? [] : origins(working)));
    panelText.classList.toggle("long", working !== undefined && working.entries.length > 40);
    panel.hidden = false;
  }

  const cellAt = (node) => {
    const cell = node instanceof Element ? node.closest("table[data-tensor] td") : null;
    if (cell === null) return null;
    read();
    return places.has(cell) ? cell : null;
  };

  const focused = () => cellAt(document.activeElement);

  function move(event) {
    const cell = cellAt(event.target);
    if (event.key === "Escape") hide();
    if (cell === null || event.altKey || event.metaKey) return;
    const { grid, row, column } = places.get(cell);
    const last = grid[row].length - 1;
    const steps = {
      ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? grid.length - 1 : row, last], PageUp: [0, column], PageDown: [grid.length - 1, column],
    };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    const [i, j] = steps[event.key];
    const next = grid[i] && grid[i][j];
    if (next === undefined) return;
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /// What scrolls sideways can be reached with the keyboard; what does not is no stop on the way.
  const boxes = new ResizeObserver((resized) => {
    const scrolls = resized.map(({ target }) => target.scrollWidth > target.clientWidth);
    resized.forEach(({ target }, i) => (scrolls[i] ? target.setAttribute("tabindex", "0") : target.removeAttribute("tabindex")));
  });

  /// What a link leads to may be folded away.
  function unfoldTarget() {
    let node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (node === null) return;
    const target = node;
    for (; node !== null; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target.scrollIntoView();
  }

  /// Takes the page that the document holds now. The first cell of a table can be reached with the keyboard.
  function open() {
    page = null;
    lesson = document.body.dataset.lesson;
    panel = document.getElementById("worked");
    panelText = document.getElementById("worked-text");
    panelFrom = document.getElementById("worked-from");
    hide();
    for (const table of tables()) {
      table.setAttribute("role", "grid");
      table.closest(".sheet").removeAttribute("tabindex");
      const first = table.querySelector("td");
      if (first !== null) first.tabIndex = 0;
    }
    boxes.disconnect();
    for (const box of document.querySelectorAll("pre, .drawing, .plot, .formula, .definition, .sheet:has(.words)")) boxes.observe(box);
    document.querySelector(".hint").hidden = false;
  }

  /// Of a cell that holds a number: its tensor's id, shape and origin, and which entry it is.
  function entryOf(node) {
    const cell = cellAt(node);
    if (cell === null) return null;
    const { number, offset } = places.get(cell);
    const { id, shape, origin } = page.tensors[number];
    return { cell, id, shape, origin, offset, name: nameOf(page.tensors[number], offset) };
  }

  document.addEventListener("keydown", move);
  document.addEventListener("focusin", (event) => (cellAt(event.target) ? show(cellAt(event.target)) : undefined));
  document.addEventListener("focusout", (event) => (cellAt(event.relatedTarget) || panel.contains(event.relatedTarget) ? undefined : hide()));
  document.addEventListener("pointerover", (event) => {
    const cell = cellAt(event.target);
    if (cell !== null) show(cell);
    else if (panel.hidden === false && focused() === null && !panel.contains(event.target)) hide();
  });
  window.addEventListener("hashchange", unfoldTarget);
  open();
  if (location.hash !== "") unfoldTarget();
  return { open, entryOf };
})();
