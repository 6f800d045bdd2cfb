// Calls single tests without their runner, as a program would call the product, and writes beside this file what became of each.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { Module, register, syncBuiltinESMExports } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import os from 'node:os';
import tty from 'node:tty';
import { mock } from 'node:test';
import { inspect } from 'node:util';
import { isMainThread, Worker } from 'node:worker_threads';

const here = dirname(fileURLToPath(import.meta.url));
const asked = JSON.parse(readFileSync(join(here, 'asked.json'), 'utf8'));
// As these runners do, so that a product which is quiet in tests is no other one here.
if (['jest', 'vitest'].includes(asked.runner)) process.env.NODE_ENV ??= 'test';
const root = process.cwd();
const into = join(here, 'node_modules', asked.name);

/// The product in a folder of its own, without tests and what is kept beside it; false where it is large.
function copied() {
  const skipped = /^(\.|node_modules$|build$|dist$|coverage$)|test|spec/i;
  const counted = { files: 0, size: 0 };
  const walk = (folder) => {
    for (const one of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, one.name);
      if (skipped.test(one.name)) continue;
      if (one.isDirectory() && path !== here && !walk(path)) return false;
      if (!one.isFile()) continue;
      counted.files += 1;
      counted.size += statSync(path).size;
      if (counted.files > 3000 || counted.size > 30 << 20) return false;
      const place = join(into, relative(root, path));
      mkdirSync(dirname(place), { recursive: true });
      copyFileSync(path, place);
      // The age of a product that was installed long ago, in seconds.
      utimesSync(place, 1_000_000_000, 1_000_000_000);
    }
    return true;
  };
  return walk(root);
}

// The machine's own clock, in milliseconds: until then calls are made again, so that what wears out by calls is wrong at the end.
const clock = performance.now.bind(performance);
const WEARS = 500 / asked.tests.length;
const MOST_CALLS = 3000;

// Another folder, another time, another thread.
let top = root;
if (asked.elsewhere && isMainThread) {
  if (copied()) writeFileSync(join(here, 'copied'), '');
  await new Promise((done) => new Worker(fileURLToPath(import.meta.url), { stdout: true, stderr: true }).on('exit', done).on('error', done));
  process.exit(0);
}
if (asked.elsewhere) {
  // In milliseconds; the clocks run fast as well.
  let later = 20 * 366 * 86400_000;
  performance.now = () => clock() + (later += 3600_000);
  const Clock = Date;
  globalThis.Date = class extends Clock {
    constructor(...given) {
      given.length ? super(...given) : super(Clock.now() + (later += 3600_000));
    }
    static now() {
      return Clock.now() + (later += 3600_000);
    }
  };
  // Timers of more than a second are due.
  for (const name of ['setTimeout', 'setInterval']) {
    const own = globalThis[name];
    globalThis[name] = Object.assign((step, delay, ...given) => own(step, delay > 1000 ? 0 : delay, ...given), own);
  }
  // Another machine.
  for (const [name, value] of [['platform', 'freebsd'], ['arch', 'riscv64']]) Object.defineProperty(process, name, { value });
  os.platform = () => 'freebsd';
  os.type = () => 'FreeBSD';
  os.arch = () => 'riscv64';
  os.hostname = () => 'web-7';
  tty.isatty = () => true;
  syncBuiltinESMExports();
  for (const stream of [process.stdout, process.stdin]) {
    Object.defineProperty(stream, 'isTTY', { value: true, configurable: true });
  }
  // A server that listens, and that ends in good order.
  await new Promise((done) => createServer().on('listening', done).on('error', done).listen(0, '127.0.0.1'));
  process.on('SIGTERM', () => {});
  const uptime = process.uptime.bind(process);
  process.uptime = () => uptime() + (later += 3600_000) / 1000;
  try {
    statSync(join(here, 'copied'));
    top = into;
  } catch {}
}
process.argv = [process.argv[0], join(top, `${asked.name}.mjs`)];

// Looked at before the product is loaded.
const watched = asked.watches ? await import(new URL('watched.mjs', import.meta.url).href) : null;

let around;
let found;

