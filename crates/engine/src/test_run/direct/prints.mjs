// What all code of a process shares, as it is now, for the programs beside this file.
import { EventEmitter } from 'node:events';
import { builtinModules, createRequire } from 'node:module';
import { join } from 'node:path';

const own = createRequire(join(process.cwd(), 'x.js'));
const INSTANCES = Object.entries({ performance, crypto: globalThis.crypto, 'process.stdout': process.stdout, 'process.stderr': process.stderr }).filter(([, one]) => one);

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
/// The functions of an object, its own and those that it has from its kind.
function* methodsOf(name, one) {
  const names = new Set();
  for (let kind = one; kind && kind !== Object.prototype; kind = Object.getPrototypeOf(kind)) {
    for (const [key, part] of Object.entries(Object.getOwnPropertyDescriptors(kind))) {
      if (!key.startsWith('_') && key !== 'constructor' && typeof part.value === 'function') names.add(key);
    }
  }
  for (const key of names) yield [`${name}.${key}`, one[key]];
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
  for (const [name, one] of INSTANCES) yield* methodsOf(name, one);
  for (const [name, value] of Object.entries(process.env)) yield [`process.env.${name}`, value];
  for (const name of process.eventNames()) yield [`the process's listeners of ${String(name)}`, process.listeners(name).length];
  const mask = process.umask(0);
  process.umask(mask);
  yield ['the mask of new files', mask];
  yield ['Error.stackTraceLimit', Error.stackTraceLimit];
  yield ['EventEmitter.defaultMaxListeners', EventEmitter.defaultMaxListeners];
  yield ['the working directory', process.cwd()];
  yield ['the time zone', new Intl.DateTimeFormat().resolvedOptions().timeZone];
}
export const printOfAll = () => new Map(parts());

export function changed(before, after) {
  const names = [...new Set([...after.keys(), ...before.keys()])];
  return names.filter((name) => before.has(name) !== after.has(name) || !Object.is(before.get(name), after.get(name)));
}
