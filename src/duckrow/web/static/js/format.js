/** Numbers, sizes and times as people read them. */

/** @param {number | null | undefined} seconds @returns {string} as in 4m 12s; the two largest units are enough */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${two(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d ${two(Math.floor((s % 86400) / 3600))}h`;
}

/** How long something took; with tenths if it was short. @param {number | null | undefined} seconds */
export function took(seconds) {
  return typeof seconds === "number" && seconds < 10 ? `${seconds.toFixed(1)}s` : duration(seconds);
}

/** @param {number | null | undefined} seconds until a job will be done; 0: it has already taken longer */
export function eta(seconds) {
  if (seconds === null || seconds === undefined) return "";
  return seconds > 0 ? `~${duration(seconds)}` : "any moment";
}

const two = (/** @type {number} */ number) => String(number).padStart(2, "0");

/** @param {number | null | undefined} mb */
export function memory(mb) {
  if (mb === null || mb === undefined) return "";
  if (mb < 1024) return `${Math.round(mb)} MB`;
  const gb = mb / 1024;
  return `${gb < 10 ? gb.toFixed(1).replace(/\.0$/, "") : Math.round(gb)} GB`;
}

/**
 * The name with the array index.
 * @param {{name: string, array_index: number | null}} job
 */
export function fullName(job) {
  return job.array_index === null ? job.name : `${job.name}[${job.array_index}]`;
}

/** @param {number} count */
export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  let left = count;
  while (left >= 1024 && unit < units.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${unit && left < 10 ? left.toFixed(1) : Math.round(left)} ${units[unit]}`;
}

/** @param {number} count @param {string} word @param {string} [several] */
export function counted(count, word, several = `${word}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? word : several}`;
}

/** A metric or a parameter, shortened to four digits. @param {unknown} thing */
export function value(thing) {
  if (thing === null || thing === undefined) return "";
  if (typeof thing === "number")
    return Number.isInteger(thing) ? String(thing) : Number(thing.toPrecision(4)).toString();
  return typeof thing === "object" ? JSON.stringify(thing) : String(thing);
}

/** @param {unknown} thing @returns {number | null} null: it is not a number, or not a finite one */
export function finite(thing) {
  return typeof thing === "number" && Number.isFinite(thing) ? thing : null;
}

/** @param {number | null | undefined} at @returns {string} the time of day; with the date if it is not today's */
export function moment(at) {
  if (at === null || at === undefined) return "";
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString("en-GB");
  if (date.toDateString() === new Date().toDateString()) return time;
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

/** @param {number | null | undefined} at @returns {string} all of it, for a tooltip */
export function exactMoment(at) {
  return at === null || at === undefined ? "" : new Date(at * 1000).toLocaleString("sv-SE");
}

/** @param {number} at @returns {string} as on an axis */
export function shortTime(at, withDay = false) {
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return withDay ? `${date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric" })} ${time}` : time;
}
