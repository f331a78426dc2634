// The script of the pages: it inserts what the server renders, and adds keys. Every page works without it.
"use strict";
(() => {
  // Text of models is in these fragments. The server escapes it; no other text becomes HTML.
  const trusted = window.trustedTypes
    ? window.trustedTypes.createPolicy("rye", { createHTML: (html) => html })
    : { createHTML: (html) => html };

  const byID = (id) => document.getElementById(id);

  // parse returns the elements of a fragment.
  function parse(html) {
    const t = document.createElement("template");
    t.innerHTML = trusted.createHTML(html);
    return t.content;
  }

  // keepState has a new element look as the one that it replaces: what a person folded stays so.
  function keepState(from, to) {
    const folds = (e) => (e.matches("details") ? [e] : []).concat([...e.querySelectorAll("details")]);
    const before = folds(from);
    folds(to).forEach((d, i) => {
      if (before[i] && before[i].dataset.touched) {
        d.open = before[i].open;
        d.dataset.touched = "1";
      }
    });
    const texts = from.querySelectorAll("input:not([type=hidden]), textarea");
    to.querySelectorAll("input:not([type=hidden]), textarea").forEach((e, i) => {
      if (texts[i] && texts[i].value !== texts[i].defaultValue) e.value = texts[i].value;
    });
  }

  // inert makes the answers of a question that has just appeared unusable for a moment: a person may be
  // about to press something else.
  function inert(root) {
    root.querySelectorAll("form[data-inert] button").forEach((b) => {
      b.disabled = true;
      setTimeout(() => { b.disabled = false; }, 800);
    });
  }

  // show inserts a fragment: elements replace those with their ids, and new ones are added to a parent.
  function show(data) {
    const bottom = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;
    const active = document.activeElement;
    const focused = active && active.closest("[id]");
    const path = focused ? [...focused.querySelectorAll("*")].indexOf(active) : -1;
    for (const e of [...parse(data.html).children]) {
      const old = byID(e.id);
      if (old) {
        const known = new Set([...old.querySelectorAll("section.ask")].map((q) => q.id));
        keepState(old, e);
        old.replaceWith(e);
        e.querySelectorAll("section.ask").forEach((q) => { if (!known.has(q.id)) inert(q); });
      } else if (data.parent && byID(data.parent)) {
        byID(data.parent).append(e);
        inert(e);
      }
    }
    if (focused && !document.contains(active) && byID(focused.id)) {
      const again = path < 0 ? byID(focused.id) : byID(focused.id).querySelectorAll("*")[path];
      if (again) again.focus({ preventScroll: true });
    }
    const status = byID("status");
    if (status) {
      const asks = Number(status.dataset.asks);
      document.title = (asks ? "(" + asks + ") " : "") + document.title.replace(/^\(\d+\) /, "");
    }
    if (bottom && data.parent) window.scrollTo({ top: document.documentElement.scrollHeight });
  }

  const live = document.body.dataset.live;
  if (live) {
    const source = new EventSource(live);
    source.addEventListener("html", (e) => show(JSON.parse(e.data)));
    source.addEventListener("leave", () => { source.close(); location.reload(); });
    source.onopen = () => { byID("lost").hidden = true; };
    source.onerror = () => { byID("lost").hidden = false; };
  }
  inert(document);

  // A code of rye gateway open is in the part of the address that browsers do not send.
  const login = byID("login");
  function useCode() {
    if (!login || !location.hash.startsWith("#c=")) return;
    byID("secret").value = location.hash.slice(3);
    history.replaceState(null, "", location.pathname);
    login.submit();
  }
  useCode();
  addEventListener("hashchange", useCode);

  document.addEventListener("click", (e) => {
    const summary = e.target.closest && e.target.closest("summary");
    if (summary) summary.parentElement.dataset.touched = "1";
  });

  // The keys. None of them answers a question.
  let at = null;
  const stops = () => [...document.querySelectorAll("[data-nav]")].filter((e) => e.offsetParent !== null);
  function focusOn(e) {
    const f = e.matches("summary, section") ? e : e.querySelector("a, summary, button") || e;
    if (f === e && !e.matches("summary, a, button")) e.tabIndex = -1;
    f.focus();
    e.scrollIntoView({ block: "nearest" });
  }
  function move(by) {
    const list = stops();
    if (!list.length) return;
    const here = list.findIndex((e) => e === at || e.contains(document.activeElement));
    at = list[here < 0 ? (by > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, here + by))];
    focusOn(at);
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, dialog")) return;
    switch (e.key) {
      case "j": move(1); break;
      case "k": move(-1); break;
      case "o": {
        const d = document.activeElement && document.activeElement.closest("details");
        if (d) { d.open = !d.open; d.dataset.touched = "1"; }
        break;
      }
      case "a": {
        const q = document.querySelector("section.ask");
        if (q) q.focus(); else location.assign("/approvals");
        break;
      }
      case "/": {
        const f = document.querySelector("[data-filter]");
        if (!f) return;
        f.focus();
        break;
      }
      case "?": byID("help").showModal(); break;
      default: return;
    }
    e.preventDefault();
  });
})();
