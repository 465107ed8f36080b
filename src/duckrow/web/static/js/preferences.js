/** The user's preferences, stored in this browser if it allows that. */

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
    // Private windows may refuse; then the choice lasts until the page is closed.
  }
}
