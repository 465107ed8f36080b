/** Cuts a piece of a log at line boundaries, so that pieces can be joined; positions stay in bytes. */

/**
 * @typedef {{text: string, from: number, to: number, size: number}} Piece
 *
 * @param {Piece} piece starts a byte early, to see whether that byte ends a line
 * @param {number} wanted where it should start; negative: from the end
 * @returns {Piece}
 */
export function wholeLines(piece, wanted) {
  const begin = beginning(piece, wanted);
  const end = piece.to >= piece.size ? piece.text.length : ending(piece.text, begin);
  const [before, behind] = [byteLength(piece.text.slice(0, begin)), byteLength(piece.text.slice(end))];
  if (before === null || behind === null) return piece;
  return { ...piece, text: piece.text.slice(begin, end), from: piece.from + before, to: piece.to - behind };
}

/** @param {Piece} piece @param {number} wanted */
function beginning({ text, from }, wanted) {
  if (from === 0) return 0;
  const isFirst = text.indexOf("\n") + 1;
  if (isFirst) return isFirst;
  return wanted > from ? 1 : 0; // a line without an end: all but the early byte
}

/**
 * After the last complete line; in a line without an end, after the last state of a progress bar.
 * @param {string} text
 * @param {number} begin
 */
function ending(text, begin) {
  const last = text.lastIndexOf("\n") + 1 || text.lastIndexOf("\r") + 1;
  return last > begin ? last : text.length;
}

/**
 * Null if unknown: a replacement character stands for unknown bytes.
 * @param {string} text
 */
function byteLength(text) {
  return text.includes("\ufffd") ? null : new TextEncoder().encode(text).length;
}
