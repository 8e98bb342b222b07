(() => {
"use strict";
const doc = document, root = doc.documentElement, body = doc.body;
const all = (selector, within = doc) => [...within.querySelectorAll(selector)];
function make(tag, attributes = {}, text = "") {
const e = doc.createElement(tag);
for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
e.textContent = text;
return e;
}
const tip = body.appendChild(make("div", { id: "tip", "aria-hidden": "true", hidden: "" }));
const live = body.appendChild(make("div", { class: "vh", "aria-live": "polite" }));

/* the value of the nearest point, under the pointer or by arrow keys: each point has it as its title */
const NEAR = 30, KEYS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const hide = () => { tip.hidden = true; };
function show(point, aloud) {
const r = point.getBoundingClientRect(), text = point.firstElementChild?.textContent ?? point.dataset.tip;
tip.textContent = text;
if (aloud) live.textContent = text;
tip.hidden = false;
let x = r.right + scrollX + 8, y = r.top + scrollY - tip.offsetHeight - 8;
if (x + tip.offsetWidth > scrollX + root.clientWidth - 8) x = Math.max(4, r.left + scrollX - tip.offsetWidth - 8);
tip.style.left = `${x}px`;
tip.style.top = `${Math.max(scrollY + 4, y)}px`;
}
all(".panel:has(svg.ch title)").forEach(panel => {
const points = all("svg.ch :has(>title)", panel);
points.forEach(p => { p.dataset.tip = p.firstElementChild.textContent; p.firstElementChild.remove(); }); /* else the browser has a tip of its own, too */
let at = -1;
panel.setAttribute("tabindex", "0");
panel.setAttribute("role", "application");
panel.setAttribute("aria-roledescription", "chart; arrow keys go through its points");
panel.setAttribute("aria-labelledby", panel.querySelector("svg.ch").getAttribute("aria-labelledby"));
panel.addEventListener("pointermove", event => {
let near = NEAR;
hide();
for (const p of points) {
const r = p.getBoundingClientRect(), dx = Math.max(r.left - event.clientX, 0, event.clientX - r.right), dy = Math.max(r.top - event.clientY, 0, event.clientY - r.bottom);
if (Math.hypot(dx, dy) < near) { near = Math.hypot(dx, dy); show(p, false); }
}
});
panel.addEventListener("pointerleave", hide);
panel.addEventListener("blur", hide);
panel.addEventListener("keydown", event => {
if (event.key === "Escape") hide();
if (!(event.key in KEYS)) return;
event.preventDefault();
show(points[at = (at + KEYS[event.key] + points.length) % points.length], true);
});
});

/* Vega draws a figure again when a reader wants to zoom it: reports/render/svg.py, runtime */
const charts = doc.getElementById("charts");
let specs;
async function inflate(id) {
const bytes = Uint8Array.from(atob(doc.getElementById(id).textContent), c => c.charCodeAt(0));
return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
async function unpack() {
const script = doc.createElement("script");
script.textContent = await inflate("vega");
doc.head.append(script);
return JSON.parse(await inflate("charts"));
}
async function zoom(figure) {
const panel = figure.querySelector(".panel"), still = panel.querySelector("svg.ch");
if (figure.view) { figure.view.finalize(); figure.view = null; panel.querySelector(".vg").remove(); still.style.display = ""; return; }
const spec = (await (specs ??= unpack()))[figure.id];
const slot = make("div", { class: "vg" });
still.style.display = "none";
panel.append(slot);
const colors = spec.scales.find(scale => scale.name === "color");
if (colors?.domain.length > 1) colors.domain.forEach((name, i) => { /* this Vega draws no legend */
const svg = doc.createElementNS("http://www.w3.org/2000/svg", "svg"), path = doc.createElementNS("http://www.w3.org/2000/svg", "path");
for (const [key, value] of Object.entries({ width: 18, height: 8, "aria-hidden": "true" })) svg.setAttribute(key, value);
for (const [key, value] of Object.entries({ d: "M1 4H17", "stroke-width": 3, stroke: colors.range[i] })) path.setAttribute(key, value);
svg.append(path);
slot.append(svg, make("span", {}, ` ${name} `));
});
figure.view = new vega.View(vega.parse(spec, null, { ast: true }), { expr: vega.expressionInterpreter, renderer: "svg", hover: true });
figure.view.tooltip((_, event, item, text) => {
tip.hidden = !text;
tip.textContent = text ?? "";
tip.style.left = `${event.pageX + 12}px`;
tip.style.top = `${event.pageY + 12}px`;
});
await figure.view.initialize(slot.appendChild(make("div"))).runAsync();
}

/* tables as text */
const makers = {
TSV: rows => rows.map(r => r.join("\t")).join("\n") + "\n",
Markdown: (rows, numeric) => rows.map((r, i) => "| " + r.map(t => t.replace(/\|/g, "\\|")).join(" | ") + " |" + (i ? "" : "\n|" + r.map((_, j) => numeric[j] ? "---:" : ":---").join("|") + "|")).join("\n") + "\n",
LaTeX: (rows, numeric) => {
const signs = { "µ": "\\textmu{}", "–": "--", "−": "$-$", "×": "$\\times$", "÷": "$\\div$", "≥": "$\\geq$", "½": "$\\frac12$", "→": "$\\to$", "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
const tex = t => t.replace(/[%&#_$\\{}~^µ–−×÷≥½→]/g, c => signs[c] || "\\" + c);
return "\\begin{tabular}{" + numeric.map(n => n ? "r" : "l").join("") + "}\n\\toprule\n" + rows.map((r, i) => r.map(tex).join(" & ") + " \\\\" + (i ? "" : "\n\\midrule")).join("\n") + "\n\\bottomrule\n\\end{tabular}\n";
},
};
function copy(text) {
const area = body.appendChild(make("textarea", { "aria-hidden": "true", class: "vh" }));
area.value = text;
area.select();
const done = doc.execCommand("copy"); /* pages from file:// have no asynchronous clipboard in some browsers */
area.remove();
return done;
}
function offer(after, label, ways) {
const bar = make("p", { class: "copy" }, label);
for (const [name, way] of Object.entries(ways)) {
const button = bar.appendChild(make("button", { type: "button", "aria-label": `${label} ${name}` }, name));
button.addEventListener("click", async () => {
button.textContent = live.textContent = await Promise.resolve().then(way).then(done => done === false ? "Not allowed here" : "Done", () => "Not allowed here");
setTimeout(() => { button.textContent = name; }, 1200);
});
}
after.after(bar);
}
all("figure table").forEach(table => {
const text = way => () => {
const rows = all("tr", table).map(r => all("th,td", r).map(c => c.textContent.replace(/\u202f/g, "").replace(/\u00a0/g, " ")));
return copy(way(rows, all("thead th", table).map(c => c.classList.contains("n"))));
};
offer(table.closest(".tw"), "Copy as", Object.fromEntries(Object.entries(makers).map(([name, way]) => [name, text(way)])));
});

/* a figure as a picture of its own: light, on white, with its title */
const FACE = doc.querySelector("style").textContent.match(/@font-face\{[^}]*\}/)?.[0] ?? "";
function picture(figure) {
const still = figure.querySelector("svg.ch"), svg = still.cloneNode(true), box = still.viewBox.baseVal;
const make = (tag, attributes, text) => {
const e = doc.createElementNS("http://www.w3.org/2000/svg", tag);
for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
e.textContent = text;
return e;
};
const width = Math.max(box.width, 480) + 32, height = box.height + 64;
const whole = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": svg.getAttribute("font-family"), "font-size": 12 }, "");
const title = figure.querySelector("h3").textContent;
svg.setAttribute("x", 16); svg.setAttribute("y", 48);
whole.append(make("title", {}, title), make("metadata", {}, doc.title), make("style", {}, FACE), make("rect", { width, height, fill: "#FFFFFF" }, ""), make("text", { x: 16, y: 28, "font-size": 16, "font-weight": 620, fill: "#16191D" }, title), svg);
return { text: new XMLSerializer().serializeToString(whole), width, height };
}
async function dots({ text, width, height }) {
const image = new Image(), canvas = make("canvas");
image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
await image.decode();
Object.assign(canvas, { width: width * 2, height: height * 2 });
canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
return new Promise(done => canvas.toBlob(done, "image/png"));
}
function save(blob, name) {
const link = make("a", { href: URL.createObjectURL(blob), download: name });
link.click();
setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
all(".fig:has(svg.ch)").forEach(figure => offer(figure.querySelector(".panels"), `Save ${figure.querySelector(".fn")?.textContent ?? ""} as`, {
SVG: () => save(new Blob([picture(figure).text], { type: "image/svg+xml" }), `${figure.id}.svg`),
PNG: async () => save(await dots(picture(figure)), `${figure.id}.png`),
}));
if (charts && window.DecompressionStream) charts.dataset.ids.split(" ").forEach(id => {
const figure = doc.getElementById(id), button = make("button", { type: "button", "aria-pressed": "false", title: "The wheel zooms, dragging moves, a double click resets" }, "Zoom");
button.addEventListener("click", () => { zoom(figure); button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false")); });
figure.querySelector(".copy").append(button);
});

/* a link to what is folded opens it */
const unfold = hash => { for (let e = doc.getElementById(decodeURIComponent(hash.slice(1))); e; e = e.parentElement) if (e.matches("details")) e.open = true; };
addEventListener("click", ({ target }) => unfold(target.closest?.('a[href^="#"]')?.hash ?? ""));
unfold(location.hash);
addEventListener("beforeprint", () => all(".few:not([open])").forEach(e => { e.open = true; e.dataset.printed = ""; }));
addEventListener("afterprint", () => all("[data-printed]").forEach(e => { e.open = false; delete e.dataset.printed; }));

/* light or dark */
const theme = make("button", { type: "button", id: "theme" });
const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; label(); });
label();
doc.querySelector(".topbar").appendChild(theme);
})();
