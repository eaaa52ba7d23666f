"use strict";
// The search of every page: words as they are compared, and hits below the field while one types.
window.repdyn = window.repdyn || {};
(repdyn => {
  const GREEK = {
    α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ϵ: "epsilon", ζ: "zeta", η: "eta", θ: "theta", ι: "iota", κ: "kappa",
    λ: "lambda", μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ϕ: "phi", χ: "chi", ψ: "psi", ω: "omega",
  };
  const PLACES = "theorem|lemma|proposition|corollary|definition|figure|table|section|appendix|equation|remark|example";
  const NUMBER = "\\(?[\\d.]+[a-z]?\\)?";  // 3, 3.2, (4a)
  const LISTED = new RegExp(`\\b(${PLACES}) (${NUMBER}(?:(?:,? and |, | to )${NUMBER})+)`, "g");  // theorems 2, 3 and 4
  const SHORT = { thm: "theorem", lem: "lemma", prop: "proposition", cor: "corollary", def: "definition", fig: "figure",
    tab: "table", sec: "section", app: "appendix", eq: "equation", eqs: "equation" };

  // Words as they are compared: letters by name, degrees in words, places in full.
  repdyn.normal = text => text.toLowerCase()
    .replace(/[α-ωϵϕ]/g, letter => ` ${GREEK[letter] || letter} `)
    .replace(/\\(?:var)?([a-z]+)/g, " $1 ")
    .replace(/°|\^\s*\{?\s*circ\s*\}?|\bdegrees?\b|\bdeg\b/g, " degrees ")
    .replace(/\b([a-z]+)\.? ?(?=\(?\d)/g, (whole, word) => (SHORT[word] ? SHORT[word] + " " : whole))
    .replace(new RegExp(`\\b(${PLACES})s\\b`, "g"), "$1")
    .replace(LISTED, (all, place, rest) => rest.split(/,? and |, | to /).map(number => `${place} ${number}`).join(" "))
    .replace(/[−–—]/g, "-").replace(/[{}$"“”]/g, " ").replace(/\s+/g, " ").trim();

  // "theorem 3" is one term, and finds neither Theorem 31 nor Theorem 3.2; a number stands for itself.
  repdyn.terms = query => [...repdyn.normal(query).matchAll(new RegExp(`(?:${PLACES}) ${NUMBER}|\\d+(?:\\.\\d+)? degrees|\\S+`, "g"))]
    .map(match => match[0].replace(/[.,;]+$/, "")).filter(Boolean).map(pattern);

  function pattern(term) {
    const escaped = term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const start = /^[\w]/.test(term) ? "(?<![a-z0-9.])" : "", end = /\d$/.test(term) ? "(?![0-9]|\\.[0-9])" : "";
    return new RegExp((/^[a-z]+$/.test(term) ? "" : start) + escaped + end);
  }

  const MOST = { page: 3, claim: 5, figure: 3 };
  const form = document.querySelector(".bar form"), field = form.elements.q;
  const base = form.getAttribute("action").replace("ledger.html", "");  // the report's folder, "#/" in the single file
  const panel = form.appendChild(document.createElement("div"));
  const count = panel.appendChild(document.createElement("p")), list = panel.appendChild(document.createElement("ul"));
  panel.className = "hits";
  panel.id = "hits";
  panel.hidden = true;
  count.setAttribute("role", "status");
  field.setAttribute("aria-controls", "hits");
  field.autocomplete = "off";
  let compared = null;

  // What is searched comes with the first use of the field; the single file has it.
  function load() {
    if (repdyn.hits || document.querySelector(`script[src="${base}assets/search.js"]`)) return;
    const script = document.head.appendChild(document.createElement("script"));
    script.src = base + "assets/search.js";
    script.addEventListener("load", show);
  }

  // Those that have every word: first those that show the whole phrase, or have it, then by how many of the words they show.
  function found(kind, terms, phrase) {
    compared = compared || Object.entries(repdyn.hits).map(([key, hit]) => ({
      hit, words: repdyn.normal(repdyn.texts[key]), shown: repdyn.normal(hit.title + " " + hit.says.replace(/<[^>]*>/g, " ")),
    }));
    const score = one => terms.filter(term => term.test(one.shown)).length + (phrase.test(one.shown) ? 200 : phrase.test(one.words) ? 100 : 0);
    return compared.filter(one => one.hit.kind === kind && terms.every(term => term.test(one.words)))
      .map(one => ({ score: score(one), hit: one.hit })).sort((one, other) => other.score - one.score);
  }

  function item(hit) {
    const link = document.createElement("a"), place = document.createElement("span"), says = document.createElement("span");
    link.href = base + hit.page;
    place.className = "soft";
    place.innerHTML = hit.title;  // written by the report, which has escaped it
    says.innerHTML = hit.says;
    if (hit.picture) {
      const image = link.appendChild(document.createElement("img"));
      if (repdyn.single) repdyn.picture(hit.picture).then(address => { image.src = address; });
      else image.src = base + hit.picture;
      image.alt = "";
    }
    link.appendChild(document.createElement("span")).append(says, place);
    const entry = document.createElement("li");
    entry.append(link);
    return entry;
  }

  function show() {
    const terms = repdyn.terms(field.value);
    panel.hidden = !terms.length || !repdyn.hits;
    if (panel.hidden) return;
    const phrase = pattern(repdyn.normal(field.value)), kinds = Object.entries(MOST).map(([kind, most]) => [found(kind, terms, phrase), most]);
    const [pages, claims, figures] = kinds.map(([all]) => all.length);
    count.textContent = `${claims} claims, ${figures} figures, ${pages} pages; Enter lists the claims in the ledger`;
    const whole = one => Number(one.score >= 200), shown = kinds.flatMap(([all, most]) => all.slice(0, most));
    list.replaceChildren(...shown.sort((one, other) => whole(other) - whole(one)).map(one => item(one.hit)));
  }

  function close() {
    panel.hidden = true;
  }

  function move(event) {
    const links = [field, ...list.querySelectorAll("a")], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") { close(); field.focus(); }
    if (!step || panel.hidden) return;
    event.preventDefault();
    (links[links.indexOf(document.activeElement) + step] || field).focus();
  }

  field.addEventListener("focus", load);
  field.addEventListener("input", () => { load(); show(); });
  form.addEventListener("keydown", move);
  form.addEventListener("submit", close);
  form.addEventListener("focusout", event => { if (event.relatedTarget && !form.contains(event.relatedTarget)) close(); });
  document.addEventListener("click", event => { if (!form.contains(event.target) || event.target.closest(".hits a")) close(); });
})(window.repdyn);
