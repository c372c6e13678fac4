// AI SDK provider models (specification versions 2, 3 and 4) behind the model port.
import { UsageError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { cutOff, failureOf } from './failure.ts';
import type { Model, ModelReply } from './model.ts';
import { promptsFor } from './prompt.ts';
import { ReplyAssembly } from './reply.ts';
import { settingsOf } from './settings.ts';
import type { ReplyPart, SpecificationVersion } from './specification.ts';

/**
 * A language model of an AI SDK provider, such as `openai('gpt-5')`: a `LanguageModelV2`, `V3` or `V4`.
 * Requires only the methods it uses, so no version of the AI SDK has to be installed.
 */
export type AiSdkModel = {
  readonly specificationVersion: SpecificationVersion;
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<{
    readonly content: readonly TypedPart[];
    readonly finishReason: unknown;
    readonly usage: unknown;
  }>;
  doStream(options: never): PromiseLike<{ readonly stream: PartStream }>;
};

type TypedPart = { readonly type: string };

type PartStream = {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: TypedPart | undefined }>;
    cancel(reason?: unknown): Promise<void>;
  };
};

/** Drives an AI SDK provider model. Converting a prompt costs what its new messages cost. */
export function aiSdkModel(model: AiSdkModel): Model {
  if (!looksLikeModel(model) || !VERSIONS.has(model.specificationVersion)) throw unsupportedModel(model);
  const name = `${model.provider}/${model.modelId}`;
  const promptOf = promptsFor(model.specificationVersion);
  return {
    name,
    async reply(request, emit) {
      const { signal } = request;
      signal?.throwIfAborted();
      const options = { ...settingsOf(request), prompt: promptOf(request.messages) } as never;
      const assembly = new ReplyAssembly(emit);
      const progress = () => ({ model: name, partial: assembly.content(), emitted: assembly.emitted });
      // Turns what a provider threw into what we throw; an abort passes through.
      const failed = (error: unknown): never => {
        throw signal?.aborted ? signal.reason : failureOf(error, progress());
      };
      // The loop stops waiting as soon as the signal aborts, even for a provider that ignores it.
      if (emit) {
        const { stream } = await started(() => model.doStream(options)).catch(failed);
        await readStream(stream, assembly, signal, failed);
      } else {
        const { content, finishReason, usage } = await started(() => model.doGenerate(options)).catch(failed);
        for (const part of content) assembly.take(part as ReplyPart);
        assembly.take({ type: 'finish', finishReason, usage });
      }
      if (!assembly.finish) throw cutOff(progress());
      return { content: assembly.content(), ...assembly.finish } satisfies ModelReply;
    },
  };
}

/** A provider may throw before it returns its promise. */
async function started<T>(call: () => PromiseLike<T>): Promise<T> {
  return call();
}

async function readStream(
  stream: PartStream,
  assembly: ReplyAssembly,
  signal: AbortSignal | undefined,
  failed: (error: unknown) => never,
): Promise<void> {
  const reader = stream.getReader();
  let isReading = false;
  try {
    for (;;) {
      signal?.throwIfAborted();
      isReading = true;
      const { done, value } = await reader.read();
      isReading = false;
      signal?.throwIfAborted();
      if (done || !value) return;
      if (value.type === 'error') failed((value as { readonly error?: unknown }).error);
      assembly.take(value as ReplyPart);
    }
  } catch (error) {
    if (isReading) failed(error);
    throw error;
  } finally {
    // The reply has ended, failed or was given up: how the provider takes it changes nothing.
    reader.cancel(signal?.reason).catch(() => undefined);
  }
}

const VERSIONS: ReadonlySet<unknown> = new Set<SpecificationVersion>(['v2', 'v3', 'v4']);

function looksLikeModel(value: unknown): value is { readonly specificationVersion?: unknown } {
  return isObject(value) && typeof value.doGenerate === 'function' && typeof value.doStream === 'function';
}

function unsupportedModel(value: unknown): UsageError {
  const version = isObject(value) ? value.specificationVersion : undefined;
  const found = looksLikeModel(value)
    ? `It has the specification version ${JSON.stringify(version ?? 'v1')}; update its provider package.`
    : `It is ${isObject(value) ? 'an object without `doGenerate` and `doStream`' : `a ${typeof value}`}.`;
  return new UsageError(
    'unsupported-model',
    typeof version === 'string' ? { specificationVersion: version } : {},
    `The value is neither an AI SDK provider model of version 2, 3 or 4 nor a Countersign model. ${found}`,
  );
}
