// Which model the environment names, and whether its key is there.
import type { Check } from './check.ts';

const KEYS: ReadonlyMap<string, string> = new Map([
  ['openai', 'OPENAI_API_KEY'],
  ['anthropic', 'ANTHROPIC_API_KEY'],
  ['google', 'GOOGLE_GENERATIVE_AI_API_KEY'],
]);

/** Only names are looked at and said; a key is never shown. */
export function modelKeys(environment: NodeJS.ProcessEnv = process.env): Check {
  const name = 'keys';
  const set = [...KEYS.values()].filter((key) => (environment[key] ?? '') !== '');
  const model = environment.COUNTERSIGN_MODEL;
  if (model === undefined || model === '') {
    if (set.length > 0) return { name, status: 'ok', text: `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set` };
    return {
      name,
      status: 'unknown',
      text: 'no key of a model is set, so that the demo model would be used where you name none',
      fix: `Set COUNTERSIGN_MODEL, as in openai/gpt-5, and one of ${[...KEYS.values()].join(', ')}.`,
    };
  }
  const provider = model.split('/')[0] ?? '';
  const key = KEYS.get(provider);
  if (key === undefined)
    return { name, status: 'unknown', text: `COUNTERSIGN_MODEL is ${model}, whose key is not known here` };
  if (set.includes(key)) return { name, status: 'ok', text: `COUNTERSIGN_MODEL is ${model}, and ${key} is set` };
  return { name, status: 'fail', text: `COUNTERSIGN_MODEL is ${model}, but ${key} is not set`, fix: `Set ${key}.` };
}
