/** A small menu under a button. */

import { h } from "./dom.js";

/** @typedef {{title: string, key?: string, destroys?: boolean, choose: () => unknown}} Entry */

/** @type {{menu: HTMLElement, anchor: HTMLElement} | null} */
let open = null;

/** @param {HTMLElement} anchor @param {Entry[]} entries */
export function showMenu(anchor, entries) {
  closeMenu();
  const buttons = entries.map((entry) =>
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
  );
  const menu = h("div", { class: "menu", role: "menu" }, buttons);
  document.body.append(menu);
  place(menu, anchor);
  menu.addEventListener("keydown", (event) => pressed(event, buttons, entries));
  open = { menu, anchor };
  buttons[0]?.focus();
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

/** @param {HTMLElement} menu @param {HTMLElement} anchor */
function place(menu, anchor) {
  const box = anchor.getBoundingClientRect();
  const below = box.bottom + menu.offsetHeight + 8 < innerHeight;
  menu.style.top = `${scrollY + (below ? box.bottom + 4 : box.top - menu.offsetHeight - 4)}px`;
  const left = Math.min(box.right, innerWidth - 8) - menu.offsetWidth;
  menu.style.left = `${scrollX + Math.max(8, left)}px`;
}

const STEPS = new Map([
  ["ArrowDown", 1],
  ["ArrowUp", -1],
]);

/**
 * An open menu takes all keys: those of the view would act on other jobs.
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} buttons
 * @param {Entry[]} entries
 */
function pressed(event, buttons, entries) {
  event.stopPropagation();
  if (event.key === "Escape" || event.key === "Tab") closeMenu();
  const entry = entries.find(({ key }) => key === event.key);
  if (entry) {
    closeMenu();
    entry.choose();
  }
  const step = STEPS.get(event.key);
  if (step) moveFocus(buttons, step);
  if (entry || step) event.preventDefault();
}

/** @param {HTMLElement[]} buttons @param {number} step */
function moveFocus(buttons, step) {
  const at = buttons.findIndex((button) => button === document.activeElement);
  buttons[(at + step + buttons.length) % buttons.length]?.focus();
}

document.addEventListener("pointerdown", (event) => {
  if (open && !(event.target instanceof Node && open.menu.contains(event.target))) {
    open.menu.remove();
    open = null;
  }
});
