// Calls a test once, and tells what that changed of all that the code of a process shares: while its body ran, and in the end, when the test had
// undone what is its own. What moves by itself is left out, and so is what the test's own words ask for.
import { changed, printOfAll } from './prints.mjs';

// The words of a test that asks for a setting, where they are not the last of the setting's name.
const WORDS = [['the mask of new files', 'umask'], ['the working directory', 'cwd|chdir'], ['the time zone', 'TZ|timeZone']];
const SETTINGS = /^(process[.]env[.]|the (mask|working|time zone)|Error[.]stackTraceLimit$|EventEmitter[.]defaultMaxListeners$)/;
const REPLACES = /sinon|fake|stub|spy|mock/i;
const GLOBAL = /^(Math|JSON|console|performance|process|Reflect|Intl|navigator|crypto)$/;
const text = Function.prototype.toString;
const escaped = (word) => word.replace(/[^\w]/g, '\\$&');

function* told(before, after, body, file) {
  for (const name of changed(before, after)) {
    const [old, now] = [before.get(name), after.get(name)];
    const word = /\w+/g;
    const last = escaped(name.match(word).at(-1));
    if (SETTINGS.test(name)) {
      const [, words] = WORDS.find(([beginning]) => name.startsWith(beginning)) ?? [name, last];
      if (!new RegExp(words, 'i').test(body)) yield name;
      continue;
    }
    const isNew = !before.has(name) && name.includes('.prototype');
    const isMeant = typeof old === 'function' || (isNew && typeof now === 'function') || (GLOBAL.test(name) && typeof old === 'object' && now);
    const isAskedFor = new RegExp(`[.'"\`]${last}\\b(?!\\s*[(.])`).test(body);
    // A function of the test's own file.
    const isOwn = typeof now === 'function' && file.includes(text.call(now));
    if (isMeant && !isAskedFor && !isOwn) yield name;
  }
}

/// Whether a test passes, and what changed. `hooks` are those around it, from the outermost.
export async function watch(test, hooks, context, self, file) {
  const body = text.call(test.body);
  for (const one of hooks) for (const step of one.before.splice(0)) await step?.(context);
  // Twice: what is made when it is asked for is there at the second time.
  printOfAll();
  const first = printOfAll();
  for (const one of hooks) for (const step of one.beforeEach) await step?.(context);
  const before = printOfAll();
  let passed = true;
  const attempt = async (step) => {
    try {
      await step();
    } catch {
      passed = false;
    }
  };
  await attempt(() => test.body.call(self, context));
  const changes = new Set(REPLACES.test(body) ? [] : told(before, printOfAll(), body, file));
  for (const one of [...hooks].reverse()) for (const step of one.afterEach) await attempt(() => step?.(context));
  for (const name of told(first, printOfAll(), body, file)) changes.add(name);
  return { passed, changes: [...changes] };
}
