// The licences of all packages that are in a bundle, each text once: node licences.mjs META.json
import { readFileSync, readdirSync } from "node:fs";

const { inputs } = Object.values(JSON.parse(readFileSync(process.argv[2], "utf8")).outputs)[0];
const names = new Set(Object.entries(inputs)
  .filter(([path, { bytesInOutput }]) => bytesInOutput && path.includes("node_modules/"))
  .map(([path]) => path.split("node_modules/").at(-1).split("/")[0]));
const texts = new Map(); // text without its copyright lines → who
for (const name of [...names].sort()) {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(`${name} has no licence file`);
  const lines = readFileSync(`${folder}/${file}`, "utf8").trim().split(/\r?\n/);
  const rest = lines.findIndex((line) => !/^(copyright|all rights reserved|\s*$)/i.test(line));
  const who = lines.slice(0, rest).filter((line) => line.trim()).join(" ");
  const text = lines.slice(rest).join("\n");
  if (text.includes("*/")) throw new Error(`${name}: its licence would end a comment`);
  if (!texts.has(text)) texts.set(text, new Map());
  const packages = texts.get(text);
  packages.set(who, [...(packages.get(who) ?? []), `${name} ${version}`]);
}
process.stdout.write([...texts].map(([text, packages]) =>
  [...packages].map(([who, list]) => `${list.join(", ")}\n${who}`).join("\n") + `\n\n${text}`).join("\n\n---\n\n") + "\n");
