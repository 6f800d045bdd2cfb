// Loads files of the product one after another, without any runner, and writes beside this file what each of them changed of all that the code
// of a process shares.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { changed, printOfAll } from './prints.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const asked = JSON.parse(readFileSync(join(here, 'asked.json'), 'utf8'));
// As these runners do, so that a product which is quiet in tests is no other one here.
if (['jest', 'vitest'].includes(asked.runner)) process.env.NODE_ENV ??= 'test';
const root = process.cwd();
process.argv = [process.argv[0], join(root, `${asked.name}.mjs`)];
const end = process.exit.bind(process);
const write = writeFileSync;

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
