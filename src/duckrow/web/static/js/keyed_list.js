/** Keeps the children of an element in sync with a list, so that focus, hover and scroll survive a refresh. */

/**
 * @template T
 * @template {HTMLElement | SVGElement} E
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string | number} keyOf
 * @param {(item: T) => E} make builds the child of a new item
 * @param {(child: E, item: T) => void} update updates a child
 */
export function keyed(parent, items, keyOf, make, update) {
  const focused = document.activeElement;
  const children = /** @type {E[]} */ ([...parent.children]); // `make` created all of them
  const before = new Map(children.map((child) => [child.dataset.key, child]));
  const wanted = new Set(items.map((item) => String(keyOf(item))));
  for (const child of children) if (!wanted.has(child.dataset.key ?? "")) child.remove(); // first: others need not move
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = before.get(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    update(child, item);
    if (child === place) place = child.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  // A child that moves loses the focus.
  if (focused instanceof HTMLElement && focused !== document.activeElement && parent.contains(focused))
    focused.focus({ preventScroll: true });
}