const hooks_of = () => ({ before: [], beforeEach: [], afterEach: [], after: [] });
// Mocha's outermost hooks are those of every file.
const outermost = hooks_of();
const fresh = () => {
  found = [];
  around = { names: [], hooks: [asked.runner === 'mocha' ? outermost : hooks_of()] };
};

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
  around = { names: [...outer.names, title], hooks: [...outer.hooks, hooks_of()] };
  const done = body();
  around = outer;
  if (done && typeof done.then === 'function') none('a suite that waits');
}
const hook = (kind) => (...given) => around.hooks.at(-1)[kind].push(parts(given)[1]);
for (const one of [it, describe]) {
  one.skip = one.todo = () => {};
  one.only = one;
}
const stub = {
  test: it, it, specify: it, describe, suite: describe, context: describe,
  before: hook('before'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach'), after: hook('after'),
  mock, get snapshot() { return none('snapshots'); }, run: () => none('a run of its own'),
};
const asFunction = Object.assign((...given) => it(...given), it, Object.fromEntries(Object.entries(Object.getOwnPropertyDescriptors(stub)).filter(([, one]) => 'value' in one).map(([name, one]) => [name, one.value])));
class Failed extends Error {
  name = 'AssertionError';
}
const shows = (value) => inspect(value, { depth: 6 });
const thrown = (value) => {
  try {
    value();
  } catch (error) {
    return { error };
  }
};
const matches = (error, wanted) => {
  if (wanted === undefined) return true;
  if (typeof wanted === 'function') return error instanceof wanted;
  if (wanted instanceof RegExp) return wanted.test(error?.message ?? error);
  return typeof wanted === 'string' ? String(error?.message ?? error).includes(wanted) : (error?.message ?? error) === wanted?.message;
};
const MATCHERS = {
  toBe: (a, b) => Object.is(a, b),
  toEqual: (a, b) => equals(a, b),
  toStrictEqual: (a, b) => equals(a, b, true),
  toBeTruthy: (a) => Boolean(a),
  toBeFalsy: (a) => !a,
  toBeNull: (a) => a === null,
  toBeUndefined: (a) => a === undefined,
  toBeDefined: (a) => a !== undefined,
  toBeNaN: (a) => Number.isNaN(a),
  toContain: (a, b) => (typeof a === 'string' ? a.includes(b) : [...a].includes(b)),
  toContainEqual: (a, b) => [...a].some((one) => equals(one, b)),
  toHaveLength: (a, b) => a?.length === b,
  toMatch: (a, b) => (typeof b === 'string' ? a.includes(b) : b.test(a)),
  toBeGreaterThan: (a, b) => a > b,
  toBeGreaterThanOrEqual: (a, b) => a >= b,
  toBeLessThan: (a, b) => a < b,
  toBeLessThanOrEqual: (a, b) => a <= b,
  toBeCloseTo: (a, b, digits = 2) => Math.abs(a - b) < 10 ** -digits / 2,
  toBeInstanceOf: (a, b) => a instanceof b,
  toThrow: (a, b) => { const seen = typeof a === 'function' ? thrown(a) : { error: a }; return Boolean(seen) && matches(seen.error, b); },
};
Object.assign(MATCHERS, MOCK_MATCHERS, { toThrowError: MATCHERS.toThrow });
function expect(value) {
  const checks = (not, settle) => new Proxy({}, {
    get(_, name) {
      if (name === 'not') return checks(!not, settle);
      if (name === 'resolves') return checks(not, async () => value);
      if (name === 'rejects') return checks(not, async () => Promise.resolve(value).then(() => { throw new Failed('it resolved'); }, (error) => error));
      const matcher = MATCHERS[name];
      if (!matcher) return none(`the matcher ${String(name)}`);
      const check = (own, wanted) => {
        if (Boolean(matcher(own, ...wanted)) === not) throw new Failed(`${shows(own)} ${not ? 'not ' : ''}${String(name)} ${wanted.map(shows).join(', ')}`);
      };
      return (...wanted) => (settle ? settle().then((own) => check(own, wanted)) : check(value, wanted));
    },
  });
  return checks(false);
}
Object.assign(expect, PARTS);
for (const name of ['extend', 'assertions', 'hasAssertions']) {
  expect[name] = () => none(`expect.${name}`);
}
const needed = new Proxy({}, { get: (_, name) => MOCKS[name] ?? (() => none(`mocks (${String(name)})`)) });
const each = (one) => (rows, ...rest) => (title, body) => {
  if (!Array.isArray(rows) || rest.length) none('a table in a template');
  rows.forEach((row) => one(title, Array.isArray(row) ? (...context) => body(...row, ...context) : (...context) => body(row, ...context)));
};
for (const one of [it, describe]) one.each = each(one);
Object.assign(asFunction, { expect, vi: needed, jest: needed, beforeAll: stub.before, afterAll: stub.after, each: it.each });
if (['mocha', 'jest', 'vitest'].includes(asked.runner)) Object.assign(globalThis, { ...asFunction });
globalThis[Symbol.for(asked.name)] = asFunction;

// The stub in the runner's place, and test files under names that do not say what they are.
const shown = (file, at) => join(top, dirname(relative(root, resolve(root, file))), `${asked.name}${at}${file.slice(file.lastIndexOf('.'))}`);
const files = Object.fromEntries(asked.tests.map((test) => [pathToFileURL(shown(test.file, test.at)).href, pathToFileURL(resolve(root, test.file)).href]));
const load = Module._load;
Module._load = function (request, ...rest) {
  return ['node:test', 'mocha', 'vitest', '@jest/globals'].includes(request) ? asFunction : load.call(this, request, ...rest);
};
function isCommon(file) {
  if (!file.endsWith('.js')) return file.endsWith('.cjs');
  for (let folder = dirname(resolve(root, file)); ; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type !== 'module';
    } catch {
      if (folder === dirname(folder)) return true;
    }
  }
}
register(`data:text/javascript,${encodeURIComponent(`
  import { readFileSync } from 'node:fs';
  import { createRequire } from 'node:module';
  const TYPED = /[.]([mc]?tsx?|jsx)$/;
  const ENDINGS = ['.ts', '.tsx', '.js', '.mjs', '.jsx', '/index.ts', '/index.js'];
  let files, key, top, root;
  export const initialize = (given) => { ({ files, key, top, root } = given); };
  const names = ['test', 'it', 'describe', 'suite', 'before', 'beforeEach', 'afterEach', 'after', 'specify', 'context', 'expect', 'vi', 'jest', 'beforeAll', 'afterAll', 'mock'];
  // By whichever compiler the repository has.
  async function plain(text, url) {
    const own = createRequire(new URL('x.js', root + '/'));
    const loader = url.endsWith('x') ? 'tsx' : 'ts';
    const ways = [
      () => own('esbuild').transformSync(text, { loader, format: 'esm' }).code,
      () => own('typescript').transpileModule(text, { fileName: 'a.' + loader, compilerOptions: { module: 99, target: 99, jsx: 2 } }).outputText,
      async () => (await (await import(new URL('file://' + own.resolve('vite/package.json')).href.replace('package.json', 'dist/node/index.js'))).transformWithOxc(text, 'a.' + loader)).code,
    ];
    for (const way of ways) {
      try {
        return await way();
      } catch {}
    }
    throw new Error('there is no compiler for ' + loader);
  }
  export async function resolve(request, context, next) {
    if (['node:test', 'mocha', 'vitest', '@jest/globals'].includes(request)) return { url: 'stub:runner', format: 'module', shortCircuit: true };
    if (files[request]) {
      if (TYPED.test(request)) return { url: request, format: 'module', shortCircuit: true };
      const real = await next(files[request], context);
      return { url: request, format: real.format, shortCircuit: true };
    }
    try {
      return await next(request, context);
    } catch (error) {
      // What bundlers find: a path without its ending, or with that of what it becomes.
      const bare = request.replace(/[.]js$/, '');
      const guesses = request.startsWith('.') ? ENDINGS.map((ending) => bare + ending) : [];
      // What was not copied is where it was.
      const here = context.parentURL ?? '';
      const parents = top !== root && here.startsWith(top) ? [here, root + here.slice(top.length)] : [here];
      for (const parentURL of parents) {
        for (const guess of [request, ...guesses]) {
          try {
            return await next(guess, { ...context, parentURL });
          } catch {}
        }
      }
      throw error;
    }
  }
  export async function load(url, context, next) {
    if (url === 'stub:runner') {
      const lines = names.map((name) => 'export const ' + name + ' = one.' + name + ';').join('');
      return { format: 'module', shortCircuit: true, source: 'const one = globalThis[Symbol.for(' + JSON.stringify(key) + ')]; export default one;' + lines };
    }
    if (files[url] && !TYPED.test(url)) {
      const loaded = await next(files[url], context);
      return { ...loaded, source: loaded.source ?? readFileSync(new URL(files[url])), shortCircuit: true };
    }
    if (TYPED.test(url)) {
      return { format: 'module', shortCircuit: true, source: await plain(readFileSync(new URL(files[url] ?? url), 'utf8'), url) };
    }
    return next(url, context);
  }
`)}`, { data: { files, key: asked.name, top: pathToFileURL(top).href, root: pathToFileURL(root).href } });

