// The AI SDK: a chat route with `streamText` and `toolApproval`, and a browser that keeps the messages, as `useChat` does.
export const about = {
  name: 'AI SDK',
  packages: ['ai'],
  store: 'none: the browser has the messages',
  keeps: 'the browser',
  variants: { secret: 'with its experimental secret' },
};
