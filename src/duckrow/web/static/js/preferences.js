/** Small choices of the person that this browser remembers; a browser that forbids it forgets them. */

/** @param {string} key @returns {string | null} */
export function kept(key) {
  try {
    return localStorage.getItem(`duckrow.${key}`);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string | null} value null: forget it */
export function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem(`duckrow.${key}`);
    else localStorage.setItem(`duckrow.${key}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