const contextOf = (test) => ({ name: test.names.at(-1), diagnostic() {}, signal: new AbortController().signal, mock: new mock.constructor(), test: () => none('parts of a test'), plan: () => none('a plan') });
const self = { timeout() {}, slow() {}, retries() {} };

/// Refuses a test that asks for a callback.
function takesNone(test) {
  if (test.body.length > 1) none('a callback');
  if (['mocha', 'jest'].includes(asked.runner) && test.body.length > 0) none('a callback');
}

async function become(test) {
  const fails = (error) => {
    const own = (error?.stack ?? '').split('\n').find((line) => line.includes(`/${asked.name}`));
    const line = Number(/:(\d+):\d+\)?$/.exec(own ?? '')?.[1] ?? 0);
    const asserts = error?.code === 'ERR_ASSERTION' || error?.name === 'AssertionError' || error?.name === 'AssertionError [ERR_ASSERTION]';
    return { end: asserts ? 'failed' : 'error', line, said: String(error?.message ?? error).slice(0, 4000) };
  };
  const context = contextOf(test);
  const { hooks } = test;
  // The calls that other tests left are none of this one's.
  for (const one of stand_ins) one.mockClear();
  let since;
  try {
    for (const one of hooks) for (const step of one.before.splice(0)) await step?.(context);
    since = { spies: spies.length, stand_ins: stand_ins.length };
    for (const one of hooks) for (const step of one.beforeEach) await step?.(context);
    takesNone(test);
    await test.body.call(self, context);
    for (const one of [...hooks].reverse()) for (const step of one.afterEach) await step?.(context);
    return { end: 'passed', line: 0, said: '' };
  } catch (error) {
    return fails(error);
  } finally {
    restored(since);
    context.mock.reset();
  }
}

