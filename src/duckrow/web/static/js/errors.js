/** Errors, in words. */

/** A failed request, by the server or the network: a sentence, and what to do about it. */
export class ApiError extends Error {
  /** @param {number} status 0: nobody answered @param {string} sentence @param {string | null} hint */
  constructor(status, sentence, hint = null) {
    super(sentence);
    this.status = status;
    this.hint = hint;
  }
}

/** @param {unknown} error anything may be thrown @returns {string} what happened, and what to do about it */
export function inWords(error) {
  if (error instanceof ApiError) return [error.message, error.hint].filter(Boolean).join(" ");
  return error instanceof Error ? error.message : String(error);
}

/** Logs a bug of the page itself to the console, but not the server's errors. @param {unknown} error */
export function noteMistake(error) {
  if (!(error instanceof ApiError)) console.error(error);
}
