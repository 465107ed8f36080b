/** The colours of jobs: a job has the same one everywhere, and no two on a device have the same. */

const COLOURS = 8;

/** If its neighbours are unknown. @param {number} id */
export function colourOf(id) {
  return `share-${id % COLOURS}`;
}

/**
 * @param {{jobs: {id: number}[]}[]} devices
 * @returns {(id: number) => string} if there are enough colours
 */
export function coloursOn(devices) {
  /** @type {Map<number, Set<number>>} */
  const neighbours = new Map();
  for (const { jobs } of devices)
    for (const { id } of jobs) {
      const beside = neighbours.get(id) ?? new Set();
      for (const other of jobs) beside.add(other.id);
      neighbours.set(id, beside);
    }
  /** @type {Map<number, string>} */
  const chosen = new Map();
  for (const [id, beside] of [...neighbours].sort(([one], [other]) => one - other)) {
    const taken = new Set([...beside].map((other) => chosen.get(other)));
    const wanted = Array.from({ length: COLOURS }, (_, step) => colourOf(id + step));
    chosen.set(id, wanted.find((colour) => !taken.has(colour)) ?? colourOf(id));
  }
  return (id) => chosen.get(id) ?? colourOf(id);
}
