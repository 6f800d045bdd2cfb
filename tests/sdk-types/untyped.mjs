// Fields that a vendor documents and no SDK types: `untyped.json` names each with its path, what stands there, and the source.

// Whether a value is what a row says: the word for its type, one of a list, an object with exactly these fields, or itself.
function is(value, expected) {
  if (Array.isArray(expected)) return expected.includes(value);
  if (expected === null) return value === null;
  if (typeof expected === 'object') {
    const keys = Object.keys(expected);
    return typeof value === 'object' && value !== null && Object.keys(value).length === keys.length
      && keys.every((key) => is(value[key], expected[key]));
  }
  const kinds = ['string', 'number', 'array'];
  return kinds.includes(expected) ? (Array.isArray(value) ? 'array' : typeof value) === expected : value === expected;
}

// Takes such values out at a path such as `messages.*.reasoning_content`.
function takeOut(value, [key, ...rest], row) {
  if (value === null || typeof value !== 'object') return;
  const keys = key === '*' ? Object.keys(value) : [key].filter((key) => Object.hasOwn(value, key));
  if (rest.length > 0) return keys.forEach((key) => takeOut(value[key], rest, row));
  const found = keys.filter((key) => is(value[key], row.is));
  row.used += found.length;
  // From the end, so that what is left of a list keeps its place.
  for (const key of found.reverse()) Array.isArray(value) ? value.splice(Number(key), 1) : delete value[key];
}

// The value without them; counts in each row how often it was used.
export function withoutUntyped(recording, rows) {
  const value = structuredClone(recording.value);
  const ours = rows.filter((row) => row.wire === recording.wire && row.kinds.includes(recording.kind)
    && (row.provider === undefined || row.provider === recording.provider));
  ours.forEach((row) => takeOut(value, row.path.split('.'), row));
  return value;
}
