"use strict";
const root = document.documentElement, button = document.getElementById("theme");
const stored = { get() { try { return localStorage.getItem("spec_tests_theme"); } catch { return null; } },
                 set(value) { try { localStorage.setItem("spec_tests_theme", value); } catch { /* a page on a disk may have no storage */ } } };
const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const name = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
if (["dark", "light"].includes(stored.get())) root.dataset.theme = stored.get();
button.hidden = false;
button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; stored.set(root.dataset.theme); name(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
name();
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.matches("details")) { target.open = true; target.scrollIntoView(); }
};
addEventListener("hashchange", open);
open();
