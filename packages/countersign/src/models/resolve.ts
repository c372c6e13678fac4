// From what a user gives as a model to a model that can be driven.
import { UsageError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { type AiSdkModel, aiSdkModel } from './ai-sdk.ts';
import type { Model } from './model.ts';

/** An AI SDK provider: `openai`, or anything with `languageModel(id)`. */
export type AiSdkProvider = ((modelId: string) => AiSdkModel) | { languageModel(modelId: string): AiSdkModel };

/** AI SDK providers by the name that model names begin with. */
export type Providers = { readonly [name: string]: AiSdkProvider };

/** A model: one of an AI SDK provider, one of the port, or a name such as `'openai/gpt-5'` with `providers: { openai }`. */
export type ModelInput = string | AiSdkModel | Model;

export function resolveModel(model: ModelInput | undefined, providers: Providers): Model {
  if (model === undefined)
    throw new UsageError('no-model', {}, 'No model was given. Pass `model` to the call or to `countersign()`.');
  if (typeof model === 'string') return aiSdkModel(namedModel(model, providers));
  return isPortModel(model) ? model : wrapped(model);
}

/** Wraps a provider model once, not in every call. */
function wrapped(model: AiSdkModel): Model {
  const known = isObject(model) ? WRAPPED.get(model) : undefined;
  if (known) return known;
  const made = aiSdkModel(model);
  WRAPPED.set(model, made);
  return made;
}

const WRAPPED = new WeakMap<AiSdkModel, Model>();

const isPortModel = (value: unknown): value is Model => isObject(value) && typeof value.reply === 'function';

function namedModel(name: string, providers: Providers): AiSdkModel {
  const slash = name.indexOf('/');
  const providerName = name.slice(0, Math.max(slash, 0));
  const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined;
  const modelId = name.slice(slash + 1);
  if (!provider || modelId === '') throw unknownModel(name, providers);
  try {
    return 'languageModel' in provider ? provider.languageModel(modelId) : provider(modelId);
  } catch (error) {
    throw unknownModel(name, providers, error);
  }
}

function unknownModel(name: string, providers: Providers, cause?: unknown): UsageError {
  const known = Object.keys(providers);
  const message = cause
    ? `Its provider knows no model "${name}".`
    : `The model "${name}" names no known provider. Write "provider/model"; known: ${known.join(', ') || 'none'}.`;
  return new UsageError('unknown-model', { model: name, providers: known }, message, { cause });
}
