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
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = before.get(key);
    before.delete(key);
    if (!child) {
      child = make(item);
      child.dataset.key = key;
    }
    update(child, item);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const child of before.values()) child.remove();
}
