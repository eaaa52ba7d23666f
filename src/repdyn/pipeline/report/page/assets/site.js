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

  // A target inside a closed <details> is opened first.
  function reveal() {
    const fragment = repdyn.fragment();
    const target = fragment && !fragment.includes("=") && document.getElementById(decodeURIComponent(fragment));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.matches("details")) part.open = true;
    target.scrollIntoView();
  }

  // The single file: a page is a template, opened by the part of the address after "#/".
  function route() {
    const path = repdyn.page();
    const template = document.querySelector(`template[data-page="${CSS.escape(path)}"]`)
      || document.querySelector('template[data-page="index.html"]');
    const place = document.getElementById("single");
    if (place.dataset.page !== template.dataset.page) {
      place.dataset.page = template.dataset.page;
      place.replaceChildren(template.content.cloneNode(true));
      place.querySelectorAll("img[data-picture]").forEach(image => { image.src = repdyn.pictures[image.dataset.picture]; });
      place.querySelectorAll("a:not([href]) > img").forEach(image => { image.parentElement.href = opened(image.src); });
      document.title = template.dataset.title;
      document.querySelectorAll(".menu[open]").forEach(menu => { menu.open = false; });
      repdyn.setup.forEach(set => set(place));
      scrollTo(0, 0);
    }
    reveal();
  }

  // The address of a picture inside this file, which a link may lead to.
  function opened(data) {
    const [type, text] = data.slice("data:".length).split(";base64,");
    return URL.createObjectURL(new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))], { type }));
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
    if (repdyn.single) {
      document.querySelector(".bar form").addEventListener("submit", submit);
      route();
    } else {
      repdyn.setup.forEach(set => set(document));
      reveal();
    }
  });
  addEventListener("hashchange", () => (repdyn.single ? route() : reveal()));
  addEventListener("beforeprint", () => document.querySelectorAll("details:not(.code, .menu)").forEach(part => { part.open = true; }));
})(window.repdyn);
