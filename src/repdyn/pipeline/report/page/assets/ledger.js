"use strict";
// The ledger: filters kept in the address, a search, columns that sort.
window.repdyn = window.repdyn || {};
(repdyn => {
  function ledger(root) {
    const table = root.querySelector("#ledger");
    if (!table) return;
    const at = id => root.querySelector("#" + id), body = table.tBodies[0];
    const rows = [...body.rows], texts = new Map(rows.map(row => [row, repdyn.normal(repdyn.texts[row.id] || row.textContent)]));
    const toggles = [...root.querySelectorAll(".toggles button")], heads = [...table.querySelectorAll("th[data-sort]")];
    const controls = { q: at("search"), study: at("study"), kind: at("kind"), origin: at("origin"), slip: at("slip") };
    const state = { verdict: new Set(), sort: "place", down: false };

    function read() {
      const words = new URLSearchParams(repdyn.fragment());
      for (const [name, control] of Object.entries(controls)) control.value = words.get(name) || "";
      state.verdict = new Set(words.getAll("verdict"));
      state.sort = heads.some(head => head.dataset.sort === words.get("sort")) ? words.get("sort") : "place";
      state.down = words.get("down") === "1";
      show();
    }

    function keep() {
      const words = new URLSearchParams();
      for (const [name, control] of Object.entries(controls)) if (control.value) words.set(name, control.value);
      state.verdict.forEach(verdict => words.append("verdict", verdict));
      if (state.sort !== "place" || state.down) words.set("sort", state.sort);
      if (state.down) words.set("down", "1");
      repdyn.keep(words.toString());
    }

    function show() {
      const terms = repdyn.terms(controls.q.value);
      let count = 0;
      rows.forEach(row => {
        const data = row.dataset;
        const fits = (!state.verdict.size || state.verdict.has(data.verdict)) && (!controls.study.value || data.study === controls.study.value)
          && (!controls.kind.value || data.kind === controls.kind.value) && (!controls.origin.value || data.origin === controls.origin.value)
          && (!controls.slip.value || data.slip === controls.slip.value)
          && terms.every(term => term.test(texts.get(row)));
        row.hidden = !fits;
        count += fits;
      });
      toggles.forEach(button => button.setAttribute("aria-pressed", String(state.verdict.has(button.dataset.verdict))));
      at("shown").textContent = count === rows.length ? `${count} claims` : `${count} of ${rows.length} claims`;
      at("none").hidden = count > 0;
      sort();
    }

    function sort() {
      const verdicts = toggles.map(button => button.dataset.verdict);
      const key = {
        place: row => rows.indexOf(row), statement: row => row.cells[1].textContent.toLowerCase(),
        verdict: row => verdicts.indexOf(row.dataset.verdict), margin: row => (row.dataset.margin === "" ? Infinity : Number(row.dataset.margin)),
      }[state.sort] || (row => rows.indexOf(row));
      const keys = new Map(rows.map(row => [row, key(row)])), sign = state.down ? -1 : 1;
      const order = [...rows].sort((one, other) => sign * (keys.get(one) < keys.get(other) ? -1 : keys.get(one) > keys.get(other) ? 1 : 0));
      body.append(...order);
      heads.forEach(head => head.setAttribute("aria-sort", head.dataset.sort === state.sort ? (state.down ? "descending" : "ascending") : "none"));
    }

    heads.forEach(head => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        state.down = state.sort === head.dataset.sort && !state.down;
        state.sort = head.dataset.sort;
        sort();
        keep();
      });
    });
    toggles.forEach(button => button.addEventListener("click", () => {
      const verdict = button.dataset.verdict;
      state.verdict.delete(verdict) || state.verdict.add(verdict);
      show();
      keep();
    }));
    Object.values(controls).forEach(control => control.addEventListener("input", () => { show(); keep(); }));
    const clear = () => { Object.values(controls).forEach(control => { control.value = ""; }); state.verdict.clear(); show(); keep(); };
    at("clear").addEventListener("click", () => { clear(); controls.q.focus(); });
    controls.q.addEventListener("keydown", event => { if (event.key === "Escape") { controls.q.value = ""; show(); keep(); } });
    if (!repdyn.single && location.search) {  // the search field of another page
      location.replace(location.pathname + "#" + location.search.slice(1));
    }
    addEventListener("hashchange", () => { if (table.isConnected && (!repdyn.single || repdyn.page() === "ledger.html")) read(); });
    read();
  }

  repdyn.setup = repdyn.setup || [];
  repdyn.setup.push(ledger);
})(window.repdyn);
