/**
 * Builds elements. What jobs print and people type is untrusted, so text stays text: nothing on the page parses HTML,
 * and no URL leads away from this server.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node | string | number | null | undefined | false} Child
 * @typedef {Child | Child[]} Children
 * @typedef {{[E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => unknown}} Listeners
 * @typedef {{on?: Listeners, data?: Record<string, string>} & Record<string, unknown>} Props `on` has listeners, `data`
 *   data attributes; the others are attributes
 */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  furnish(element, props, children);
  return element;
}

/**
 * The same for SVG.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Children} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  furnish(element, props, children);
  return element;
}

/** @param {HTMLElement | SVGElement} element @param {Props} props @param {Children[]} children */
function furnish(element, { on = {}, data = {}, ...attributes }, children) {
  for (const [event, listener] of Object.entries(on))
    element.addEventListener(event, /** @type {EventListener} */ (listener));
  for (const [name, value] of Object.entries(data)) element.dataset[name] = value;
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...nodes(children));
}

/** @param {HTMLElement | SVGElement} element @param {string} name @param {unknown} value */
function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (/^on|^style$|^srcdoc$/i.test(name)) throw new Error(`${name} is not set as an attribute`);
  if (/^(href|src|action|formaction)$/i.test(name) && !/^[/#]/.test(String(value)))
    throw new Error(`not an address of ours: ${value}`);
  if (name === "value" && "value" in element) element.value = value;
  else if (name === "checked" && "checked" in element) element.checked = Boolean(value);
  else element.setAttribute(name, value === true ? "" : String(value));
}

/** @param {Children[]} children @returns {Node[]} */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** @param {Element} element @param {...Children} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Fills an element only if what it shows has changed: focus and selection in it survive a refresh.
 * @param {HTMLElement} element
 * @param {unknown} shown what determines its contents
 * @param {() => Children} make
 */
export function refill(element, shown, make) {
  const signature = JSON.stringify(shown);
  if (signatures.get(element) === signature) return;
  signatures.set(element, signature);
  fill(element, make());
}

/** @type {WeakMap<Element, string>} what each element filled by `refill` shows */
const signatures = new WeakMap();

/** @type {WeakMap<Element, Record<string, Element>>} */
const furnished = new WeakMap();

/**
 * The parts of an element: created when it is first shown, and then only updated.
 * @template {Record<string, Element>} P
 * @param {Element} element
 * @param {() => P} make
 * @returns {P}
 */
export function partsOf(element, make) {
  const known = furnished.get(element);
  if (known) return /** @type {P} */ (known);
  const parts = make();
  furnished.set(element, parts);
  element.append(...Object.values(parts));
  return parts;
}

/** An element of the page's shell. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * Sets a text only if it differs, so that a selection or a tooltip on it survives.
 * @param {Node} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows or hides without moving what is beside it more than needed.
 * @param {HTMLElement} element
 * @param {unknown} wanted
 */
export function show(element, wanted) {
  if (element.hidden === Boolean(wanted)) element.hidden = !wanted;
}

/**
 * A button that calls a function, and submits no form.
 * @param {string} text
 * @param {() => unknown} listener
 * @param {Props} props
 */
export function button(text, listener, props = {}) {
  return h("button", { type: "button", class: "button", on: { click: listener }, ...props }, text);
}
