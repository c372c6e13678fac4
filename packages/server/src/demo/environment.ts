// Chooses the model: the one that the environment names or has a key for, otherwise the demo model.
import { type ModelInput, type Providers, UsageError } from 'countersign';
import { demoModel } from './model.ts';

/** A model, with the name that `/me` shows. */
export type ChosenModel = {
  /** For `countersign({ model })`. */
  readonly model: ModelInput;
  /** For `countersign({ providers })`, if the model is named by a string. */
  readonly providers: Providers;
  readonly name: string;
  /** Whether it is the demo model, which follows a script. */
  readonly demo: boolean;
};

/** The providers that the environment can choose, with the key that each needs. */
export const PROVIDERS = [
  { name: 'openai', key: 'OPENAI_API_KEY', package: '@ai-sdk/openai', model: 'gpt-5-mini' },
  { name: 'anthropic', key: 'ANTHROPIC_API_KEY', package: '@ai-sdk/anthropic', model: 'claude-sonnet-4-5' },
  { name: 'google', key: 'GOOGLE_GENERATIVE_AI_API_KEY', package: '@ai-sdk/google', model: 'gemini-2.5-flash' },
] as const;

type Environment = Readonly<Record<string, string | undefined>>;
type Load = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/**
 * The model of `COUNTERSIGN_MODEL` (such as `openai/gpt-5`, or `demo`), or of the provider whose key is set, or the demo
 * model. Providers are looked up when they are needed; none is a dependency.
 * @example
 * const { model, providers, name, demo } = await modelFromEnvironment();
 * const ai = countersign({ model, providers, store });
 * await serve(ai, { model: { name, demo } });
 */
export async function modelFromEnvironment(
  environment: Environment = process.env,
  load: Load = (name) => import(name),
): Promise<ChosenModel> {
  const named = environment.COUNTERSIGN_MODEL;
  if (named === 'demo') return demo();
  if (named) return ofProvider(...partsOf(named), load);
  const entry = PROVIDERS.find(({ key }) => environment[key]);
  return entry ? ofProvider(entry.name, entry.model, load) : demo();
}

const demo = (): ChosenModel => ({ model: demoModel(), providers: {}, name: 'demo', demo: true });

function partsOf(named: string): [provider: string, model: string] {
  const at = named.indexOf('/');
  if (at > 0 && at < named.length - 1) return [named.slice(0, at), named.slice(at + 1)];
  throw new UsageError(
    'unknown-model',
    { model: named },
    `COUNTERSIGN_MODEL must be a provider and a model such as openai/gpt-5, or demo, not ${JSON.stringify(named)}.`,
  );
}

async function ofProvider(provider: string, model: string, load: Load): Promise<ChosenModel> {
  const entry = PROVIDERS.find(({ name }) => name === provider);
  if (!entry)
    throw new UsageError(
      'unknown-model',
      { provider },
      `COUNTERSIGN_MODEL names the provider ${provider}; known are ${PROVIDERS.map(({ name }) => name).join(', ')}.`,
    );
  const loaded = await load(entry.package).catch((cause: unknown) => {
    const how = `npm install ${entry.package}`;
    const message = `The model ${provider}/${model} needs ${entry.package}, which is not installed: ${how}`;
    throw new UsageError('unknown-model', { provider, model }, message, { cause });
  });
  const found = loaded[entry.name] as Providers[string];
  const name = `${provider}/${model}`;
  return { model: name, providers: { [provider]: found }, name, demo: false };
}
