/** A small menu under a button. */

import { h } from "./dom.js";

let open = null;

/**
 * @param {HTMLElement} anchor
 * @param {{title: string, key?: string, destroys?: boolean, choose: () => void}[]} entries
 */
export function showMenu(anchor, entries) {
  closeMenu();
  const menu = h(
    "div",
    { class: "menu", role: "menu" },
    entries.map((entry) =>
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          class: entry.destroys ? "is-danger" : "",
          on: { click: () => (closeMenu(), entry.choose()) },
        },
        h("span", {}, entry.title),
        entry.key ? h("kbd", {}, entry.key) : null,
      ),
    ),
  );
  document.body.append(menu);
  place(menu, anchor);
  menu.addEventListener("keydown", (event) => moved(event, menu));
  open = { menu, anchor };
  menu.firstElementChild?.focus();
}

/** @returns {boolean} whether one was open */
function closeMenu() {
  if (!open) return false;
  const { menu, anchor } = open;
  open = null;
  menu.remove();
  if (anchor.isConnected) anchor.focus();
  return true;
}

function place(menu, anchor) {
  const box = anchor.getBoundingClientRect();
  const below = box.bottom + menu.offsetHeight + 8 < innerHeight;
  menu.style.top = `${scrollY + (below ? box.bottom + 4 : box.top - menu.offsetHeight - 4)}px`;
  const left = Math.min(box.right, innerWidth - 8) - menu.offsetWidth;
  menu.style.left = `${scrollX + Math.max(8, left)}px`;
}

function moved(event, menu) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape" || event.key === "Tab") closeMenu();
  if (!step) return;
  event.preventDefault();
  const entries = [...menu.children];
  entries[(entries.indexOf(document.activeElement) + step + entries.length) % entries.length].focus();
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.menu.contains(event.target)) {
    open.menu.remove();
    open = null;
  }
});
