"use strict";
// What every page does. Pages register what they set up, so that the single file can do it again for each page it opens.
window.repdyn = window.repdyn || {};
(repdyn => {
  repdyn.setup = repdyn.setup || [];

  // The part of the address that belongs to the page: an anchor, or the ledger's filters.
  repdyn.fragment = () => {
    const hash = location.hash.slice(1);
    return repdyn.single ? hash.split("#").slice(1).join("#") : hash;
  };
  repdyn.keep = text => {
    const page = repdyn.single ? "#/" + repdyn.page() : "";
    history.replaceState(null, "", page + (text || !repdyn.single ? "#" + text : "") || "#");
  };
  repdyn.page = () => (location.hash.slice(1).split("#")[0].replace(/^\//, "").split("?")[0]) || "index.html";

  function addCopyButtons(root) {
    root.querySelectorAll("[data-copy]").forEach(block => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy " + block.dataset.copy;
      button.addEventListener("click", () => copy(block.querySelector("code").textContent, button));
      block.before(button);
    });
  }

  async function copy(text, button) {
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // no clipboard for this address, or not allowed
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  }

  function decoded(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  // A target inside a closed <details> is opened first.
  function reveal() {
    const fragment = repdyn.fragment();
    const target = fragment && !fragment.includes("=") && document.getElementById(decoded(fragment));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.matches("details")) part.open = true;
    target.scrollIntoView();
  }

  // The single file holds its pages and pictures compressed, in letters.
  function unpacked(letters) {
    const bytes = Uint8Array.from(atob(letters), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  // The address of a picture of the single file, once it is unpacked; a link may lead to it.
  const addresses = new Map();
  repdyn.picture = path => {
    if (!addresses.has(path)) {
      const type = path.endsWith(".svg") ? "image/svg+xml" : "image/png";
      const blob = unpacked(repdyn.pictures[path]).arrayBuffer().then(bytes => new Blob([bytes], { type }));
      addresses.set(path, blob.then(URL.createObjectURL));
    }
    return addresses.get(path);
  };

  async function showPicture(image) {
    image.src = await repdyn.picture(image.dataset.picture);
    if (image.parentElement.matches("a:not([href])")) image.parentElement.href = image.src;
  }

  let asked = 0, opened = [];

  // Fills the single file with one page; the promises of its pictures.
  async function open(template, place) {
    const own = asked += 1;
    place.dataset.page = template.dataset.page;
    place.replaceChildren();  // at once, so that what runs on the page before stops
    const text = await unpacked(template.content.textContent).text();
    if (own !== asked) return [];  // another page was asked for meanwhile
    place.innerHTML = text;
    document.title = template.dataset.title;
    document.querySelectorAll(".menu[open]").forEach(menu => { menu.open = false; });
    repdyn.setup.forEach(set => set(place));
    scrollTo(0, 0);
    return [...place.querySelectorAll("img[data-picture]")].map(showPicture);
  }

  // The single file: a page is a template, opened by the part of the address after "#/". Ends with its pictures.
  async function route() {
    const path = repdyn.page();
    const template = document.querySelector(`template[data-page="${CSS.escape(path)}"]`)
      || document.querySelector('template[data-page="index.html"]');
    const place = document.getElementById("single");
    if (place.dataset.page !== template.dataset.page) opened = open(template, place);
    const pictures = await opened;
    reveal();
    await Promise.all(pictures);
  }

  function submit(event) {
    event.preventDefault();
    location.hash = "/ledger.html#q=" + encodeURIComponent(event.target.elements.q.value);
  }

  repdyn.setup.push(addCopyButtons);
  document.documentElement.classList.add("js");
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      (document.getElementById("search") || document.getElementById("site-search")).focus();
    }
    if (event.key === "Escape") document.querySelectorAll(".menu[open]").forEach(menu => { menu.open = false; });
  });
  addEventListener("DOMContentLoaded", () => {
    if (repdyn.single && !window.DecompressionStream) {
      document.getElementById("single").textContent = "This file needs a browser of 2023 or later; the report folder next to it does not.";
    } else if (repdyn.single) {
      document.querySelector(".bar form").addEventListener("submit", submit);
      repdyn.shown = route();
    } else {
      repdyn.setup.forEach(set => set(document));
      reveal();
    }
  });
  addEventListener("hashchange", () => {
    if (!repdyn.single) reveal();
    else if (window.DecompressionStream) repdyn.shown = route();
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details:not(.code, .menu)").forEach(part => { part.open = true; }));
})(window.repdyn);
