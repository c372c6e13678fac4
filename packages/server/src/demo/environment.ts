// Chooses the model: the one that the environment names or has a key for, otherwise the stand-in model.
import { type ModelInput, type Providers, UsageError } from 'countersign';

/** A model, with the name that `/me` shows. */
export type ChosenModel = {
  /** For `countersign({ model })`. */
  readonly model: ModelInput;
  /** For `countersign({ providers })`, if the model is named by a string. */
  readonly providers: Providers;
  readonly name: string;
  /** Whether it is the stand-in model, which only picks tools by words. */
  readonly demo: boolean;
};

/** The providers that the environment can choose, with the key that each needs. */
export const PROVIDERS = [
  { name: 'openai', key: 'OPENAI_API_KEY', package: '@ai-sdk/openai', model: 'gpt-5-mini' },
  { name: 'anthropic', key: 'ANTHROPIC_API_KEY', package: '@ai-sdk/anthropic', model: 'claude-sonnet-4-5' },
  { name: 'google', key: 'GOOGLE_GENERATIVE_AI_API_KEY', package: '@ai-sdk/google', model: 'gemini-2.5-flash' },
] as const;

export const STAND_IN = 'stand-in';
/** People see the reply grow, as with a model. */
const WORD_MS = 25;

/** Loaded when it is needed: most commands call no model. */
export async function standIn(): Promise<ChosenModel> {
  const { standInModel } = await import('countersign/testing');
  return { model: standInModel({ wordMs: WORD_MS }), providers: {}, name: STAND_IN, demo: true };
}

/** Whether the environment names no model but the stand-in, and has no key. */
export function isStandInChosen(environment: Environment = process.env): boolean {
  const named = environment.COUNTERSIGN_MODEL;
  return named === STAND_IN || (!named && !PROVIDERS.some(({ key }) => environment[key]));
}

type Environment = Readonly<Record<string, string | undefined>>;
type Load = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/**
 * The model of `COUNTERSIGN_MODEL` (such as `openai/gpt-5`, or `stand-in`), or of the provider whose key is set, or the
 * stand-in model. Providers are looked up when they are needed; none is a dependency.
 * @example
 * const { model, providers, name, demo } = await modelFromEnvironment();
 * const ai = countersign({ model, providers, store });
 * await serve(ai, { model: { name, demo } });
 */
export async function modelFromEnvironment(
  environment: Environment = process.env,
  load: Load = (name) => import(name),
): Promise<ChosenModel> {
  if (isStandInChosen(environment)) return standIn();
  const keyed = PROVIDERS.find(({ key }) => environment[key]);
  const model = environment.COUNTERSIGN_MODEL || `${keyed?.name}/${keyed?.model}`;
  const provider = PROVIDERS.find(({ name }) => model.startsWith(`${name}/`));
  if (!provider) {
    const known = PROVIDERS.map(({ name }) => name).join(', ');
    const message = `COUNTERSIGN_MODEL must be ${STAND_IN}, or a provider and a model such as openai/gpt-5, not ${model}; known are ${known}.`;
    throw new UsageError('unknown-model', { model }, message);
  }
  const { name, package: packageName } = provider;
  const loaded = await load(packageName).catch((cause: unknown) => {
    const message = `The model ${model} needs ${packageName}, which is not installed: npm install ${packageName}`;
    throw new UsageError('unknown-model', { model }, message, { cause });
  });
  return { model, providers: { [name]: loaded[name] as Providers[string] }, name: model, demo: false };
}
