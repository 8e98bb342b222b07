(function () {
"use strict";
var doc = document, root = doc.documentElement, body = doc.body;
function make(tag, attributes, text) {
var e = doc.createElement(tag);
Object.keys(attributes || {}).forEach(function (k) { e.setAttribute(k, attributes[k]); });
if (text !== undefined) e.textContent = text;
return e;
}
function all(selector, within) { return Array.prototype.slice.call((within || doc).querySelectorAll(selector)); }

/* points: exact values under the pointer, and by arrow keys with a live region */
var tip = make("div", { id: "tip", "aria-hidden": "true" }), live = make("div", { "class": "vh", "aria-live": "polite" }), mark = null;
tip.hidden = true;
body.appendChild(tip);
body.appendChild(live);
function hide() {
tip.hidden = true;
if (mark) { mark.remove(); mark = null; }
}
function show(svg, p, said) {
var box = svg.viewBox.baseVal, r = svg.getBoundingClientRect(), k = r.width / box.width, parts = p.text.split(" · "), x, y;
if (mark) mark.remove();
mark = doc.createElementNS("http://www.w3.org/2000/svg", "circle");
[["class", "hit"], ["r", 6.5], ["cx", p.x], ["cy", p.y]].forEach(function (a) { mark.setAttribute(a[0], a[1]); });
svg.appendChild(mark);
tip.textContent = "";
tip.appendChild(make("b", {}, p.series ? p.series : parts.shift()));
tip.appendChild(make("span", {}, parts.join(" · ")));
(p.also || []).forEach(function (q) { tip.appendChild(make("b", {}, q.series)); tip.appendChild(make("span", {}, q.text)); });
tip.hidden = false;
x = r.left + scrollX + p.x * k + 12;
y = r.top + scrollY + p.y * k - tip.offsetHeight - 10;
if (x + tip.offsetWidth > scrollX + root.clientWidth - 8) x -= tip.offsetWidth + 24;
if (y < scrollY + 4) y += tip.offsetHeight + 28;
tip.style.left = Math.max(4, x) + "px";
tip.style.top = y + "px";
if (said) live.textContent = (p.series ? p.series + ", " : "") + p.text;
}
var data = JSON.parse(doc.getElementById("pinsweep-points").textContent);
all("svg.ch").forEach(function (svg) {
var own = data[svg.getAttribute("aria-labelledby").slice(0, -2)];
if (!own) return;
var P = own.points.map(function (p) { return { x: p[0], y: p[1], series: own.series[p[2]], text: own.texts[p[3]] }; }), at = -1;
var figure = svg.closest(".fig");
svg.setAttribute("tabindex", "0");
svg.setAttribute("role", "application");
svg.setAttribute("aria-roledescription", "chart; arrow keys go through its points");
function go(i) { at = i; show(svg, P[i], true); }
svg.addEventListener("pointermove", function (e) {
var r = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / r.width, x = (e.clientX - r.left) * k, y = (e.clientY - r.top) * k;
var best = 900, near = -1, only = figure.dataset.focus;
P.forEach(function (p, i) {
var d = (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y);
if (d < best && (!only || p.series === only)) { best = d; near = i; }
});
if (near < 0) { hide(); return; }
at = near;
P[near].also = only ? [] : P.filter(function (q) { return q.series !== P[near].series && Math.abs(q.x - P[near].x) < 1.5 && Math.abs(q.y - P[near].y) < 1.5; });
show(svg, P[near], false);
});
svg.addEventListener("pointerleave", hide);
svg.addEventListener("blur", hide);
svg.addEventListener("keydown", function (e) {
var step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], turn = { ArrowDown: 1, ArrowUp: -1 }[e.key], names, i;
if (e.key === "Escape") { hide(); return; }
if (e.key === "Home") { e.preventDefault(); go(0); }
if (e.key === "End") { e.preventDefault(); go(P.length - 1); }
if (step) { e.preventDefault(); go(Math.max(0, Math.min(P.length - 1, at + step))); }
if (turn) {
names = own.series.filter(function (n) { return P.some(function (p) { return p.series === n; }); });
i = names.indexOf(P[Math.max(at, 0)].series);
i = at < 0 ? 0 : (i + turn + names.length) % names.length;
e.preventDefault();
go(P.findIndex(function (p) { return p.series === names[i]; }));
}
});
});

/* one series out of many: marks are told apart by their colour, which each series has to itself */
all(".key").forEach(function (list) {
var figure = list.closest(".fig"), items = all("li", list), colours = items.map(function (li) { return li.querySelector("path").getAttribute("stroke"); });
if (items.length < 2) return;
items.forEach(function (li, i) {
var name = li.textContent.trim(), button = make("button", { type: "button", "aria-pressed": "false" });
while (li.firstChild) button.appendChild(li.firstChild);
li.appendChild(button);
button.addEventListener("click", function () {
var on = figure.dataset.focus !== name;
all("button", list).forEach(function (b) { b.setAttribute("aria-pressed", String(on && b === button)); });
if (on) figure.dataset.focus = name; else delete figure.dataset.focus;
all("svg.ch [fill],svg.ch [stroke]", figure).forEach(function (e) {
var c = [e.getAttribute("stroke"), e.getAttribute("fill")].filter(function (v) { return colours.indexOf(v) >= 0; })[0];
e.classList.toggle("dim", Boolean(on && c && c !== colours[i]));
});
});
});
});

/* numbers as text */
var makers = {
"TSV": function (R) { return R.map(function (r) { return r.join("\t"); }).join("\n") + "\n"; },
"Markdown": function (R, N) {
return R.map(function (r, i) {
var rule = "\n|" + r.map(function (_, j) { return N[j] ? "---:" : ":---"; }).join("|") + "|";
return "| " + r.map(function (t) { return t.replace(/\|/g, "\\|"); }).join(" | ") + " |" + (i ? "" : rule);
}).join("\n") + "\n";
},
"LaTeX": function (R, N) {
var signs = { "µ": "\\textmu{}", "–": "--", "−": "$-$", "×": "$\\times$", "÷": "$\\div$", "≥": "$\\geq$", "½": "$\\frac12$", "→": "$\\to$", "↓": "$\\downarrow$", "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}" };
function tex(t) { return t.replace(/[%&#_$\\{}~^µ–−×÷≥½→↓]/g, function (c) { return signs[c] || "\\" + c; }); }
return "\\begin{tabular}{" + N.map(function (n) { return n ? "r" : "l"; }).join("") + "}\n\\toprule\n" +
R.map(function (r, i) { return r.map(tex).join(" & ") + " \\\\" + (i ? "" : "\n\\midrule"); }).join("\n") + "\n\\bottomrule\n\\end{tabular}\n";
}
};
function copy(text) {
var area = make("textarea", { "aria-hidden": "true", "class": "vh" });
area.value = text;
body.appendChild(area);
area.select();
var done = doc.execCommand("copy"); /* pages from file:// have no asynchronous clipboard in some browsers */
area.remove();
return done;
}
all("figure table").forEach(function (table) {
var bar = make("p", { "class": "copy" }, "Copy as");
Object.keys(makers).forEach(function (name) {
var button = make("button", { type: "button" }, name);
button.addEventListener("click", function () {
var rows = all("tr", table).map(function (r) { return all("th,td", r).map(function (c) { return c.textContent.replace(/\u2009/g, ""); }); });
var numeric = all("thead th", table).map(function (c) { return c.classList.contains("n"); });
button.textContent = live.textContent = copy(makers[name](rows, numeric)) ? "Copied" : "Not allowed here";
button.focus();
setTimeout(function () { button.textContent = name; }, 1200);
});
bar.appendChild(button);
});
table.closest(".tw").appendChild(bar);
});

/* light or dark */
var theme = make("button", { type: "button", id: "theme" });
function dark() { return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches; }
function label() { theme.textContent = dark() ? "Light" : "Dark"; }
theme.addEventListener("click", function () { root.dataset.theme = dark() ? "light" : "dark"; label(); });
label();
doc.querySelector(".topbar").appendChild(theme);
})();
