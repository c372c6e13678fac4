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
  /** The package to install, if the environment has a key and the stand-in replies because its package is missing. */
  readonly missing?: string;
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

type Environment = Readonly<Record<string, string | undefined>>;
type Load = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/**
 * The model of `COUNTERSIGN_MODEL` (such as `openai/gpt-5`, or `stand-in`), or of the first provider whose key is set and
 * whose package is installed, or the stand-in model. Providers are looked up when they are needed; none is a dependency.
 * @example
 * const { model, providers, name, demo } = await modelFromEnvironment();
 * const ai = countersign({ model, providers, store });
 * await serve(ai, { model: { name, demo } });
 */
export async function modelFromEnvironment(
  environment: Environment = process.env,
  load: Load = (name) => import(name),
): Promise<ChosenModel> {
  const model = environment.COUNTERSIGN_MODEL;
  if (model === STAND_IN) return standIn();
  return model ? namedModel(model, load) : keyedModel(environment, load);
}

/** A key says nothing about this program: without the package of its provider, the stand-in replies. */
async function keyedModel(environment: Environment, load: Load): Promise<ChosenModel> {
  const keyed = PROVIDERS.filter(({ key }) => environment[key]);
  for (const { name, model } of keyed) {
    const chosen = await namedModel(`${name}/${model}`, load).catch(() => undefined);
    if (chosen !== undefined) return chosen;
  }
  return { ...(await standIn()), ...(keyed[0] && { missing: keyed[0].package }) };
}

async function namedModel(model: string, load: Load): Promise<ChosenModel> {
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
