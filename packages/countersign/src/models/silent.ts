// The model of runs that call no model: it ends them.
import type { Model } from './model.ts';

/** Has no name, so its reply is recorded without a model. */
export const silentModel = (text: string): Model => ({
  name: '',
  reply: async () => ({ content: [{ text }], finishReason: 'stop' }),
});
