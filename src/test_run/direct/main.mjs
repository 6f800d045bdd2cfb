// Calls single tests without their runner, as a program would call the product, and writes beside this file what became of each.
import { readFileSync, writeFileSync } from 'node:fs';
import { Module, register } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const asked = JSON.parse(readFileSync(join(here, 'asked.json'), 'utf8'));
process.argv = [process.argv[0], join(process.cwd(), `${asked.name}.mjs`)];

let around = { names: [], hooks: [] };
let found = [];

const none = (what) => {
  throw Object.assign(new Error(`it needs its runner for ${what}`), { name: 'NotCalled' });
};
const parts = (given) => [given.find((one) => typeof one === 'string'), given.find((one) => typeof one === 'function'), given.find((one) => one && typeof one === 'object') ?? {}];
function it(...given) {
  const [title, body, options] = parts(given);
  found.push({ names: [...around.names, title], hooks: around.hooks, body, skipped: options.skip || options.todo || !body });
}
function describe(...given) {
  const [title, body, options] = parts(given);
  if (options.skip || options.todo || !body) return;
  const outer = around;
  around = { names: [...outer.names, title], hooks: [...outer.hooks, { before: [], beforeEach: [], afterEach: [], after: [] }] };
  const done = body();
  around = outer;
  if (done && typeof done.then === 'function') none('a suite that waits');
}
const top = { before: [], beforeEach: [], afterEach: [], after: [] };
const hook = (kind) => (...given) => (around.hooks.at(-1) ?? top)[kind].push(parts(given)[1]);
for (const one of [it, describe]) {
  one.skip = one.todo = () => {};
  one.only = one;
}
const stub = {
  test: it, it, specify: it, describe, suite: describe, context: describe,
  before: hook('before'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach'), after: hook('after'),
  get mock() { return none('mocks'); }, get snapshot() { return none('snapshots'); }, run: () => none('a run of its own'),
};
const asFunction = Object.assign((...given) => it(...given), it, Object.fromEntries(Object.entries(Object.getOwnPropertyDescriptors(stub)).filter(([, one]) => 'value' in one).map(([name, one]) => [name, one.value])));
if (asked.runner === 'mocha') Object.assign(globalThis, { ...asFunction });
globalThis[Symbol.for(asked.name)] = asFunction;

// The stub in the runner's place, and test files under names that do not say what they are.
const shown = (file, at) => join(dirname(resolve(file)), `${asked.name}${at}${file.slice(file.lastIndexOf('.'))}`);
const files = Object.fromEntries(asked.tests.map((test) => [pathToFileURL(shown(test.file, test.at)).href, pathToFileURL(resolve(test.file)).href]));
const load = Module._load;
Module._load = function (request, ...rest) {
  return ['node:test', 'mocha'].includes(request) ? asFunction : load.call(this, request, ...rest);
};
function isCommon(file) {
  if (!file.endsWith('.js')) return file.endsWith('.cjs');
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type !== 'module';
    } catch {
      if (folder === dirname(folder)) return true;
    }
  }
}
register(`data:text/javascript,${encodeURIComponent(`
  import { readFileSync } from 'node:fs';
  let files, key;
  export const initialize = (given) => { ({ files, key } = given); };
  const names = ['test', 'it', 'describe', 'suite', 'before', 'beforeEach', 'afterEach', 'after', 'specify', 'context'];
  export async function resolve(request, context, next) {
    if (request === 'node:test' || request === 'mocha') return { url: 'stub:runner', format: 'module', shortCircuit: true };
    if (files[request]) {
      const real = await next(files[request], context);
      return { url: request, format: real.format, shortCircuit: true };
    }
    return next(request, context);
  }
  export async function load(url, context, next) {
    if (url === 'stub:runner') {
      const lines = names.map((name) => 'export const ' + name + ' = one.' + name + ';').join('');
      return { format: 'module', shortCircuit: true, source: 'const one = globalThis[Symbol.for(' + JSON.stringify(key) + ')]; export default one;' + lines };
    }
    if (files[url]) {
      const loaded = await next(files[url], context);
      return { ...loaded, source: loaded.source ?? readFileSync(new URL(files[url])), shortCircuit: true };
    }
    return next(url, context);
  }
`)}`, { data: { files, key: asked.name } });

async function become(test) {
  const fails = (error) => {
    const own = (error?.stack ?? '').split('\n').find((line) => line.includes(`/${asked.name}`));
    const line = Number(/:(\d+):\d+\)?$/.exec(own ?? '')?.[1] ?? 0);
    const asserts = error?.code === 'ERR_ASSERTION' || error?.name === 'AssertionError' || error?.name === 'AssertionError [ERR_ASSERTION]';
    return { end: asserts ? 'failed' : 'error', line, said: String(error?.message ?? error).slice(0, 4000) };
  };
  const context = { name: test.names.at(-1), diagnostic() {}, signal: new AbortController().signal, get mock() { return none('mocks'); }, test: () => none('parts of a test'), plan: () => none('a plan') };
  const hooks = [top, ...test.hooks];
  try {
    for (const one of hooks) for (const step of one.before.splice(0)) await step?.(context);
    for (const one of hooks) for (const step of one.beforeEach) await step?.(context);
    if (test.body.length > 1) none('a callback');
    if (asked.runner === 'mocha' && test.body.length > 0) none('a callback');
    await test.body.call({ timeout() {}, slow() {}, retries() {} }, context);
    for (const one of [...hooks].reverse()) for (const step of one.afterEach) await step?.(context);
    return { end: 'passed', line: 0, said: '' };
  } catch (error) {
    return fails(error);
  }
}

const loaded = new Map();
const results = [];
for (const test of asked.tests) {
  try {
    if (!loaded.has(test.file)) {
      found = [];
      const name = shown(test.file, test.at);
      if (isCommon(test.file)) {
        const one = new Module(name, null);
        one.filename = name;
        one.paths = Module._nodeModulePaths(dirname(name));
        one._compile(readFileSync(resolve(test.file), 'utf8'), name);
      } else {
        await import(pathToFileURL(name).href);
      }
      loaded.set(test.file, found);
    }
    const one = loaded.get(test.file).find((other) => JSON.stringify(other.names) === JSON.stringify(test.names));
    if (!one || one.skipped) none('finding it');
    results.push({ at: test.at, first: await become(one), again: await become(one) });
  } catch (error) {
    results.push({ at: test.at, first: { end: 'error', line: 0, said: `${error?.name}: ${error?.message}`.slice(0, 400) } });
  }
}
writeFileSync(join(here, 'results'), JSON.stringify(results));
process.exit(0);
