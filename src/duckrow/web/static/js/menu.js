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
  menu.addEventListener("keydown", (event) => pressed(event, menu, entries));
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

/** The keys are the menu's while it is open: those of the view would act on other jobs. */
function pressed(event, menu, entries) {
  event.stopPropagation();
  if (event.key === "Escape" || event.key === "Tab") closeMenu();
  const entry = entries.find(({ key }) => key === event.key);
  if (entry) {
    closeMenu();
    entry.choose();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) moveFocus([...menu.children], step);
  if (entry || step) event.preventDefault();
}

function moveFocus(buttons, step) {
  buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.menu.contains(event.target)) {
    open.menu.remove();
    open = null;
  }
});
