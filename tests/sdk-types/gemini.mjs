// Has Google's SDK make the body of each recorded Gemini request, from the same content as its own parameters, and compares the two:
// so what stands where in our REST body is the SDK's word, not our reading of it.
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

export async function bodiesOfTheSdk(installed, recordings) {
  const requests = [...recordings].filter(([, recording]) => recording.wire === 'gemini' && recording.kind === 'request');
  if (requests.length === 0) return [];
  const entry = join(installed, 'node_modules/@google/genai/dist/node/index.mjs');
  const { GoogleGenAI } = await import(pathToFileURL(entry).href);
  let sent;
  globalThis.fetch = async (_, init) => {
    sent = JSON.parse(init.body);
    return new Response('{}', { status: 200, headers: { 'content-type': 'application/json' } });
  };
  const sdk = new GoogleGenAI({ apiKey: 'none' });
  const faults = [];
  for (const [name, { model, value }] of requests) {
    const { contents, systemInstruction, tools, toolConfig, generationConfig, ...rest } = structuredClone(value);
    const config = { systemInstruction, tools, toolConfig, ...generationConfig };
    sent = undefined;
    try {
      await sdk.models.generateContent({ model, contents, config, ...rest });
    } catch (error) {
      faults.push([name, `the SDK does not send it: ${error.message}`]);
      continue;
    }
    const differing = [...new Set([...Object.keys(value), ...Object.keys(sent ?? {})])]
      .filter((key) => !isDeepStrictEqual(value[key], sent?.[key]));
    for (const key of differing) {
      const shown = (body) => String(JSON.stringify(body?.[key])).slice(0, 300);
      faults.push([name, `the SDK sends another \`${key}\`\n      ours: ${shown(value)}\n      its:  ${shown(sent)}`]);
    }
  }
  return faults;
}
