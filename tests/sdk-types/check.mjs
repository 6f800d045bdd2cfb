// Compiles recorded requests and answers against the types of the vendors' SDKs.
//
//   node check.mjs INSTALLED RECORDINGS
//
// INSTALLED holds `node_modules`; RECORDINGS holds one JSON file per recording: `wire`, `kind` (request, answer, events, error),
// `provider`, `model`, `of` (where it comes from) and `value`. Prints each recording that does not fit with what tsc says, and ends with
// 1 then. Fields that a vendor documents and no SDK types are in `untyped.json`, each with its source, and are taken out before.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bodiesOfTheSdk } from './gemini.mjs';
import { withoutUntyped } from './untyped.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const [installed, recordings] = process.argv.slice(2).map((path) => resolve(path));
const untyped = JSON.parse(readFileSync(join(here, 'untyped.json'), 'utf8')).map((row) => ({ ...row, used: 0 }));
const work = join(installed, `compiled-${basename(recordings)}`);

const files = readdirSync(recordings).filter((name) => name.endsWith('.json')).sort();
const all = new Map(files.map((name) => [name, JSON.parse(readFileSync(join(recordings, name), 'utf8'))]));
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
copyFileSync(join(here, 'types.ts'), join(work, 'types.ts'));
const lines = new Map();
for (const [name, recording] of all) {
  const value = withoutUntyped(recording, untyped);
  const type = `${recording.wire}_${recording.kind}`;
  const text = `import type { ${type} } from './types.js';\nexport const recorded: ${type} = ${JSON.stringify(value, null, 1)};\n`;
  const file = name.replace(/json$/, 'ts');
  writeFileSync(join(work, file), text);
  lines.set(file, text.split('\n'));
}
const options = { noEmit: true, strict: true, skipLibCheck: true, target: 'es2022', module: 'nodenext', types: [], pretty: false };
writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }));

const tsc = spawnSync(process.execPath, [join(installed, 'node_modules/typescript/bin/tsc'), '--project', work], {
  cwd: work, encoding: 'utf8', maxBuffer: 1 << 28,
});
const faults = new Map();
const fault = (name, text) => faults.set(name, [...(faults.get(name) ?? []), text]);
const broken = tsc.error ? [String(tsc.error)] : [];
let last;
for (const line of (tsc.stdout + tsc.stderr).split('\n')) {
  const [, file, row, text] = /^(?:.*[\\/])?([^\\/(]+)\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
  if (lines.has(file)) {
    last = file.replace(/ts$/, 'json');
    fault(last, `${text}\n    at: ${lines.get(file)[row - 1].trim().slice(0, 160)}`);
  } else if (file || (last === undefined && line.trim())) {
    broken.push(line);
  } else if (line.trim()) {
    fault(last, line);
  }
}
if (tsc.status !== 0 && faults.size + broken.length === 0) broken.push(`tsc ended with ${tsc.status} and named no recording`);
for (const [name, text] of await bodiesOfTheSdk(installed, all)) fault(name, text);

for (const [name, texts] of faults) {
  const { wire, kind, provider, model, of } = all.get(name);
  console.log(`✖ ${name}: ${kind} on the ${wire} wire, ${provider}/${model}, ${of}\n    ${texts.join('\n    ')}`);
}
if (process.env.UPSHIFT_TEST_SDK_TYPES_PART !== '1') {
  const idle = untyped.filter((row) => row.used === 0);
  broken.push(...idle.map((row) => `untyped.json: nothing recorded has ${row.path} on ${row.provider ?? row.wire}: take the row out`));
}
broken.forEach((line) => console.log(`✖ ${line}`));
console.log(`${all.size} recordings, ${faults.size} do not fit`);
// No `process.exit`: it would cut what is still being written.
process.exitCode = faults.size + broken.length > 0 || all.size === 0 ? 1 : 0;
