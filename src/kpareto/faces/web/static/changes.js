// What was changed here and is on its way, put on top of the job that the server answers meanwhile.

const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
// A column may be called __proto__: what an object has of its own is asked for and set, never what it inherits.
const own = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);
const set = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
const same = (one, two) => JSON.stringify(one) === JSON.stringify(two);

// Every place where the second job differs from the first: its path, and what stands there now (undefined: nothing).
export function changesOf(before, after, path = []) {
  const changes = [];
  for (const key of new Set([...Object.keys(before || {}), ...Object.keys(after || {})])) {
    if (!path.length && key === "revision") continue;
    const [one, two] = [own(before, key), own(after, key)];
    if (isPlain(one) && isPlain(two)) changes.push(...changesOf(one, two, [...path, key]));
    else if (!same(one, two)) changes.push([[...path, key], two]);
  }
  return changes;
}

export function putOnTop(job, changes) {
  const merged = structuredClone(job);
  for (const [path, value] of changes) {
    let place = merged;
    for (const key of path.slice(0, -1)) {
      if (!isPlain(own(place, key))) set(place, key, {});
      place = place[key];
    }
    const last = path[path.length - 1];
    if (value === undefined) delete place[last];
    else set(place, last, value);
  }
  return merged;
}

// Whether two jobs are of one table: a change of roles fits no other.
export function sameTable(one, two) {
  return (
    Boolean(one && two) &&
    one.data.source === two.data.source &&
    same(Object.keys(one.columns).sort(), Object.keys(two.columns).sort())
  );
}

// Let an object be what another one is, inner objects included, without becoming another object.
export function takeInto(object, next) {
  for (const key of Object.keys(object)) if (!Object.hasOwn(next, key)) delete object[key];
  for (const [key, value] of Object.entries(next)) {
    if (isPlain(own(object, key)) && isPlain(value)) takeInto(object[key], value);
    else set(object, key, structuredClone(value));
  }
}
