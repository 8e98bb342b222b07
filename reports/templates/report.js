(() => {
"use strict";
const doc = document, root = doc.documentElement, body = doc.body;
function make(tag, attributes = {}, text = "") {
const e = doc.createElement(tag);
for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
e.textContent = text;
return e;
}
function draw(tag, attributes) {
const e = doc.createElementNS("http://www.w3.org/2000/svg", tag);
for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
return e;
}
const all = (selector, within = doc) => [...within.querySelectorAll(selector)];
const tip = body.appendChild(make("div", { id: "tip", "aria-hidden": "true", hidden: "" }));
const live = body.appendChild(make("div", { class: "vh", "aria-live": "polite" }));

/* Charts. The picture in the page stays; when a reader comes to it, Vega draws the same specification over it.
   Its parameters hidden, zoomed, x_domain, y_domain, x_ticks and y_ticks are set here: reports/draw/interactive.py. */
const packed = JSON.parse(doc.getElementById("pinsweep-charts").textContent), unpacked = {}, charts = new Map(), awake = [];
const MOST_AWAKE = 24, NEAR = 30, KEYS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };
function specs(id) { /* figure → its charts, from gzip in base64 */
return unpacked[id] ??= (async () => {
const bytes = Uint8Array.from(atob(packed[id]), c => c.charCodeAt(0));
return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
})();
}
const hidden = figure => all("[data-series] [aria-pressed=false]", figure).map(b => b.parentNode.dataset.series);
function inside(a, b, width, height) { /* the ends of the part of a line that lies in the plot; none where none does */
let from = 0, to = 1;
for (const [start, step, most] of [[a.x, b.x - a.x, width], [a.y, b.y - a.y, height]]) {
const ends = [-0.5 - start, most + 0.5 - start].map(way => step ? way / step : way * Infinity).sort((p, q) => p - q);
from = Math.max(from, ends[0]);
to = Math.min(to, ends[1]);
}
return from <= to ? [from, to].map(t => ({ x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y) })) : [];
}
const mean = values => values.reduce((a, b) => a + b) / values.length;

