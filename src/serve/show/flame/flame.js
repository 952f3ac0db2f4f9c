// A flame graph in SVG. DATA: {measure, root}; a node is
// {name, part, tokens, cached, time, cost, below: [node]}, each number without what lies below.
const UNITS = {
  tokens: (n) => `${n.toLocaleString("en")} tokens`,
  time: (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`),
  cost: (n) => n.toPrecision(3),
};
const HEIGHT = 22;
const SVG = "http://www.w3.org/2000/svg";
const flame = document.getElementById("flame");
const about = document.getElementById("about");
const search = document.getElementById("search");
let measure = DATA.measure;
let zoomed = DATA.root;
let focused = null;

(function link(node, above) {
  node.above = above;
  node.below.forEach((child) => link(child, node));
})(DATA.root, null);

function weigh(node) {
  node.total = node[measure] + node.below.reduce((sum, child) => sum + weigh(child), 0);
  return node.total;
}

function path(node) {
  return node.above ? [...path(node.above), node.name] : [];
}

function label(node) {
  const share = DATA.root.total ? ((100 * node.total) / DATA.root.total).toFixed(1) : "0";
  const cached = measure === "tokens" && node.cached ? `, ${node.cached.toLocaleString("en")} of them cached` : "";
  return `${path(node).join(" > ") || "all"}: ${UNITS[measure](node.total)}, ${share} %${cached}`;
}

function element(name, attributes, ...content) {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...content);
  return made;
}

function shown(text, width) {
  const room = Math.floor((width - 8) / 7);
  if (room < 2) return "";
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

function draw() {
  weigh(DATA.root);
  const width = flame.clientWidth || 1000;
  const wanted = search.value.trim().toLowerCase();
  const boxes = [];
  (function clear(node) {
    node.box = null;
    node.below.forEach(clear);
  })(DATA.root);
  const put = (node, left, right, level) => {
    const isFaint = wanted && !node.name.toLowerCase().includes(wanted);
    node.box = element(
      "g",
      { class: `${node.part}${isFaint ? " faint" : ""}`, role: "button", tabindex: "-1", "aria-label": label(node) },
      element("rect", { x: left, y: level * HEIGHT, width: right - left, height: HEIGHT, rx: 2 }),
      element("text", { x: left + 4, y: level * HEIGHT + 15 }, shown(node.name || "all", right - left)),
    );
    node.box.addEventListener("click", () => zoom(node));
    node.box.addEventListener("mouseenter", () => (about.textContent = label(node)));
    node.box.addEventListener("focus", () => {
      focused = node;
      about.textContent = label(node);
    });
    boxes.push(node.box);
  };
  let depth = 0;
  const place = (node, left, right, level) => {
    // What is narrower than half a pixel is not drawn.
    if (right - left < 0.5) return;
    depth = Math.max(depth, level + 1);
    put(node, left, right, level);
    let at = left;
    for (const child of node.below) {
      const end = at + (node.total ? ((right - left) * child.total) / node.total : 0);
      place(child, at, end, level + 1);
      at = end;
    }
  };
  const above = [];
  for (let node = zoomed.above; node; node = node.above) above.unshift(node);
  above.forEach((node, level) => put(node, 0, width, level));
  place(zoomed, 0, width, above.length);
  flame.replaceChildren(...boxes);
  flame.setAttribute("height", Math.max(depth, above.length + 1) * HEIGHT);
  const first = (focused && focused.box) || zoomed.box;
  if (first) first.setAttribute("tabindex", "0");
  document.getElementById("whole").disabled = zoomed === DATA.root;
  for (const button of document.querySelectorAll("[data-measure]")) {
    button.setAttribute("aria-pressed", String(button.dataset.measure === measure));
  }
}

function zoom(node) {
  zoomed = node;
  focused = node;
  draw();
  if (node.box) node.box.focus();
}

function goTo(node) {
  if (!node || !node.box) return;
  for (const box of flame.querySelectorAll('[tabindex="0"]')) box.setAttribute("tabindex", "-1");
  node.box.setAttribute("tabindex", "0");
  node.box.focus();
}

function beside(node, step) {
  const all = node.above ? node.above.below.filter((other) => other.box) : [node];
  return all[all.indexOf(node) + step];
}

flame.addEventListener("keydown", (event) => {
  if (!focused) return;
  const to = {
    ArrowUp: () => goTo(focused.above),
    ArrowDown: () => goTo(focused.below.find((child) => child.box)),
    ArrowLeft: () => goTo(beside(focused, -1)),
    ArrowRight: () => goTo(beside(focused, 1)),
    Enter: () => zoom(focused),
    " ": () => zoom(focused),
    Escape: () => zoom(DATA.root),
  }[event.key];
  if (!to) return;
  event.preventDefault();
  to();
});
for (const button of document.querySelectorAll("[data-measure]")) {
  button.addEventListener("click", () => {
    measure = button.dataset.measure;
    draw();
    about.textContent = label(zoomed);
  });
}
document.getElementById("whole").addEventListener("click", () => zoom(DATA.root));
search.addEventListener("input", draw);
window.addEventListener("resize", draw);
draw();
about.textContent = label(zoomed);
