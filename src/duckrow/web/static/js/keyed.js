/** Keeps the children of an element in step with a list, so that focus, hover and scroll survive a refresh. */

/**
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string | number} keyOf
 * @param {(item: T) => Element} make builds the child of a new item
 * @param {(child: Element, item: T) => void} update brings a child up to date
 */
export function keyed(parent, items, keyOf, make, update) {
  const focused = document.activeElement;
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = new Set(items.map((item) => String(keyOf(item))));
  for (const [key, child] of before) if (!wanted.has(key)) child.remove(); // first, so that the others need not move
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = before.get(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  // A child that moves loses the focus on the way.
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}
