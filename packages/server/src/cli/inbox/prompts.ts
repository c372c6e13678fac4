// The prompts of the inbox. Messages and options are read again on each redraw, so that a prompt shows changes while it is open.
import { confirm, isCancel, select, text } from '@clack/prompts';
import type { Keyboard } from './keyboard.ts';

export type Choice<Value> = { readonly value: Value; readonly label: string };

/** Each prompt returns undefined if the person presses Esc, and throws `Interrupted` if they leave. */
export type Prompts = {
  /** `choices` may grow while the prompt is open. */
  select<Value>(message: () => string, choices: Choice<Value>[], initialValue?: Value): Promise<Value | undefined>;
  /** Starts on “No”, so that a stray Enter approves nothing. */
  confirm(message: () => string): Promise<boolean | undefined>;
  text(
    message: string,
    initialValue: string,
    validate: (typed: string) => string | undefined,
  ): Promise<string | undefined>;
  /** Draws the open prompt again. */
  redraw(): void;
};

export function createPrompts({ input, signal, during }: Keyboard): Prompts {
  const common = { input, signal };
  const answered = <Value>(value: Value | symbol): Value | undefined =>
    isCancel(value) ? undefined : (value as Value);
  return {
    async select<Value>(message: () => string, choices: Choice<Value>[], initialValue?: Value) {
      const options = {
        ...common,
        get message() {
          return message();
        },
        options: choices as never,
        showInstructions: false,
        ...(initialValue !== undefined && { initialValue }),
      };
      return answered<Value>(await during(select<Value>(options)));
    },
    async confirm(message) {
      const options = {
        ...common,
        get message() {
          return message();
        },
        initialValue: false,
      };
      return answered<boolean>(await during(confirm(options)));
    },
    async text(message, initialValue, validate) {
      const options = {
        ...common,
        message,
        initialValue,
        validate: (typed: string | undefined) => validate(typed ?? ''),
      };
      return answered<string>(await during(text(options), { takesText: true }));
    },
    redraw: () => void process.stdout.emit('resize'),
  };
}
