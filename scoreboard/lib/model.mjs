// What the scripted model says: it reads whom to pay from the prompt, makes the one call, and repeats the result.
export const AMOUNT = 950;
export const promptOf = (id) => `Pay ${id} ${AMOUNT}`;
export const callOf = (prompt) => ({
  id: `call_${idIn(prompt)}`,
  name: 'pay',
  input: { to: idIn(prompt), amount: AMOUNT },
});

/** The payment is named in every text of the conversation. */
export const idIn = (value) => /pay[- ]?\d+-\d+/.exec(JSON.stringify(value))?.[0];

/** Everything that a model of the AI SDK's interface must say. */
export function partsOf(prompt) {
  const last = prompt.at(-1);
  if (last.role !== 'tool') {
    const { id, name, input } = callOf(prompt);
    return {
      content: [{ type: 'tool-call', toolCallId: id, toolName: name, input: JSON.stringify(input) }],
      reason: 'tool-calls',
    };
  }
  const { output } = last.content.at(-1);
  const text = output.type === 'execution-denied' ? 'denied' : textOf(output.value);
  return { content: [{ type: 'text', text }], reason: 'stop' };
}

export const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** What a text tells the person who reads it. `unknown`: that the payment may have happened, and a person is asked. */
export function toldBy(text) {
  if (/outcome is unknown/i.test(text)) return 'unknown';
  if (/paid/i.test(text)) return 'paid';
  if (/reject|den(y|ied)|declin|not (been )?approv|withdrawn|cancel|expired|was not run/i.test(text)) return 'rejected';
  return `unclear: ${String(text).slice(0, 80)}`;
}
