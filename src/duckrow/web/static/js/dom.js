/**
 * Builds elements. What jobs print and people type is hostile, so text goes in as text: nothing here, or anywhere
 * on the page, parses HTML, and no address leads out of this server.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; `on` has listeners, `data` data attributes, `text` the text
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  return furnished(document.createElement(tag), props, children);
}

/**
 * The same for drawings.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return furnished(document.createElementNS(SVG, tag), props, children);
}

function furnished(element, { on = {}, data = {}, text, ...attributes }, children) {
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  for (const [name, value] of Object.entries(data)) element.dataset[name] = value;
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...nodes(children));
  return element;
}

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (/^on|^style$|^srcdoc$/i.test(name)) throw new Error(`${name} is not set as an attribute`);
  if (/^(href|src|action|formaction)$/i.test(name) && !/^[/#]/.test(value))
    throw new Error(`not an address of ours: ${value}`);
  if (name === "value") element.value = value;
  else if (name === "checked") element.checked = Boolean(value);
  else element.setAttribute(name, value === true ? "" : value);
}

function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

/** @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/**
 * Fills an element only if what it shows has changed: focus and selection in it survive a refresh.
 * @param {HTMLElement} element
 * @param {any} shown what decides how it looks
 * @param {() => (Child | Child[])} make
 */
export function refill(element, shown, make) {
  const signature = JSON.stringify(shown);
  if (element.shown === signature) return;
  element.shown = signature;
  fill(element, make());
}

/** Sets a text only where it differs: a selection or a tooltip on it survives. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows or hides without moving what is beside it more than needed. */
export function show(element, wanted) {
  if (element.hidden === Boolean(wanted)) element.hidden = !wanted;
}

/** A button that only says something to the program. */
export function button(text, listener, props = {}) {
  return h("button", { type: "button", class: "button", on: { click: listener }, ...props }, text);
}
