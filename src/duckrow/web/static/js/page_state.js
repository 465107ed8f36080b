/** The current state of the page, for the parts that cannot get it as an argument. */

export const current = {
  /** @type {Api.Status | null} the last answer */
  status: null,
  /** Refresh: something was just changed. */
  refresh: () => {},
};