class Chart {
constructor(host) {
this.host = host;
this.still = host.querySelector("svg.ch");
this.figure = host.closest(".fig");
this.id = this.still.getAttribute("aria-labelledby").slice(0, -2);
this.at = -1;
host.setAttribute("tabindex", "0");
host.setAttribute("role", "application");
host.setAttribute("aria-roledescription", "chart; arrow keys go through its points, plus and minus zoom");
host.setAttribute("aria-labelledby", `${this.id}-d`);
host.addEventListener("pointerenter", event => { this.pointer = event; this.wake(); });
host.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") { this.pointer = null; hide(); } });
host.addEventListener("focus", () => this.wake());
}

wake() { return this.waking ??= this.start(); }

async start() {
const spec = structuredClone((await specs(this.figure.id))[this.id]);
const slot = this.slot = this.host.appendChild(make("div", { class: "vg", "aria-hidden": "true" }));
this.view = new vega.View(vega.parse(spec, null, { ast: true }), { expr: vega.expressionInterpreter, renderer: "svg", hover: false });
this.view.signal("hidden", hidden(this.figure)).initialize(slot).run();
this.svg = slot.querySelector("svg");
this.svg.setAttribute("class", "ch");
this.pad = spec.padding;
this.rows = spec.data.flatMap(d => d.values ?? []).filter(row => "tip" in row);
const given = name => spec.data.find(d => d.name === name)?.values ?? [];
this.line = series => given("points").filter(row => row.series === series);
this.named = structuredClone(given("names")).filter(name => this.line(name.series).length);
this.axes = ["x", "y"].filter(n => spec.signals.some(s => s.name === `${n}_domain`)).map(n => ({
name: n, all: this.view.signal(`${n}_domain`), ticks: this.view.signal(`${n}_ticks`),
fine: (spec.usermeta?.fine?.[n] ?? []).map(texts => Object.keys(texts).map(Number)),
}));
this.host.classList.add("on");
this.tell();
if (!this.listens) this.listen();
awake.push(this);
if (awake.length > MOST_AWAKE) awake.find(c => !c.zoomed && !c.host.matches(":hover,:focus-within") && !hidden(c.figure).length)?.sleep();
if (this.pointer) this.point(this.pointer);
}

sleep() {
awake.splice(awake.indexOf(this), 1);
this.view.finalize();
this.slot.remove();
this.host.classList.remove("on");
this.waking = this.view = undefined;
}

tell() { /* where the points that tell their values are now, in px of the picture; series by series */
const x = this.view.scale("x"), y = this.view.scale("y"), gone = this.view.signal("hidden"), by = new Map();
const within = (scale, v) => { const [a, b] = scale.range(); return v >= Math.min(a, b) - 0.5 && v <= Math.max(a, b) + 0.5; };
for (const row of this.rows) {
if (gone.includes(row.series) || (this.zoomed && "x_px" in row)) continue;
const px = "x_px" in row ? row.x_px : mean([row.x, row.x2].filter(v => v !== undefined).map(x)), py = row.y_px ?? y(row.y);
if (!("x_px" in row) && !within(x, px) || !within(y, py)) continue;
const series = row.series ?? "";
if (!by.has(series)) by.set(series, []);
by.get(series).push({ x: px + this.pad.left, y: py + this.pad.top, series, text: row.tip });
}
this.names = [...by.keys()];
this.points = [...by.values()].flat();
this.at = -1;
this.follow(x, y, gone);
}

follow(x, y, gone) { /* while zoomed a name stands where its line ends or leaves the part that is shown, and goes where none of it is there */
if (!this.named.length) return;
if (!this.zoomed) { this.view.data("names", structuredClone(this.named)).run(); return; } /* what the view is given it marks as its own */
const width = Math.max(...x.range()), height = Math.max(...y.range()), names = [];
for (const name of this.named.filter(name => !gone.includes(name.series))) {
const line = this.line(name.series).map(row => ({ segment: row.segment, x: x(row.x), y: y(row.y) }));
const seen = line.flatMap((p, i) => inside(line[i - 1]?.segment === p.segment ? line[i - 1] : p, p, width, height));
if (seen.length) names.push({ name, end: seen.reduce((a, b) => b.x > a.x ? b : a) });
}
let last = 5; /* below the button */
this.view.data("names", names.sort((a, b) => a.end.y - b.end.y).map(({ name, end }) => {
const place = last = Math.max(end.y, last + 15), right = width - end.x + this.pad.right > 8 * name.text.length + 12;
return { ...name, x: x.invert(end.x), y: y.invert(end.y), dx: right ? 8 : -8, dy: place - end.y + (right ? 4 : -8), align: right ? "left" : "right" };
})).run();
}

place(event) { /* the pointer, in px of the picture */
const r = this.svg.getBoundingClientRect(), k = this.svg.viewBox.baseVal.width / r.width;
return { x: (event.clientX - r.left) * k, y: (event.clientY - r.top) * k };
}

point(event) {
const at = this.place(event), far = p => Math.hypot(p.x - at.x, p.y - at.y);
let near = -1;
this.points.forEach((p, i) => { if (far(p) < Math.min(NEAR, near < 0 ? NEAR : far(this.points[near]))) near = i; });
if (near < 0) hide(); else this.show(near, false);
}

show(i, said) {
const p = this.points[this.at = i], also = this.points.filter(q => q.series !== p.series && Math.abs(q.x - p.x) < 1.5 && Math.abs(q.y - p.y) < 1.5);
hide();
this.svg.appendChild(draw("circle", { class: "hit", r: 6.5, cx: p.x, cy: p.y }));
for (const q of said ? [p] : [p, ...also]) {
const parts = q.text.split(" · ");
tip.append(make("b", {}, q.series || parts.shift()), make("span", {}, parts.join(" · ")));
}
tip.hidden = false;
const r = this.svg.getBoundingClientRect(), k = r.width / this.svg.viewBox.baseVal.width;
let x = r.left + scrollX + p.x * k + 12, y = r.top + scrollY + p.y * k - tip.offsetHeight - 10;
if (x + tip.offsetWidth > scrollX + root.clientWidth - 8) x -= tip.offsetWidth + 24;
if (y < scrollY + 4) y += tip.offsetHeight + 28;
tip.style.left = `${Math.max(4, x)}px`;
tip.style.top = `${y}px`;
if (said) live.textContent = (p.series ? `${p.series}, ` : "") + p.text;
}

/* zoom: wish is {x: [from, to], y: …} in px of the plot, or nothing for all */
zoom(wish) {
hide();
const wanted = this.axes.map(axis => this.part(axis, wish?.[axis.name]));
this.zoomed = this.axes.some((axis, i) => String(wanted[i]) !== String(axis.all));
this.axes.forEach((axis, i) => this.view.signal(`${axis.name}_domain`, wanted[i]).signal(`${axis.name}_ticks`, this.ticks(axis, wanted[i])));
this.view.signal("zoomed", this.zoomed).run();
this.tell();
this.reset.hidden = !this.zoomed;
live.textContent = this.zoomed ? `Zoomed to ${this.points.length} points; 0 shows all` : "All points";
}

part(axis, wish) { /* no more than all, no less than a fortieth, and never without two ticks to read it by */
if (!wish) return axis.all;
const scale = this.view.scale(axis.name), [low, high] = axis.all, known = [...new Set([...axis.ticks, ...axis.fine.flat()])];
const [bend, unbend] = scale.type === "log" ? [Math.log, Math.exp] : [v => v, v => v];
const ends = wish.map(px => bend(scale.invert(px))), half = Math.max(Math.abs(ends[1] - ends[0]), (bend(high) - bend(low)) / 40) / 2;
let from = Math.max(low, unbend(mean(ends) - half)), to = Math.min(high, unbend(mean(ends) + half));
if (axis.fine.length && known.filter(v => v >= from && v <= to).length < 2) {
from = Math.max(low, ...known.filter(v => v <= from));
to = Math.min(high, ...known.filter(v => v >= to && v > from));
}
return from < to ? [from, to] : axis.all;
}

ticks(axis, [from, to]) { /* the fewest that are enough */
if (String([from, to]) === String(axis.all)) return axis.ticks;
const inside = [axis.ticks, ...axis.fine].map(list => list.filter(v => v >= from && v <= to)), enough = inside.find(list => list.length > 2);
if (!enough && !axis.fine.length) return vega.ticks(from, to, 5);
const list = enough ?? inside.at(-1), step = Math.ceil(list.length / 8);
return list.filter((_, i) => i % step === 0);
}

range(name, at, factor) { /* the range of a scale, so many times as wide around a place in it */
return this.view.scale(name).range().map(end => at + (end - at) * factor);
}

around(x, y, factor) {
this.zoom({ x: this.range("x", x, factor), y: this.range("y", y, factor) });
}

listen() {
const host = this.host;
let from = null, box = null;
const inner = p => ({ x: p.x - this.pad.left, y: p.y - this.pad.top });
const drop = () => { from = null; box?.remove(); box = null; };
this.listens = true;
this.reset = host.appendChild(make("button", { type: "button", class: "reset", hidden: "" }, "Show all"));
this.reset.addEventListener("click", () => { this.zoom(); host.focus({ preventScroll: true }); });
host.addEventListener("pointermove", async event => {
this.pointer = event;
await this.wake();
if (!from) { this.point(event); return; }
const to = this.place(event), { x, y, width, height } = this.box(from, to);
hide();
box ??= this.svg.appendChild(draw("rect", { class: "box" }));
for (const [name, value] of Object.entries({ x, y, width, height })) box.setAttribute(name, value);
});
host.addEventListener("blur", hide);
host.addEventListener("pointerdown", event => {
if (!this.view || event.button || event.target === this.reset) return;
if (event.pointerType === "touch") { this.point(event); return; } /* a finger scrolls the page */
if (!this.axes.length) return;
from = this.place(event);
host.setPointerCapture(event.pointerId);
});
host.addEventListener("pointerup", event => {
if (!from) return;
const { x, y, width, height } = this.box(from, this.place(event)), at = inner({ x, y });
if (box && Math.max(width, height) > 8) this.zoom({ x: [at.x, at.x + width], y: [at.y, at.y + height] });
drop();
});
host.addEventListener("pointercancel", drop);
host.addEventListener("dblclick", () => { if (this.zoomed) this.zoom(); });
host.addEventListener("wheel", event => {
if (!event.ctrlKey || !this.view || !this.axes.length) return;
event.preventDefault();
const at = inner(this.place(event));
this.around(at.x, at.y, Math.exp(Math.max(-50, Math.min(50, event.deltaY)) / 100));
}, { passive: false });
host.addEventListener("keydown", event => {
if (event.target !== host || event.ctrlKey || event.metaKey || event.altKey || !this.view) return;
const step = KEYS[event.key], last = this.points.length - 1, p = this.points[this.at];
if (event.key === "Escape") { if (from) drop(); else if (!tip.hidden) hide(); else if (this.zoomed) this.zoom(); return; }
if (event.key === "0" && this.zoomed) this.zoom();
else if ("+=-".includes(event.key) && this.axes.length) {
const [x, y] = ["x", "y"].map((name, i) => mean(this.view.scale(name).range()) + this.pad[i ? "top" : "left"]), wider = event.key === "-";
const far = q => Math.hypot(q.x - x, q.y - y), near = wider ? { x, y } : this.points.reduce((a, b) => far(b) < far(a) ? b : a, this.points[0] ?? { x, y });
const at = inner(p ?? near); /* nothing may be drawn in the middle */
this.around(at.x, at.y, wider ? 2 : 0.5);
} else if (last < 0) return;
else if (event.key === "Home") this.show(0, true);
else if (event.key === "End") this.show(last, true);
else if (step && /Right|Left/.test(event.key)) this.show(Math.max(0, Math.min(last, this.at + step)), true);
else if (step) {
const now = p ? this.names.indexOf(p.series) + step + this.names.length : 0;
this.show(this.points.findIndex(q => q.series === this.names[now % this.names.length]), true);
} else return;
event.preventDefault();
});
}

box(a, b) { /* between two places, within the plot; all of an axis along which the pointer hardly moved, or that has no scale */
const out = {};
for (const [n, size, pad] of [["x", "width", this.pad.left], ["y", "height", this.pad.top]]) {
const ends = this.view.scale(n).range(), low = Math.min(...ends) + pad, high = Math.max(...ends) + pad;
const whole = Math.abs(a[n] - b[n]) < 12 || !this.axes.some(axis => axis.name === n);
const [from, to] = whole ? [low, high] : [a[n], b[n]].sort((p, q) => p - q).map(v => Math.max(low, Math.min(high, v)));
out[n] = from;
out[size] = to - from;
}
return out;
}
}

