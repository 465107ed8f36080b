/** What the open page knows at the moment, for the parts that cannot be handed it. */

export const current = {
  /** @type {Api.Status | null} the last answer */
  status: null,
  /** Fetch what is shown again: something was just changed. */
  refresh: () => {},
};
