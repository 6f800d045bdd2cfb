// Loads files of the product one after another, without any runner, and writes beside this file what each of them changed of all that the code
// of a process shares.
import { readFileSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const asked = JSON.parse(readFileSync(join(here, 'asked.json'), 'utf8'));
// As these runners do, so that a product which is quiet in tests is no other one here.
if (['jest', 'vitest'].includes(asked.runner)) process.env.NODE_ENV ??= 'test';
const root = process.cwd();
process.argv = [process.argv[0], join(root, `${asked.name}.mjs`)];
const own = createRequire(join(root, 'x.js'));
const end = process.exit.bind(process);
const write = writeFileSync;

const holders = [['globalThis', globalThis]];
for (const name of builtinModules.filter((one) => !one.startsWith('_'))) {
  try {
    holders.push([name, own(`node:${name}`)]);
  } catch {}
}

const spelled = (holder, key) => (typeof key === 'symbol' ? `${holder}[${String(key)}]` : `${holder}.${key}`);
function* partsOf(name, holder, isPrototype) {
  for (const key of Reflect.ownKeys(holder)) {
    if (typeof key === 'string' && key.startsWith('_')) continue;
    const part = Object.getOwnPropertyDescriptor(holder, key);
    let value = part.get;
    if ('value' in part) value = part.value;
    else if (!isPrototype) {
      // Some are made when they are first asked for.
      try {
        value = holder[key];
      } catch {}
    }
    yield [spelled(name, key), value];
  }
}
function* parts() {
  const seen = new Set();
  for (const [name, holder] of holders) {
    if (!holder || seen.has(holder) || !['object', 'function'].includes(typeof holder)) continue;
    seen.add(holder);
    for (const [key, value] of [...partsOf(name, holder, false)]) {
      const short = key.startsWith('globalThis.') ? key.slice('globalThis.'.length) : key;
      yield [short, value];
      if (typeof value !== 'function' || seen.has(value)) continue;
      seen.add(value);
      yield* partsOf(short, value, false);
      if (value.prototype && typeof value.prototype === 'object') yield* partsOf(`${short}.prototype`, value.prototype, true);
    }
  }
  for (const name of ['Math', 'JSON', 'Reflect', 'Intl', 'Atomics', 'console']) yield* partsOf(name, globalThis[name], false);
  for (const [name, value] of Object.entries(process.env)) yield [`process.env.${name}`, value];
  for (const name of process.eventNames()) yield [`the process's listeners of ${String(name)}`, process.listeners(name).length];
  const mask = process.umask(0);
  process.umask(mask);
  yield ['the mask of new files', mask];
  yield ['the working directory', process.cwd()];
  yield ['the time zone', new Intl.DateTimeFormat().resolvedOptions().timeZone];
}
const printOfAll = () => new Map(parts());

function changed(before, after) {
  const names = [...new Set([...after.keys(), ...before.keys()])];
  return names.filter((name) => before.has(name) !== after.has(name) || !Object.is(before.get(name), after.get(name)));
}

// Twice: what is made when it is asked for is there at the second time.
printOfAll();
let before = printOfAll();
const results = [];
for (const [at, file] of asked.files.entries()) {
  let isLoaded = true;
  try {
    await import(pathToFileURL(resolve(root, file)).href);
  } catch {
    isLoaded = false;
  }
  const after = printOfAll();
  if (isLoaded) results.push({ at, changes: changed(before, after) });
  before = after;
}
write(join(here, 'results'), JSON.stringify(results));
end(0);