function hide() {
tip.hidden = true;
tip.textContent = "";
all(".hit").forEach(e => e.remove());
}
if (window.DecompressionStream) {
all(".panel svg.ch").filter(svg => packed[svg.closest(".fig").id]).forEach(svg => charts.set(svg.parentNode, new Chart(svg.parentNode)));
all(".key").filter(list => packed[list.closest(".fig")?.id]).forEach(list => { /* series, shown or hidden, in all panels of the figure */
const figure = list.closest(".fig");
list.hidden = false;
all("[data-series]", list).forEach(li => {
const button = make("button", { type: "button", "aria-pressed": "true", title: "Show or hide; a double click shows this one only" });
button.append(...li.childNodes);
li.append(button);
button.addEventListener("click", () => { press([button], button.getAttribute("aria-pressed") === "false"); });
button.addEventListener("dblclick", () => {
const others = all("button", list).filter(b => b !== button), alone = others.every(b => b.getAttribute("aria-pressed") === "false");
press([button], true);
press(others, alone);
});
});
function press(buttons, on) {
buttons.forEach(b => b.setAttribute("aria-pressed", String(on)));
apply(figure);
}
});
addEventListener("resize", () => all(".fig:has([data-series] [aria-pressed=false])").forEach(apply));
}
function apply(figure) {
all(".panel > div", figure).map(host => charts.get(host)).filter(c => c?.host.offsetParent).forEach(async c => {
await c.wake();
hide();
c.view.signal("hidden", hidden(figure)).run();
c.tell();
});
}