/// Calls a test again and again, as long as it passes and there is time.
async function worn(test) {
  const ends = asked.elsewhere ? 0 : clock() + WEARS;
  let became;
  for (let calls = 0; calls < MOST_CALLS; calls += 1) {
    became = await become(test);
    if (became.end !== 'passed' || clock() >= ends) break;
  }
  return became;
}

const loaded = new Map();
const results = [];
for (const test of asked.tests) {
  try {
    if (!loaded.has(test.file)) {
      fresh();
      const name = shown(test.file, test.at);
      if (isCommon(test.file)) {
        const one = new Module(name, null);
        one.filename = name;
        one.paths = Module._nodeModulePaths(dirname(name));
        one.paths = [...one.paths, ...Module._nodeModulePaths(dirname(resolve(root, test.file)))];
        one._compile(readFileSync(resolve(root, test.file), 'utf8'), name);
      } else {
        await import(pathToFileURL(name).href);
      }
      loaded.set(test.file, found);
    }
    const one = loaded.get(test.file).find((other) => JSON.stringify(other.names) === JSON.stringify(test.names));
    if (!one || one.skipped) none('finding it');
    if (watched) {
      takesNone(one);
      const file = readFileSync(resolve(root, test.file), 'utf8');
      const [context, since] = [contextOf(one), { spies: spies.length, stand_ins: stand_ins.length }];
      results.push({ at: test.at, ...(await watched.watch(one, one.hooks, context, self, file)), loaded: [] });
      restored(since);
      context.mock.reset();
      continue;
    }
    const first = await become(one);
    results.push({ at: test.at, first, again: first.end === 'passed' ? await worn(one) : null });
  } catch (error) {
    if (watched) results.push({ at: test.at, passed: false, changes: null, loaded: [] });
    else results.push({ at: test.at, first: { end: 'error', line: 0, said: `${error?.name}: ${error?.message}`.slice(0, 400) } });
  }
}
writeFileSync(join(here, 'results'), JSON.stringify(results));
process.exit(0);
