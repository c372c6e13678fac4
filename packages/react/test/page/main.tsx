// The page under test: a chat, or one component with the props that the test passes.
import { type ComponentProps, StrictMode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { InputDiff, QuestionForm, type UseRequests, ValueView, VisibleText } from '../../src/index.ts';
import { type ChatProps, ChatScene } from './chat-scene.tsx';

export type Scene =
  | ({ readonly is: 'chat' } & ChatProps)
  | { readonly is: 'form'; readonly props: Omit<ComponentProps<typeof QuestionForm>, 'onSubmit'> }
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'value'; readonly value: unknown; readonly asJson?: boolean }
  | { readonly is: 'diff'; readonly before: unknown; readonly after: unknown };

declare global {
  interface Window {
    /** Shows a scene instead of the last one. */
    show(scene: Scene): void;
    /** Removes the scene. */
    hide(): void;
    /** The return value of the chat hook. */
    actions: UseRequests;
    /** The submitted values of forms. */
    answers: unknown[];
  }
}

let root = createRoot(document.getElementById('root') as HTMLElement);
window.answers = [];
window.show = (scene) => flushSync(() => root.render(<StrictMode>{view(scene)}</StrictMode>));
window.hide = () => {
  root.unmount();
  root = createRoot(document.getElementById('root') as HTMLElement);
};

function view(scene: Scene) {
  switch (scene.is) {
    case 'chat':
      return <ChatScene {...scene} />;
    case 'form':
      return <QuestionForm {...scene.props} onSubmit={(answer) => window.answers.push(answer)} />;
    case 'text':
      return <VisibleText text={scene.text} />;
    case 'value':
      return <ValueView value={scene.value} asJson={scene.asJson ?? false} />;
    case 'diff':
      return <InputDiff before={scene.before} after={scene.after} />;
  }
}