/* numbers as text */
const makers = {
TSV: rows => rows.map(r => r.join("\t")).join("\n") + "\n",
Markdown: (rows, numeric) => rows.map((r, i) => {
const rule = "\n|" + r.map((_, j) => numeric[j] ? "---:" : ":---").join("|") + "|";
return "| " + r.map(t => t.replace(/\|/g, "\\|")).join(" | ") + " |" + (i ? "" : rule);
}).join("\n") + "\n",
LaTeX: (rows, numeric) => {
const signs = { "µ": "\\textmu{}", "–": "--", "−": "$-$", "×": "$\\times$", "÷": "$\\div$", "≥": "$\\geq$", "½": "$\\frac12$", "→": "$\\to$", "↓": "$\\downarrow$", "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
const tex = t => t.replace(/[%&#_$\\{}~^µ–−×÷≥½→↓]/g, c => signs[c] || "\\" + c);
return "\\begin{tabular}{" + numeric.map(n => n ? "r" : "l").join("") + "}\n\\toprule\n" +
rows.map((r, i) => r.map(tex).join(" & ") + " \\\\" + (i ? "" : "\n\\midrule")).join("\n") + "\n\\bottomrule\n\\end{tabular}\n";
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
all("figure table").forEach(table => {
const bar = make("p", { class: "copy" }, "Copy as");
for (const [name, text] of Object.entries(makers)) {
const button = bar.appendChild(make("button", { type: "button" }, name));
button.addEventListener("click", () => {
const rows = all("tr", table).map(r => all("th,td", r).map(c => c.textContent.replace(/\u202f/g, "").replace(/\u00a0/g, " ")));
const numeric = all("thead th", table).map(c => c.classList.contains("n"));
button.textContent = live.textContent = copy(text(rows, numeric)) ? "Copied" : "Not allowed here";
button.focus();
setTimeout(() => { button.textContent = name; }, 1200);
});
}
table.closest(".tw").appendChild(bar);
});

/* A figure as one picture that can leave the page: its words, its legend and its panels as they are shown now, zoomed or with series hidden;
   light on white whatever the page's theme, with the page's font in it. */
const LIGHT = { ink: "#16191D", mute: "#5B6470", warn: "#A65B00", paper: "#FFFFFF" }, MARGIN = 16;
const FAMILY = "Inter,'Helvetica Neue',Arial,'Liberation Sans',sans-serif", FACE = doc.querySelector("style").textContent.match(/@font-face\{[^}]*\}/)?.[0] ?? "";
const AS_TEXT = { "#2B7BBF": "#1F6CAB", "#D4620F": "#B34F08", "#C4872F": "#8A5A12", "#7C8794": "#5B6470", "#5A9AD6": "#2F6FA8", "#E0883C": "#9C5A14" }; /* reports/draw/svg.py */
const pen = make("canvas").getContext("2d");
function wrapped(text, font, width) { /* its lines: a word that is wider than all stands alone */
pen.font = `${font} ${FAMILY}`;
const lines = [""];
for (const word of text.trim().split(/[ \n]+/)) {
const longer = `${lines.at(-1)} ${word}`.trim();
if (pen.measureText(longer).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
else lines.push(word);
}
return lines;
}
function picture(figure) { /* as the text of an SVG, with its size */
const panels = all(".panel", figure).map(panel => {
const host = all(":scope>div", panel).find(e => e.offsetParent), svg = host.querySelector(".on>.vg svg,.vg svg") ?? host.querySelector("svg.ch");
const { width, height } = svg.viewBox.baseVal, copy = svg.cloneNode(true);
all(".hit,.box,desc", copy).forEach(e => e.remove());
all("text", copy).forEach(e => e.setAttribute("fill", AS_TEXT[e.getAttribute("fill")] ?? e.getAttribute("fill") ?? LIGHT.ink));
return { title: panel.querySelector(".pt-h")?.textContent ?? "", top: panel.offsetTop, width, height, copy };
});
const abreast = panels.filter(p => p.top === panels[0].top).length, widest = Math.max(...panels.map(p => p.width));
const width = Math.max(abreast * widest + (abreast - 1) * 32, 360), parts = [];
let y = 0;
const say = (texts, size, weight, fill, leading, x = 0, at = y) => texts.forEach((text, i) => {
parts.push(draw("text", { x, y: at + i * leading + size, "font-size": size, "font-weight": weight, fill }));
parts.at(-1).textContent = text;
});
const block = (text, size, weight, fill, leading, after) => {
if (!text) return;
const lines = wrapped(text, `${weight} ${size}px`, Math.min(width, 820));
say(lines, size, weight, fill, leading);
y += lines.length * leading + after;
};
const head = figure.querySelector("h3").textContent;
block(head, 16.5, 620, LIGHT.ink, 22, 4);
all("figcaption>.sub", figure).forEach(p => block(p.textContent, 13, 400, p.classList.contains("un") ? LIGHT.warn : LIGHT.mute, 19, 3));
y += 6;
let x = 0;
const keys = all(".key li", figure).filter(li => li.offsetParent && !li.querySelector("[aria-pressed=false]") && li.querySelector("path"));
for (const li of keys) {
const need = 26 + wrapped(li.textContent, "400 13px", 1e6).reduce((sum, line) => sum + pen.measureText(line).width, 0) + 20;
if (x && x + need - 20 > width) { x = 0; y += 22; }
const line = li.querySelector("path").cloneNode();
line.setAttribute("transform", `translate(${x},${y + 5})`);
parts.push(line);
say([li.textContent.trim()], 13, 400, LIGHT.ink, 19, x + 26);
x += need;
}
y += keys.length ? 32 : 4;
for (let i = 0; i < panels.length; i += abreast) {
const row = panels.slice(i, i + abreast), above = row.some(p => p.title) ? 24 : 0;
row.forEach((p, j) => {
if (p.title) say([p.title], 13.5, 600, LIGHT.ink, 0, j * (widest + 32));
for (const [name, value] of Object.entries({ x: j * (widest + 32), y: y + above, width: p.width, height: p.height, overflow: "visible" })) p.copy.setAttribute(name, value);
parts.push(p.copy);
});
y += above + Math.max(...row.map(p => p.height)) + (i + abreast < panels.length ? 20 : 6);
}
all(":scope>.note", figure).forEach(p => block(p.textContent, 12.5, 400, LIGHT.mute, 18, 0));
const [w, h] = [width, y].map(v => Math.ceil(v + 2 * MARGIN));
const svg = draw("svg", { width: w, height: h, viewBox: `${-MARGIN} ${-MARGIN} ${w} ${h}`, "font-family": FAMILY, "font-size": 12 });
const told = { title: head, desc: all(".panel>div desc", figure).filter(d => d.closest("div").offsetParent).map(d => d.textContent).join(" "), metadata: traced(), style: `${FACE}text{font-variant-numeric:tabular-nums}` };
for (const [name, text] of Object.entries(told)) svg.appendChild(draw(name, {})).textContent = text;
svg.append(draw("rect", { x: -MARGIN, y: -MARGIN, width: w, height: h, fill: LIGHT.paper }), ...parts);
return { text: new XMLSerializer().serializeToString(svg).replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, ""), width: w, height: h };
}
const traced = () => [doc.title, ...all(".prov>div").filter(d => /^(Programs|Experiment|Measured|Taken in|Result files?)$/.test(d.firstChild.textContent)).map(d => `${d.firstChild.textContent}: ${d.lastChild.textContent}`)].join("\n");
async function dots({ text, width, height }) { /* a PNG of twice its size */
const image = new Image(), canvas = make("canvas");
image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
await image.decode();
const times = Math.min(2, 16000 / Math.max(width, height));
Object.assign(canvas, { width: width * times, height: height * times });
canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
return new Promise(done => canvas.toBlob(done, "image/png"));
}
function save(blob, name) {
const link = make("a", { href: URL.createObjectURL(blob), download: name });
link.click();
setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
all(".fig:has(svg.ch)").forEach(figure => {
const number = figure.querySelector(".fn").textContent, bar = make("p", { class: "copy" }, `${number} as`);
const file = `${doc.querySelector("h1").textContent} ${number}`.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const ways = { SVG: () => save(new Blob([picture(figure).text], { type: "image/svg+xml" }), `${file}.svg`), PNG: async () => save(await dots(picture(figure)), `${file}.png`) };
if (window.ClipboardItem && navigator.clipboard?.write) ways.Copy = () => navigator.clipboard.write([new ClipboardItem({ "image/png": dots(picture(figure)) })]);
for (const [name, way] of Object.entries(ways)) {
const title = name === "Copy" ? `Copy ${number} as a picture` : `Save ${number} as ${name}`, button = bar.appendChild(make("button", { type: "button", title: `${title}: light, on white`, "aria-label": title }, name));
button.addEventListener("click", async () => {
all("svg.ch", figure).forEach(fill);
const said = await Promise.resolve().then(way).then(() => name === "Copy" ? "Copied" : "Saved", () => "Not allowed here");
button.textContent = live.textContent = said;
setTimeout(() => { button.textContent = name; }, 1200);
});
}
figure.querySelector(".panels").after(bar);
});

/* a page of very many elements is without the rows of closed tables until they are opened, without the pictures of the width that is not shown,
   and, if it has many figures, without those that are far away; all of it is there when it is printed */
const MOST_ELEMENTS = 2500, kept = new Map(), HEADS = ["SUMMARY", "FIGCAPTION", "desc"];
function keep(e) {
const rest = doc.createDocumentFragment();
rest.append(...[...e.childNodes].filter(n => !HEADS.includes(n.nodeName)));
kept.set(e, rest);
if (e.matches("svg.ch") && e.checkVisibility()) standIn(e);
}
function standIn(svg) { /* a far picture is one element, which a picture of the whole page still shows */
const { width, height } = svg.viewBox.baseVal, beyond = 60, all = { width: width + 2 * beyond, height: height + 2 * beyond };
const whole = draw("svg", { ...all, viewBox: `${-beyond} ${-beyond} ${all.width} ${all.height}`, "font-family": FAMILY, "font-size": 12 });
whole.appendChild(draw("style", {})).textContent = `${FACE}text{font-variant-numeric:tabular-nums}${inks()}`;
whole.append(kept.get(svg).cloneNode(true));
svg.querySelector(".far")?.remove();
svg.append(draw("image", { ...all, class: "far", x: -beyond, y: -beyond, href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(whole))}` }));
}
function inks() { /* the colours of a picture, as they are now */
const rules = [...doc.styleSheets[0].cssRules], now = getComputedStyle(root);
const names = [...rules.find(r => r.selectorText === ":root").style].filter(name => name.startsWith("--"));
return `:root{${names.map(name => `${name}:${now.getPropertyValue(name)}`).join(";")}}${rules.filter(r => /^svg[ [:]/.test(r.selectorText)).map(r => r.cssText).join("")}`;
}
function fill(e) {
if (!kept.has(e)) return;
e.querySelector(":scope>.far")?.remove();
e.append(kept.get(e));
kept.delete(e);
}
if (doc.getElementsByTagName("*").length > MOST_ELEMENTS) {
all(".data:not([open]):not(:has(.fig))").forEach(d => {
keep(d);
d.addEventListener("toggle", () => { fill(d); stops(); });
});
const watch = (what, margin, then = () => {}) => {
if (enough) return;
const near = new IntersectionObserver(entries => {
for (const { target, isIntersecting } of entries) {
if (isIntersecting) { near.unobserve(target); fill(target); } else if (!kept.has(target)) keep(target);
}
stops();
then();
}, { rootMargin: margin });
all(what).forEach(e => near.observe(e));
addEventListener("beforeprint", () => { enough = true; near.disconnect(); });
};
let enough = false, again = false;
if (doc.getElementsByTagName("*").length - all(".fig svg.ch *").length > MOST_ELEMENTS) body.classList.add("many"); /* of few panels, but long */
if (body.classList.contains("many")) watch(".fig", "150% 0px");
else watch(".fig svg.ch", "999999px 0px", () => { /* those of the other width; if these are not enough, those that are far away */
if (!again && doc.getElementsByTagName("*").length > MOST_ELEMENTS) watch(".fig svg.ch", "150% 0px");
again = true;
});
}
const unfold = hash => { for (let e = doc.getElementById(decodeURIComponent(hash.slice(1))); e; e = e.parentElement) if (e.matches("details")) e.open = true; };
addEventListener("click", ({ target }) => unfold(target.closest?.('a[href^="#"]')?.hash ?? ""));
unfold(location.hash);
all(".toc a").forEach(a => a.addEventListener("click", () => { a.closest("details").open = false; }));

/* what scrolls is reached by the keyboard, and fades where it goes on; what does not is no stop on its way */
const fade = e => { const left = e.scrollWidth - e.clientWidth; e.classList.toggle("more", left - e.scrollLeft > 1); e.classList.toggle("scrolls", left > 1); };
const stops = () => all(".tw,pre").filter(e => e.offsetParent).forEach(e => {
if (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) e.setAttribute("tabindex", "0");
else e.removeAttribute("tabindex");
fade(e);
});
addEventListener("scroll", ({ target }) => { if (target.matches?.(".tw,pre")) fade(target); }, true);
stops();
addEventListener("resize", stops);
addEventListener("toggle", stops, true);

/* small tables are open on paper: where a style sheet cannot open them */
addEventListener("beforeprint", () => { all(".fig,.fig svg.ch").forEach(fill); all(".fig svg.ch").forEach(fill); all(".few:not([open])").forEach(e => { fill(e); e.open = true; e.dataset.printed = ""; }); });
addEventListener("afterprint", () => all("[data-printed]").forEach(e => { e.open = false; delete e.dataset.printed; }));

/* light or dark */
const theme = make("button", { type: "button", id: "theme" });
const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
root.dataset.theme = dark() ? "light" : "dark";
label();
all(".far").forEach(picture => standIn(picture.parentNode));
});
label();
doc.querySelector(".topbar").appendChild(theme);
})();
