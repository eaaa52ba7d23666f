"use strict";
const page = document.documentElement, at = id => document.getElementById(id);
const rows = [...document.querySelectorAll("#claims > tbody > tr")], toggles = [...document.querySelectorAll(".toggles button")];
const search = at("search"), study = at("study"), kind = at("kind");
const texts = rows.map(row => row.textContent.toLowerCase());
const press = (button, on) => button.setAttribute("aria-pressed", String(on));
const pressed = button => button.getAttribute("aria-pressed") === "true";
function filter() {
  const verdicts = toggles.filter(pressed).map(button => button.dataset.verdict);
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  rows.forEach((row, place) => {
    const fits = (!verdicts.length || verdicts.includes(row.dataset.verdict)) && (!study.value || row.dataset.study === study.value)
      && (!kind.value || row.dataset.kind === kind.value) && words.every(word => texts[place].includes(word));
    row.hidden = !fits;
    count += fits;
  });
  at("shown").textContent = `${count} of ${rows.length} claims`;
  at("none").style.display = count ? "none" : "block";
}
function choose(verdict, of) {
  search.value = kind.value = "";
  study.value = of;
  toggles.forEach(button => press(button, button.dataset.verdict === verdict));
  filter();
}
function open() {
  let target = at(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("#claims > tbody > tr[hidden]")) choose("", "");
  if (target.matches("#claims > tbody > tr")) target.querySelector("details").open = true;
  for (let part = target; part; part = part.parentElement) if (part.matches("details")) part.open = true;
  target.scrollIntoView();
}
page.classList.add("js");
toggles.forEach(button => button.addEventListener("click", () => { press(button, !pressed(button)); filter(); }));
[search, study, kind].forEach(control => control.addEventListener("input", filter));
at("clear").addEventListener("click", () => { choose("", ""); search.focus(); });
document.querySelectorAll("a[data-verdict]").forEach(link => link.addEventListener("click", () => choose(link.dataset.verdict, link.dataset.study)));
addEventListener("keydown", event => {
  if (event.key === "/" && !event.target.closest("input, select, textarea")) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape" && event.target === search) { search.value = ""; filter(); }
});
addEventListener("hashchange", open);
filter();
open();
