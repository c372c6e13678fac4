// Which model answers: a provider's, if its key is set and its package installed; else the demonstration's.
import { demoModel, type ProviderModel } from '../demo-model/model.ts';

export type ChosenModel = {
  readonly model: ProviderModel;
  /** As the page names it. */
  readonly name: string;
  readonly isDemo: boolean;
};

const PROVIDERS = [
  { key: 'OPENAI_API_KEY', package: '@ai-sdk/openai', provider: 'openai', model: 'gpt-5-mini' },
  { key: 'ANTHROPIC_API_KEY', package: '@ai-sdk/anthropic', provider: 'anthropic', model: 'claude-sonnet-4-5' },
  { key: 'GOOGLE_GENERATIVE_AI_API_KEY', package: '@ai-sdk/google', provider: 'google', model: 'gemini-2.5-flash' },
] as const;

let chosen: Promise<ChosenModel> | undefined;

/** `COUNTERSIGN_MODEL` names another model of the provider. */
export function chosenModel(): Promise<ChosenModel> {
  chosen ??= choose();
  return chosen;
}

async function choose(): Promise<ChosenModel> {
  for (const entry of PROVIDERS) {
    if (!process.env[entry.key]) continue;
    const name = process.env.COUNTERSIGN_MODEL ?? entry.model;
    const provider = await providerFrom(entry.package, entry.provider);
    if (provider) return { model: provider(name), name, isDemo: false };
    console.warn(`${entry.key} is set, but ${entry.package} is not installed: npm install ${entry.package}`);
  }
  const delayMs = Number(process.env.DEMO_DELAY_MS ?? 25);
  return { model: demoModel({ delayMs }), name: 'Demo model', isDemo: true };
}

type Provider = (model: string) => ProviderModel;

async function providerFrom(name: string, exported: string): Promise<Provider | undefined> {
  try {
    // Looked up when it is needed: no provider is a dependency of this app.
    const loaded: { readonly [key: string]: Provider } = await import(/* turbopackIgnore: true */ name);
    return loaded[exported];
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
